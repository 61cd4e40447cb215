package budget

import "time"

const (
	// firstHold is how long the first slowdown lasts in full after a refusal, and rampUp how long the return to the
	// declared limit takes. So a single refusal costs at most a minute.
	firstHold = 30 * time.Second
	rampUp    = 30 * time.Second
	// holdFactor multiplies the hold each time calls are refused again at the same level, since a lower,
	// undeclared limit is then in force. maxHold limits the hold.
	holdFactor = 4
	maxHold    = time.Hour
	// proofCalls is how many calls must be accepted above the level to prove that no lower limit is in force. It is
	// larger than the counting error of a window.
	proofCalls = 3
	// minShare is the smallest part of the declared limit that a slowdown leaves, in percent.
	minShare = 10
)

// slowdown reduces a limit after the platform refused a call although the declared limit was kept. It applies to
// previews and typing; finals and first displays may always use the declared limit.
//
// A single refusal may be temporary, so it costs little: half a minute at the level, and half a minute of small steps
// back. The level is the number of accepted calls in the window, or half of the limit. If the true limit is lower than
// the declared one, the platform refuses again at the level each time the slowdown has ended. It does not refuse
// earlier, or after it has accepted calls above the level. Only refusals that match this pattern make slowdowns longer.
type slowdown struct {
	level int           // allowed calls per window; 0: no refusal is remembered
	began time.Time     // end of the last refusal's block
	hold  time.Duration // duration of the level, starting at began
	above int           // number of calls accepted above the level after the hold
}

// capacity returns the allowed calls per window; count is the declared limit.
func (s *slowdown) capacity(count int, now time.Time) int {
	over := now.Sub(s.began) - s.hold
	switch {
	case s.level == 0 || s.level >= count || over >= rampUp:
		return count
	case over <= 0:
		return s.level
	}
	return s.level + int(int64(count-s.level)*int64(over)/int64(rampUp))
}

// active reports whether the level applies, or is remembered for comparison with the next refusal.
func (s *slowdown) active(now time.Time) bool {
	return s.level > 0 && now.Sub(s.began) < s.hold+maxHold
}

// accept records an accepted call; used is the number of calls in the window including it.
func (s *slowdown) accept(used int, now time.Time) {
	if used > s.level && now.Sub(s.began) >= s.hold {
		s.above++
	}
}

// refuse records a refusal. accepted is the number of accepted calls in the window, count the declared limit, and until
// the end of the block. If the refused call had begun before the previous block was known, it only makes the level more
// precise.
func (s *slowdown) refuse(accepted, count int, until, now time.Time) {
	switch over := now.Sub(s.began) - s.hold; {
	case s.active(now) && now.Before(s.began):
		s.level = min(s.level, max(accepted, count/2))
	case s.active(now) && over < 0:
		s.level = min(s.level, max(accepted, s.level/2))
	case s.active(now) && isNear(accepted, s.level) && s.above < proofCalls:
		s.level, s.hold = min(s.level, accepted), min(maxHold, s.hold*holdFactor)
	default:
		s.level, s.hold = max(accepted, count/2), firstHold
	}
	s.level = max(s.level, 1, count*minShare/100)
	s.began, s.above = until, 0
}

// isNear reports whether a refusal came at about the same number of calls as the one that set the level. If a lower
// limit is in force, that number is equal within the counting error of a window.
func isNear(accepted, level int) bool {
	return accepted > 0 && level-accepted <= max(1, level/20) && accepted-level <= max(1, level/4)
}
