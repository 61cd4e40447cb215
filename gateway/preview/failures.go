package preview

import (
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// Previews are retried sooner than finals, so that a person sees quickly that an outage is over.
	previewBackoff = 2 * time.Second
	// After slowAfterFailures failures in a row, the reply waits slowBackoff before it repeats the call.
	slowAfterFailures = 60
	// After maxObeyedLimits failures in a row, a reply waits longer than a rate limit demands. If all replies retried
	// at the moment that the platform named, the platform could refuse them again and again.
	maxObeyedLimits = 3
	slowBackoff     = time.Minute
	// After probeAfter failures in a row, a reply that shows its final makes a harmless call, every probeEvery, to
	// learn whether the platform is down.
	probeAfter = 3
	probeEvery = 10 * time.Minute
	// maxSuspension limits the wait between two calls while the platform refuses access to the chat. Refused access is
	// rarely restored within seconds.
	maxSuspension = 30 * time.Second
)

// failures is the part of a reply's state that describes its failed calls and the resulting delays.
type failures struct {
	err             error          // the last failure
	failuresInRow   int            // failures in a row
	rateLimitsInRow int            // number of rate-limit errors among failuresInRow
	onlyWaitHelps   bool           // only waiting can resolve the last failure
	failingSince    time.Time      // time when the first of the failures in a row happened
	holdUntil       time.Time      // end of this reply's backoff
	lastSuccess     time.Time      // time when any call of the endpoint last succeeded
	probedAt        time.Time      // time of the last probe
	probed          bool           // the platform has answered since the last create call whose outcome is unknown
	endedAt         time.Time      // time when the ending was decided
	deadline        time.Time      // time after which the reply stops trying to show its final; zero while the reply has no ending
	jitter          func() float64 // returns a value in [0,1) that spreads retries over time; nil: no jitter
}

// recordFailure records one more failure in a row.
func (s *state) recordFailure(e *chat.SendError, now time.Time) {
	s.err = e
	switch e.Kind {
	case chat.Temporary, chat.Uncertain, chat.Conflict, chat.Forbidden, chat.Auth:
		s.onlyWaitHelps = true
	default:
		s.onlyWaitHelps = false
	}
	if s.failuresInRow == 0 {
		s.failingSince, s.rateLimitsInRow = now, 0
	}
	if s.failuresInRow++; e.Kind == chat.RateLimited {
		s.rateLimitsInRow++
	}
	s.extendForFailure(e, now)
}

// extendForFailure extends the deadline of a final after a rate limit, by the platform's retry time. extendForFailure
// also extends the deadline while no call of the endpoint succeeds, because the platform is then probably down. Any
// other failure concerns only this reply and does not extend the deadline.
func (s *state) extendForFailure(e *chat.SendError, now time.Time) {
	until := now.Add(e.RetryAfter + finalDeadline)
	switch e.Kind {
	case chat.RateLimited:
	case chat.Temporary, chat.Uncertain:
		if s.platformAnswers() {
			return
		}
		if last := s.endedAt.Add(maxOutage); until.After(last) {
			until = last
		}
	default:
		return
	}
	s.extend(until)
}

// platformAnswers reports whether other calls of the endpoint succeed while those of this reply fail.
func (s *state) platformAnswers() bool { return s.lastSuccess.After(s.failingSince) }

// probe returns a harmless call that shows whether the platform is down or refuses only this reply. probe returns false
// if fewer than probeAfter calls failed in a row, if other replies' calls succeed, or if the last probe was less than
// probeEvery ago.
func (s *state) probe(now time.Time) (action, bool) {
	if s.failuresInRow < probeAfter || !s.can(chat.OpTyping) || s.platformAnswers() || now.Before(s.probedAt.Add(probeEvery)) {
		return action{}, false
	}
	return action{kind: doProbe}, true
}

// recordUncertainCreate records that the last create call for p may have made the message, and how to learn whether it
// did.
func (s *state) recordUncertainCreate(p *message, now time.Time) {
	switch {
	case s.keyFor > 0 && now.Sub(p.attempt.firstAt) < s.keyFor:
		p.attempt.resolution = byKey
	case s.can(chat.OpFind):
		p.attempt.resolution, p.attempt.searchNext, p.attempt.searchDue = byFind, "", now.Add(min(firstSearchDelay, s.lateFor))
	default:
		p.attempt.unresolved++
		s.probed = false
		s.mute(p)
	}
}

// halve halves the maximum length of the reply's parts. The first parts, as many as keep says, stay unchanged.
func (s *state) halve(keep int) {
	for len(s.cuts) < keep {
		s.cuts = append(s.cuts, s.limit)
	}
	s.cuts = s.cuts[:keep]
	s.limit = max(minLimit, s.limit/2)
}

// resend sends the text that was shown so far again, in more and shorter messages. Messages at the beginning of the
// reply that can't be edited stay as they are. Until all of the text is sent again, the stored records contain the text
// that the messages showed before. The old records make sure that no words are lost if the process dies meanwhile.
func (s *state) resend() {
	if !s.relaid {
		s.completeSources()
	}
	e := &Ending{Text: s.source, Cut: true}
	if s.literal {
		e.Text = ""
		for i := range s.parts {
			e.Text += s.parts[i].source
		}
	}
	var kept []markup.Part
	for i := range s.parts {
		p := &s.parts[i]
		if !p.exists() || s.can(chat.OpEdit) && p.editable() {
			break
		}
		kept = append(kept, markup.Part{Rendered: p.shown.body.rendered, Plain: p.shown.body.plain})
		e.Text = strings.TrimPrefix(e.Text, p.source)
	}
	s.final, s.keptParts, s.cuts = nil, kept, nil
	s.ending, s.relaid = e, true
	s.cannot(chat.OpFile) // no file is sent, because it would remain in the chat if the turn ran again
}

// If some messages show a text whose Markdown this process does not know, completeSources sets the source of each
// message to the message's plain text. Messages that an earlier process has already sent again keep their source.
func (s *state) completeSources() {
	if s.keepsDraft() { // a draft has no record, so the record of the message that replaces it must contain the draft's text
		shown := 0
		for i := range s.parts[:s.draft.part] {
			shown += len(s.parts[i].source)
		}
		s.parts[s.draft.part].source = cut(s.source, shown, s.draft.body.end)
	}
	rest := s.parts[s.resent:]
	s.literal = s.source == "" || slices.ContainsFunc(rest, func(m message) bool { return m.exists() && !m.blank() && m.source == "" })
	for i := range rest {
		p := &rest[i]
		stands := p.exists() || p.attempt.open() && s.resent == 0 ||
			slices.ContainsFunc(s.superseded, func(m message) bool { return m.exists() && m.place == s.resent+i })
		if s.literal && stands {
			p.source = p.shown.body.plain + "\n"
		}
	}
}

// cutOf returns the maximum length of part i.
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

// pauseFor delays the next call by at most maxWait. Jitter spreads the retries of calls that failed together.
func (s *state) pauseFor(maxWait time.Duration, now time.Time) {
	d := min(maxWait, firstBackoff<<min(s.failuresInRow-1, 10))
	if s.failuresInRow > slowAfterFailures {
		d = slowBackoff
	}
	if s.jitter != nil {
		d += time.Duration(s.jitter() * float64(d) / 2)
	}
	s.holdUntil = now.Add(d)
}
