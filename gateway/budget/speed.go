package budget

import "time"

// How a refusal slows a limit down, in percent of what is declared.
const (
	fullSpeed  = 100
	leastSpeed = 10 // however many refusals come
	// recoverStep is what comes back each recoverAfter.
	recoverStep  = 10
	recoverAfter = 2 * time.Minute
	// remember is how long a limit stays below the speed at which it was refused.
	remember = time.Hour
)

// speed is how much of a declared limit is used. The limit in force may be a lower one that
// nobody declares; refusals show where it is.
type speed struct {
	percent  int
	changed  time.Time
	ceiling  int       // recovery ends here until remember is over
	until    time.Time // when it is
	failed   int       // the speed at the last news
	refusals int       // since the last news
}

// refuse records a refusal with used calls of count in the window, the refused ones included.
// One that comes while the scope is blocked began before the last news and is none itself: it
// only shows better how many calls were taken.
func (s *speed) refuse(news bool, used, count int, now time.Time) {
	if news {
		s.failed, s.refusals = s.percent, 0
		s.percent = max(leastSpeed, s.percent/2)
		s.changed, s.until = now, now.Add(remember)
	}
	s.refusals++
	taken := (used - s.refusals) * fullSpeed / count
	s.ceiling = max(s.percent, min(taken, s.failed*9/10))
}

// recover lets the speed come back with time.
func (s *speed) recover(now time.Time) {
	for s.percent < fullSpeed && now.Sub(s.changed) >= recoverAfter {
		s.changed = s.changed.Add(recoverAfter)
		if next := s.percent + recoverStep; s.changed.Before(s.until) {
			s.percent = min(s.ceiling, next)
		} else {
			s.percent = min(fullSpeed, next)
		}
	}
}
