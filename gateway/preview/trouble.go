package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// Previews are tried more often: a person notices at once when an outage is over.
	previewBackoff = 2 * time.Second
	// After longSilence failures in a row the platform is tried less often.
	longSilence = 60
	// The first maxRefusals rate limits in a row are obeyed exactly. After that a reply waits longer than it is
	// told: replies that all retry at the given moment may be refused again and again.
	maxRefusals = 3
	slowBackoff = time.Minute
	// After probeAfter failures in a row, a final makes a call that shows whether the platform is down, and
	// repeats it every probeEvery.
	probeAfter = 3
	probeEvery = 10 * time.Minute
	// maxSuspension limits the wait after refused access, which rarely ends within seconds.
	maxSuspension = 30 * time.Second
)

// failures is the state of failed calls.
type failures struct {
	err      error          // the last failure
	row      int            // failures in a row
	limited  int            // number of rate limits among them
	refused  bool           // only waiting can resolve the last failure
	failing  time.Time      // time when the first failure of the row ended
	hold     time.Time      // end of the own backoff
	answered time.Time      // time when any call of the endpoint last succeeded
	probedAt time.Time      // time of the last probe
	probed   bool           // the platform has answered since the last create of unknown outcome
	ended    time.Time      // time of the ending
	deadline time.Time      // of the final; zero while the reply runs
	jitter   func() float64 // returns a value in [0,1) that spreads retries over time; nil: no jitter
}

// fails records one more failure in a row.
func (s *state) fails(e *chat.SendError, now time.Time) {
	s.err = e
	switch e.Kind {
	case chat.Temporary, chat.Uncertain, chat.Conflict, chat.Forbidden, chat.Auth:
		s.refused = true
	default:
		s.refused = false
	}
	if s.row == 0 {
		s.failing, s.limited = now, 0
	}
	if s.row++; e.Kind == chat.RateLimited {
		s.limited++
	}
	s.patience(e, now)
}

// patience extends the deadline of a final by the platform's retry time, and for as long as the platform is
// down, that is, while no call of the endpoint succeeds. Any other failure concerns only this reply and does not
// extend it.
func (s *state) patience(e *chat.SendError, now time.Time) {
	until := now.Add(e.RetryAfter + finalDeadline)
	switch e.Kind {
	case chat.RateLimited:
	case chat.Temporary, chat.Uncertain:
		if s.answers() {
			return
		}
		if last := s.ended.Add(maxPatience); until.After(last) {
			until = last
		}
	default:
		return
	}
	s.extend(until)
}

// answers reports whether other calls of the endpoint succeed while those of this reply fail.
func (s *state) answers() bool { return s.answered.After(s.failing) }

// probe returns a harmless call that shows whether the platform is down or refuses only this reply. It is made
// after a few failures in a row. probe returns false if the answer is known or was asked for a while ago.
func (s *state) probe(now time.Time) (action, bool) {
	if s.row < probeAfter || !s.can(chat.OpTyping) || s.answers() || now.Before(s.probedAt.Add(probeEvery)) {
		return action{}, false
	}
	return action{kind: doProbe}, true
}

// doubt records that the last create of p may have taken effect, and how the outcome can be learned.
func (s *state) doubt(p *message, now time.Time) {
	switch {
	case s.keyFor > 0 && now.Sub(p.attempt.first) < s.keyFor:
		p.attempt.resolution = byKey
	case s.can(chat.OpFind):
		p.attempt.resolution, p.attempt.next, p.attempt.due = byFind, "", now.Add(min(firstLook, s.lateFor))
	default:
		p.attempt.unresolved++
		s.probed = false
		s.mute(p)
	}
}

// halve halves the length of all parts after the first keep.
func (s *state) halve(keep int) {
	for len(s.cuts) < keep {
		s.cuts = append(s.cuts, s.limit)
	}
	s.cuts = s.cuts[:keep]
	s.limit = max(minLimit, s.limit/2)
}

// relay sends the text shown so far again, in more messages.
func (s *state) relay() {
	e := &Ending{Text: s.source, Cut: true}
	if s.literal = e.Text == ""; s.literal { // these are parts of a final whose Markdown only the store has
		for i, p := range s.parts {
			if p.exists() || p.attempt.open() || slices.ContainsFunc(s.superseded, func(m message) bool { return m.exists() && m.place == i }) {
				e.Text += p.shown.body.plain + "\n"
			}
		}
	}
	s.final, s.kept, s.cuts = nil, nil, nil
	s.ending, s.relaid = e, true
	s.cannot(chat.OpFile) // a file would stay if the turn ran again
	s.limit = max(minLimit, s.limit/2)
}

// cutOf returns the length to which part i is cut.
func (s *state) cutOf(i int) int {
	if i >= 0 && i < len(s.cuts) {
		return s.cuts[i]
	}
	return s.limit
}

// backoff delays the next call, longer with every failure in a row.
func (s *state) backoff(now time.Time) {
	if s.ending == nil {
		s.pauseFor(previewBackoff, now)
		return
	}
	s.pauseFor(maxBackoff, now)
}

// pauseFor delays the next call by at most most. Jitter keeps calls that failed together from being retried
// together.
func (s *state) pauseFor(most time.Duration, now time.Time) {
	d := min(most, firstBackoff<<min(s.row-1, 10))
	if s.row > longSilence {
		d = slowBackoff
	}
	if s.jitter != nil {
		d += time.Duration(s.jitter() * float64(d) / 2)
	}
	s.hold = now.Add(d)
}
