package budget

import "time"

const (
	// firstHold is how long a slowdown lasts in full after the refusal, and rampUp how long it takes
	// to go back to the declared limit then: what was a passing refusal is forgotten in a minute.
	firstHold = 30 * time.Second
	rampUp    = 30 * time.Second
	// holdFactor makes the hold longer each time the return fails at the same number of calls, since
	// then a lower limit is in force that nobody declares; maxHold bounds it.
	holdFactor = 4
	maxHold    = time.Hour
	// proof is how many calls that were accepted above the level show that no lower limit is in force: more than
	// those that a window counted with care may let appear there.
	proof = 3
	// minShare is the smallest part of the declared limit that is left, in percent.
	minShare = 10
)

// slowdown is how a meter treats a limit after the platform refused a call although the declared
// limit was kept. It binds previews and typing; finals and first displays may always use what is
// declared.
//
// One refusal may have passed already, so it costs little and not for long: half a minute at the level,
// the calls that were accepted in the window or half of the limit, and as long for the way back in small
// steps. A limit that is lower than declared shows itself by refusing again at the level each time the
// slowdown has ended, neither sooner nor after calls above it were accepted. Only that makes slowdowns
// longer.
type slowdown struct {
	level int           // calls a window that are left; 0: no refusal is remembered
	began time.Time     // when the block of the last refusal ended, or ends
	hold  time.Duration // how long the level holds from there
	above int           // calls that were accepted above the level after the hold
}

// capacity returns how many calls of count a window may have.
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

// active says that the level binds, or that it is remembered in case the next refusal is like the last.
func (s *slowdown) active(now time.Time) bool {
	return s.level > 0 && now.Sub(s.began) < s.hold+maxHold
}

// accept takes note of a call that was accepted as one of so many in the window.
func (s *slowdown) accept(used int, now time.Time) {
	if used > s.level && now.Sub(s.began) >= s.hold {
		s.above++
	}
}

// refuse records a refusal whose block ends at until, when so many calls of count had been accepted
// in the window. A call that is refused while the block before is in force began before that was
// known. It only shows more precisely how many calls were accepted.
func (s *slowdown) refuse(accepted, count int, until, now time.Time) {
	switch over := now.Sub(s.began) - s.hold; {
	case s.active(now) && now.Before(s.began):
		s.level = min(s.level, max(accepted, count/2))
	case s.active(now) && over < 0:
		s.level = min(s.level, max(accepted, s.level/2))
	case s.active(now) && near(accepted, s.level) && s.above < proof:
		s.level, s.hold = min(s.level, accepted), min(maxHold, s.hold*holdFactor)
	default:
		s.level, s.hold = max(accepted, count/2), firstHold
	}
	s.level = max(s.level, 1, count*minShare/100)
	s.began, s.above = until, 0
}

// near says that a refusal came where the one before did that set the level. A limit in force would have
// let that many calls through again, but for what a window counted with care is wrong by.
func near(accepted, level int) bool {
	return accepted > 0 && level-accepted <= max(1, level/20) && accepted-level <= max(1, level/4)
}
