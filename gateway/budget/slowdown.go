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
	// proof is how many calls that are accepted above the ceiling disprove it: more than those that
	// a window counted with care may let appear there.
	proof = 3
	// minShare is the smallest part of the declared limit that is left, in percent.
	minShare = 10
)

// slowdown is how a meter treats a limit after the platform refused a call although the declared
// limit was kept. It binds previews and typing; finals and first displays may always use what is
// declared.
//
// A refusal suggests a ceiling: the calls that were accepted in the window before it, or half of the
// declared limit. One refusal may have passed already, so previews keep to the ceiling for half a
// minute only and return in small steps. A refusal in that time shows that they leave finals too
// little of the ceiling, or that it is lower. A refusal at the ceiling after it confirms the ceiling,
// unless calls above it were accepted in between. Only that makes the next hold longer.
type slowdown struct {
	ceiling int           // calls that a window may have at the most, it seems
	level   int           // calls that previews may fill a window up to; 0: no refusal is remembered
	began   time.Time     // when the block of the last refusal ended, or ends
	hold    time.Duration // how long the level holds from there
	above   int           // calls that were accepted above the ceiling after the hold
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

// active says that the level binds, or that the ceiling is remembered in case the next refusal confirms it.
func (s *slowdown) active(now time.Time) bool {
	return s.level > 0 && now.Sub(s.began) < s.hold+maxHold
}

// accept takes note of a call that was accepted as one of so many in the window.
func (s *slowdown) accept(used int, now time.Time) {
	if used > s.ceiling && now.Sub(s.began) >= s.hold {
		s.above++
	}
}

// refuse records a refusal whose block ends at until, when so many calls of count had been accepted
// in the window. A call that is refused while the block before is in force began before that was
// known. It only shows more precisely how many calls were accepted.
func (s *slowdown) refuse(accepted, count int, until, now time.Time) {
	switch over := now.Sub(s.began) - s.hold; {
	case s.active(now) && now.Before(s.began):
		s.ceiling = min(s.ceiling, max(accepted, count/2))
		s.level = min(s.level, s.ceiling)
	case s.active(now) && over < 0:
		s.ceiling = min(s.ceiling, max(accepted, s.ceiling/2))
		s.level = min(s.level, max(accepted*3/4, s.level/2))
	case s.active(now) && near(accepted, s.ceiling) && s.above < proof:
		s.ceiling = min(s.ceiling, accepted)
		s.level, s.hold = min(s.level, accepted), min(maxHold, s.hold*holdFactor)
	default:
		s.ceiling = max(accepted, count/2)
		s.level, s.hold = s.ceiling, firstHold
	}
	least := max(1, count*minShare/100)
	s.ceiling, s.level = max(s.ceiling, least), max(s.level, least)
	s.began, s.above = until, 0
}

// near says that a refusal came at the ceiling. A limit in force would have let that many calls
// through again, but for what a window counted with care is wrong by.
func near(accepted, ceiling int) bool {
	return accepted > 0 && ceiling-accepted <= max(1, ceiling/20) && accepted-ceiling <= max(1, ceiling/4)
}
