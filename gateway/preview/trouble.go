package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	firstBackoff = 500 * time.Millisecond
	mostBackoff  = 5 * time.Second
	// Previews are asked for more often: what a person wants after an outage is news.
	previewBackoff = 2 * time.Second
	// A platform that was away for longSilence failures in a row is not asked as often.
	longSilence = 60
	// mostRefusals by rate limits in a row are obeyed to the moment. Then a reply waits longer than it is told: whoever
	// goes on at that moment may meet the others that do, again and again.
	mostRefusals = 3
	slowBackoff  = time.Minute
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
	asked    time.Time      // when it was last tested whether the platform answers at all
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

// settleError folds in that action a failed.
func (s *state) settleError(a action, e *chat.SendError, now time.Time) {
	s.fails(e, now)
	switch {
	case e.Kind == chat.RateLimited: // the budget makes everybody wait
		if s.row > mostRefusals {
			s.backoff(now)
		}
	case e.Kind == chat.Moved:
		s.follow(e.Moved)
	case e.Kind == chat.Forbidden, e.Kind == chat.Auth:
		s.suspend(now)
	case a.part == apart:
		s.apartError(a, e, now)
	case a.kind == doDraft:
		s.draftError(a, e, now)
	case a.kind == doFile && (e.Kind == chat.Rejected || e.Kind == chat.TooLong || e.Kind == chat.Gone):
		s.fileError(a)
	case a.kind == doStart && (e.Kind == chat.Rejected || e.Kind == chat.Gone):
		s.streamFor = 0
	case a.kind == doAppend || a.kind == doStop:
		s.streamError(a, e, now)
	case a.kind == doFind && e.Kind != chat.Temporary && e.Kind != chat.Uncertain:
		// It can't be learned: the create counts as one that nothing resolves.
		p := &s.parts[a.part]
		s.muted = true
		s.cannot(chat.OpFind)
		p.attempt.giveUp()
	default:
		s.messageError(a, e, now)
	}
}

// fileError reacts to a file that the platform does not take.
func (s *state) fileError(a action) {
	p := &s.parts[a.part]
	switch {
	case s.rest != nil && a.part == s.restAt:
		s.restText, s.final = true, nil // the rest goes on as parts
	case p.attempt.resolution == byKey && s.can(chat.OpFind):
		p.attempt.resolution = byFind // the key leads nowhere: what an earlier try may have made is looked for
	default:
		p.abandoned = true // the text is the answer
	}
}

// patience lets a final take as long as it was told, and as long as the platform is away: while no call of the
// endpoint succeeds. Else the failure is this reply's own, and its deadline stays.
func (s *state) patience(e *chat.SendError, now time.Time) {
	if s.ending == nil {
		return
	}
	until := now.Add(e.RetryAfter + finalDeadline)
	switch e.Kind {
	case chat.RateLimited:
	case chat.Temporary, chat.Uncertain:
		if s.answers() {
			return
		}
		if last := s.ended.Add(mostPatience); until.After(last) {
			until = last
		}
	default:
		return
	}
	if until.After(s.deadline) {
		s.deadline = until
	}
}

// answers says that the platform lets calls of the endpoint succeed while those of this reply fail.
func (s *state) answers() bool { return s.answered.After(s.failing) }

// probe returns a harmless call that tells a platform which is away from one that refuses this reply alone. False
// means that this is known, or was asked a while ago. It is made after a few failures in a row.
func (s *state) probe(now time.Time) (action, bool) {
	if s.row < probeAfter || !s.can(chat.OpTyping) || s.answers() || now.Before(s.asked.Add(probeEvery)) {
		return action{}, false
	}
	return action{kind: doProbe, class: chat.ClassFinal}, true
}

// messageError reacts to a failed call on a message like any other.
func (s *state) messageError(a action, e *chat.SendError, now time.Time) {
	if s.refusesMark(a, e.Kind) {
		return
	}
	p := &s.parts[a.part]
	refused := e.Kind == chat.Rejected || e.Kind == chat.TooLong || e.Kind == chat.Gone || e.Kind == chat.Frozen
	if refused && a.creates() && p.attempt.resolution == byKey && s.can(chat.OpFind) {
		p.attempt.resolution = byFind // the key leads nowhere: what an earlier try may have made is looked for
		return
	}
	switch e.Kind {
	case chat.Uncertain:
		s.unknown(a, p, now)
		s.backoff(now)
	case chat.Rejected:
		s.plainer(a, p)
	case chat.TooLong:
		s.shrink(a, p)
	case chat.Gone, chat.Frozen:
		if a.creates() {
			s.giveUp(p)
			return
		}
		if e.Kind == chat.Frozen && a.kind == doEdit {
			if !s.can(chat.OpDelete) && p.certainty == inherited && p.shown.like(a.display) {
				p.certainty = sure // most likely it reads like this: where nothing can be deleted it must not stand twice
				return
			}
			s.freeze(a.part)
			return
		}
		p.renew()
		if s.muted = true; a.kind == doEdit {
			p.phase = gone
		}
		s.below(a.part)
	default:
		s.backoff(now)
	}
}

// draftError falls back to edits where drafts are refused. A draft may be repeated freely.
func (s *state) draftError(a action, e *chat.SendError, now time.Time) {
	switch e.Kind {
	case chat.Uncertain, chat.Temporary, chat.Conflict:
		s.backoff(now)
	case chat.TooLong:
		if s.limit <= leastLimit {
			s.refuseDraft()
			return
		}
		s.halve(a.part)
	default:
		s.refuseDraft()
	}
}

// streamError reacts to a failed call on a stream. Adding can't be repeated, stopping can.
func (s *state) streamError(a action, e *chat.SendError, now time.Time) {
	p := &s.parts[a.part]
	switch {
	case e.Kind == chat.Temporary:
		s.backoff(now)
	case e.Kind == chat.Uncertain, e.Kind == chat.Conflict:
		if a.added != "" {
			p.certainty = unsure
		}
		s.backoff(now)
	case e.Kind == chat.Gone:
		p.renew()
		p.phase, s.muted = gone, true
	case a.added != "":
		p.certainty = unsure
	default: // it can't even be stopped: edit what is there
		p.phase, p.certainty = standing, unsure
	}
}

// unknown notes a call that may have taken effect. Edits and deletes are simply repeated.
func (s *state) unknown(a action, p *message, now time.Time) {
	switch {
	case a.creates():
		p.attempt.streams, p.file = p.attempt.streams || a.kind == doStart, a.kind == doFile
		p.attempt.mixed = p.attempt.mixed || p.attempt.resolution == byKey && !p.shown.like(a.display)
		p.replace(a.display)
		if p.attempt.first.IsZero() {
			p.attempt.first = s.lastCall
		}
		s.doubt(p, now)
	case a.kind == doEdit:
		p.replace(a.display)
		p.certainty = unsure
	}
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
		s.muted, s.probed = true, false
	}
}

// follow goes on in the chat's new place, once. No message id means anything there.
func (s *state) follow(to chat.ChatID) {
	if s.moved != "" || to == "" {
		s.dead = true
		return
	}
	s.to.Chat, s.moved, s.muted, s.replyTo = to, to, true, ""
	s.frozen, s.apart = nil, message{gen: s.apart.gen + 1}
	for i := range s.parts {
		if s.parts[i].exists() && s.parts[i].ref.Target.Chat != to {
			s.parts[i].renew()
		}
	}
}

// plainer reacts to refused content: once without markup, then not at all.
func (s *state) plainer(a action, p *message) {
	if !p.plain && !a.body.equal(plainPayload(a.body)) {
		p.plain = true
		return
	}
	s.giveUp(p)
}

// shrink halves the length of parts. Those of the final before the one that was too long stay
// as they were cut: they may stand already where nothing can be edited.
func (s *state) shrink(a action, p *message) {
	if s.ending != nil && s.ending.Keep && s.limit > leastLimit {
		s.relay()
		return
	}
	known := s.cutOf(a.part) > s.limit // cut by an earlier process, before it learned of the limit
	if !known && s.limit <= leastLimit || s.ending != nil && a.part >= len(s.final) {
		s.giveUp(p)
		return
	}
	if s.ending != nil {
		s.kept, s.final = s.final[:min(a.part, s.texts)], nil
	}
	if known {
		s.cuts = s.cuts[:a.part]
		return
	}
	s.halve(a.part)
}

// halve halves the length of all parts but the first keep.
func (s *state) halve(keep int) {
	for len(s.cuts) < keep {
		s.cuts = append(s.cuts, s.limit)
	}
	s.cuts = s.cuts[:keep]
	s.limit = max(leastLimit, s.limit/2)
}

// relay keeps what was shown, if in more messages.
func (s *state) relay() {
	e := &Ending{Text: s.source, Cut: true}
	if s.literal = e.Text == ""; s.literal { // parts of a final, which nothing but the store has as Markdown
		for i, p := range s.parts {
			if p.exists() || p.attempt.open() || slices.ContainsFunc(s.frozen, func(f frozen) bool { return f.part == i }) {
				e.Text += p.shown.body.plain + "\n"
			}
		}
	}
	s.final, s.kept, s.cuts = nil, nil, nil
	s.ending, s.relaid = e, true
	s.cannot(chat.OpFile) // a file would stay as it is when the turn is run again
	s.limit = max(leastLimit, s.limit/2)
}

// cutOf is the length to which part i is cut.
func (s *state) cutOf(i int) int {
	if i >= 0 && i < len(s.cuts) {
		return s.cuts[i]
	}
	return s.limit
}

// giveUp stops trying what can't succeed: previews of this reply, or this part of the final.
func (s *state) giveUp(p *message) {
	s.muted = true
	if s.ending != nil {
		if p.abandoned { // also what stands is refused
			p.shown.cursor, p.certainty = false, sure
		}
		p.abandoned = true
		s.bringBack(p)
	}
}

// backoff makes the next call wait, longer with every failure in a row.
func (s *state) backoff(now time.Time) {
	if s.ending == nil {
		s.pauseFor(previewBackoff, now)
		return
	}
	s.pauseFor(mostBackoff, now)
}

// suspend reacts to a call that the platform refused for the chat or for the credentials. The call had no effect.
// One refusal may be a mistake of the platform or soon be undone, so the same call is made again later.
func (s *state) suspend(now time.Time) { s.pauseFor(maxSuspension, now) }

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
