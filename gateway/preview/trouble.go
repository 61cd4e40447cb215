package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// Previews are asked for more often: what a person wants after an outage is news.
	previewBackoff = 2 * time.Second
	// A platform that was away for longSilence failures in a row is not asked as often.
	longSilence = 60
	// maxRefusals by rate limits in a row are obeyed to the moment. Then a reply waits longer than it is told: whoever
	// goes on at that moment may meet the others that do, again and again.
	maxRefusals = 3
	slowBackoff = time.Minute
	// A final that failed probeAfter times in a row is worth a call that tells whether the platform is away, and
	// one more every probeEvery.
	probeAfter = 3
	probeEvery = 10 * time.Minute
	// maxSuspension bounds the wait after refused access. That is rarely over within seconds.
	maxSuspension = 30 * time.Second
)

// failures is what is known of calls that failed.
type failures struct {
	err      error          // the last failure
	row      int            // failures in a row
	limited  int            // how many of them were rate limits
	refused  bool           // the last failure is one that only time can mend
	failing  time.Time      // when the first of them ended
	hold     time.Time      // own backoff after trouble
	answered time.Time      // when any call of the endpoint last succeeded
	probedAt time.Time      // when it was last tested whether the platform answers at all
	probed   bool           // the platform has answered since the last create of unknown outcome
	ended    time.Time      // when the ending came
	deadline time.Time      // of the final; zero while the reply runs
	jitter   func() float64 // from [0,1): spreads what failed together; nil: no spread
}

// fails notes one more failure in a row.
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

// patience lets a final take as long as it was told, and as long as the platform is away: while no call of the
// endpoint succeeds. Else the failure is this reply's own, and its deadline stays.
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

// answers says that the platform lets calls of the endpoint succeed while those of this reply fail.
func (s *state) answers() bool { return s.answered.After(s.failing) }

// probe returns a harmless call that tells a platform which is away from one that refuses this reply alone. False
// means that this is known, or was asked a while ago. It is made after a few failures in a row.
func (s *state) probe(now time.Time) (action, bool) {
	if s.row < probeAfter || !s.can(chat.OpTyping) || s.answers() || now.Before(s.probedAt.Add(probeEvery)) {
		return action{}, false
	}
	return action{kind: doProbe}, true
}

// doubt notes that the last create of p may have taken effect, and how that can be learned.
func (s *state) doubt(p *message, now time.Time) {
	switch {
	case s.keyFor > 0 && now.Sub(p.attempt.first) < s.keyFor:
		p.attempt.resolution = byKey
	case s.can(chat.OpFind):
		p.attempt.resolution = byFind
	default:
		p.attempt.unresolved++
		s.probed = false
		s.mute(p)
	}
}

// halve halves the length of all parts but the first keep.
func (s *state) halve(keep int) {
	for len(s.cuts) < keep {
		s.cuts = append(s.cuts, s.limit)
	}
	s.cuts = s.cuts[:keep]
	s.limit = max(minLimit, s.limit/2)
}

// relay keeps what was shown, if in more messages.
func (s *state) relay() {
	e := &Ending{Text: s.source, Cut: true}
	if s.literal = e.Text == ""; s.literal { // parts of a final, which nothing but the store has as Markdown
		for i, p := range s.parts {
			if p.exists() || p.attempt.open() || slices.ContainsFunc(s.superseded, func(m message) bool { return m.place == i }) {
				e.Text += p.shown.body.plain + "\n"
			}
		}
	}
	s.final, s.kept, s.cuts = nil, nil, nil
	s.ending, s.relaid = e, true
	s.cannot(chat.OpFile) // a file would stay as it is when the turn is run again
	s.limit = max(minLimit, s.limit/2)
}

// cutOf is the length to which part i is cut.
func (s *state) cutOf(i int) int {
	if i >= 0 && i < len(s.cuts) {
		return s.cuts[i]
	}
	return s.limit
}

// backoff makes the next call wait, longer with every failure in a row.
func (s *state) backoff(now time.Time) {
	if s.ending == nil {
		s.pauseFor(previewBackoff, now)
		return
	}
	s.pauseFor(maxBackoff, now)
}

// pauseFor makes the next call wait, at most for most. What failed together does not come back together.
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
