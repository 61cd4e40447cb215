package budget

import "time"

const (
	// firstHold is how long a slowdown lasts in full after the refusal, and rampUp how long it takes
	// to go back to the declared limit then: what was a passing refusal is forgotten in a minute.
	firstHold = 30 * time.Second
	rampUp    = 30 * time.Second
	// A return that fails at the same number of calls so many times in a row is no accident: a lower
	// limit is in force that nobody declares. From then on each failure makes the hold longer by
	// holdFactor; longestHold bounds it.
	accidents   = 3
	holdFactor  = 8
	longestHold = time.Hour
	// proof is how many calls that were accepted above the level show that no lower limit is in force: more than
	// those that a window counted with care may let appear there.
	proof = 3
	// leastShare is the smallest part of the declared limit that is left, in percent.
	leastShare = 10
)

// slowdown is how a meter treats a limit after the platform refused a call although the declared
// limit was kept. It binds previews and typing; finals and first displays may always use what is
// declared.
//
// One refusal may have passed already, so it costs little and not for long. A limit that is lower
// than declared shows itself by refusing again at the same number of calls each time the slowdown
// has ended, before calls above it were accepted. Only that, some times in a row, makes slowdowns longer.
type slowdown struct {
	level int           // calls a window that are left; 0: no refusal is remembered
	began time.Time     // when the block of the last refusal ended, or ends
	hold  time.Duration // how long the level holds from there
	above int           // calls that were accepted above the level since then
	fails int           // returns in a row that failed at the same number of calls
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
	return s.level > 0 && now.Sub(s.began) < s.hold+longestHold
}

// accept takes note of a call that was accepted as one of so many in the window.
func (s *slowdown) accept(used int, now time.Time) {
	if s.level > 0 && used > s.level && now.Sub(s.began) >= s.hold {
		s.above++
	}
}

// refuse records a refusal whose block ends at until, when so many calls of count had been accepted
// in the window. repeated: the block was in force already, so that the call began before the refusal
// was known. It only shows more precisely how many calls were accepted.
func (s *slowdown) refuse(repeated bool, accepted, count int, until, now time.Time) {
	least := max(1, count*leastShare/100)
	switch {
	case repeated:
		s.level = max(least, min(s.level, max(accepted, count/2)))
	case !s.active(now):
		s.level, s.hold, s.fails = max(accepted, count/2), firstHold, 0
	case now.Sub(s.began) < s.hold:
		s.level = max(least, min(s.level, max(accepted, s.level/2)))
	case near(accepted, s.level) && s.above < proof:
		s.level = max(least, min(s.level, accepted))
		if s.fails++; s.fails > accidents {
			s.hold = min(longestHold, s.hold*holdFactor)
		}
	default:
		s.level, s.hold, s.fails = max(accepted, count/2), firstHold, 0
	}
	s.began, s.above = until, 0
}

// near says that two refusals came at about the same number of calls.
func near(a, b int) bool { return a > 0 && a-b <= max(1, b/4) && b-a <= max(1, b/4) }
