package budget

import "time"

const (
	// firstHold is how long the reduced limit applies after a first refusal. rampUp is how long the return to the declared
	// limit takes after that. So a single refusal slows down previews for at most a minute.
	firstHold = 30 * time.Second
	rampUp    = 30 * time.Second
	// Each time the platform refuses calls again at the same level, the hold is multiplied by holdFactor, because the
	// platform's true limit is lower than the declared limit. maxHold is the longest hold.
	holdFactor = 4
	maxHold    = time.Hour
	// If the platform accepts proofCalls calls above the level, its true limit is not at the level. proofCalls is larger
	// than the possible error in counting calls.
	proofCalls = 3
	// minShare is the smallest level that a slowdown may have, in percent of the declared limit.
	minShare = 10
)

// slowdown reduces a limit after the platform refused a call although the calls were within the declared limit. A
// slowdown applies to previews and typing indicators. Finals and first displays may always use the declared limit.
//
// A slowdown first reduces the limit to a level: the number of accepted calls in the window, or half of the limit. A
// single refusal may be temporary, so the level applies for only half a minute, and the limit rises again within
// another half minute. If the platform's true limit is lower than the declared limit, the platform refuses calls near
// the level each time the slowdown has ended. A platform with a lower limit never refuses calls below the level, and
// never accepts several calls above the level. Only refusals near the level make slowdowns longer.
type slowdown struct {
	level int           // allowed calls per window; 0: no refusal is remembered
	began time.Time     // end of the block that followed the last refusal
	hold  time.Duration // how long the level applies, starting at the time began
	above int           // number of calls that the platform accepted above the level after the hold
}

// capacity returns the number of calls per window that the slowdown allows. count is the declared limit.
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

// active reports whether the level still applies or is still compared with the next refusal.
func (s *slowdown) active(now time.Time) bool {
	return s.level > 0 && now.Sub(s.began) < s.hold+maxHold
}

// accept records that the platform accepted a call. used is the number of calls in the window, including this call.
func (s *slowdown) accept(used int, now time.Time) {
	if used > s.level && now.Sub(s.began) >= s.hold {
		s.above++
	}
}

// refuse records that the platform refused a call. accepted is the number of accepted calls in the window, count is the
// declared limit, and until is the end of the block. If the refused call began before the previous block, the method refuse
// only adjusts the level.
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

// isNear reports whether the platform refused a call at about the same number of accepted calls as when the level was set. If
// the platform's true limit is lower than the declared limit, the two numbers differ only by the error in counting.
func isNear(accepted, level int) bool {
	return accepted > 0 && level-accepted <= max(1, level/20) && accepted-level <= max(1, level/4)
}
