package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	firstBackoff = 500 * time.Millisecond
	mostBackoff  = 10 * time.Second
)

// settle folds the outcome of action a, which ended at now, into the state.
func (s *state) settle(a action, r chat.Receipt, err error, now time.Time) {
	if a.kind == doType {
		s.settleTyping(err, now)
		return
	}
	for len(s.parts) <= a.part {
		s.parts = append(s.parts, part{start: a.start})
	}
	p := &s.parts[a.part]
	if err != nil {
		s.settleError(a, p, chat.AsSendError(err), now)
		return
	}
	s.trouble, s.hold = 0, time.Time{}
	switch a.kind {
	case doSend:
		s.settleSend(p, r.Ref)
	case doDelete:
		p.exists = false
		return
	}
	p.shown, p.cursor, p.unsure = a.body, a.cursor, false
	p.sealed, p.next = a.seal, a.next
	if !a.seal {
		s.drawn = a.size
	}
}

// settleTyping notes whether typing works. At the end it is a probe, repeated until the
// platform answers.
func (s *state) settleTyping(err error, now time.Time) {
	switch {
	case s.ending == nil:
		s.canType = err == nil
	case err == nil:
		s.probed, s.trouble = true, 0
	default:
		switch e := chat.AsSendError(err); e.Kind {
		case chat.Uncertain, chat.Temporary, chat.RateLimited:
			s.err = e
			s.trouble++
			s.backoff(now)
		default: // it answers, if not as wished
			s.probed = true
		}
	}
}

// settleSend notes a message that was created. One without an id can't be edited, so that it
// must not count as the reply unless it is the final.
func (s *state) settleSend(p *part, ref chat.MessageRef) {
	s.displayed = true
	p.ref, p.exists, p.gone = ref, true, false
	if ref.ID == "" {
		s.muted, s.nameless = true, true
		p.exists = s.ending != nil
	}
}

func (s *state) settleError(a action, p *part, e *chat.SendError, now time.Time) {
	s.err = e
	s.trouble++
	switch e.Kind {
	case chat.RateLimited:
		// The budget makes everybody wait; a final may take as long as it was told.
		if until := now.Add(e.RetryAfter + finalDeadline); s.ending != nil && until.After(s.deadline) {
			s.deadline = until
		}
	case chat.Uncertain:
		s.unknown(a, p)
		s.backoff(now)
	case chat.Rejected:
		s.plainer(a, p)
	case chat.TooLong:
		s.shrink(a, p)
	case chat.Gone:
		if a.kind == doSend {
			s.giveUp(p)
			return
		}
		p.exists, p.gone, s.muted = false, a.kind == doEdit, true
	case chat.Moved:
		s.follow(e.Moved)
	case chat.Forbidden, chat.Auth:
		s.dead = true
	case chat.Temporary, chat.Conflict:
		s.backoff(now)
	}
}

// unknown notes a call that may have taken effect. Edits and deletes are simply repeated.
func (s *state) unknown(a action, p *part) {
	switch a.kind {
	case doSend:
		p.uncertain++
		s.muted, s.probed = true, false
	case doEdit:
		p.shown, p.cursor, p.unsure = a.body, a.cursor, true
	}
}

// follow goes on in the chat's new place, once. No message id means anything there.
func (s *state) follow(to chat.ChatID) {
	if s.moved != "" || to == "" {
		s.dead = true
		return
	}
	s.to.Chat, s.moved, s.muted, s.replyTo = to, to, true, ""
	for i := range s.parts {
		s.parts[i].exists = false
	}
}

// plainer reacts to refused content: once without markup, then not at all.
func (s *state) plainer(a action, p *part) {
	if !p.plain && !a.body.equal(plainPayload(a.body)) {
		p.plain = true
		return
	}
	s.giveUp(p)
}

// shrink halves the length of parts. Those of the final before the one that was too long stay
// as they were cut: they may stand already where nothing can be edited.
func (s *state) shrink(a action, p *part) {
	if s.limit <= leastLimit || s.ending != nil && a.part >= len(s.final) {
		s.giveUp(p)
		return
	}
	s.limit = max(leastLimit, s.limit/2)
	s.kept, s.final = s.final[:min(a.part, s.texts)], nil
}

// giveUp stops trying what can't succeed: previews of this reply, or this part of the final.
func (s *state) giveUp(p *part) {
	s.muted = true
	if s.ending != nil {
		p.given = true
	}
}

// backoff makes the next call wait, longer with every failure in a row.
func (s *state) backoff(now time.Time) {
	s.hold = now.Add(min(mostBackoff, firstBackoff<<min(s.trouble-1, 10)))
}

// restart reacts to a text that starts over. Parts that are full belong to the void text; only
// the final may touch them, so previews end here. Without such parts the new text simply
// replaces the old one.
func (s *state) restart() {
	s.drawn = 0
	for _, p := range s.parts {
		s.muted = s.muted || p.sealed
	}
}

// end takes up the ending. What held previews back holds no final back, and markup that was
// refused in an unfinished text gets another chance.
func (s *state) end(e *Ending, now time.Time) {
	s.ending = e
	s.deadline = now.Add(finalDeadline)
	s.hold, s.trouble = time.Time{}, 0
	for i := range s.parts {
		s.parts[i].plain = s.parts[i].plain && e.Keep
	}
}

// delivered judges by content whether everything that was wanted is visible, and nothing else.
func (s *state) delivered() bool {
	switch {
	case s.ending == nil || s.dead:
		return false
	case s.ending.Keep:
		return !slices.ContainsFunc(s.parts, func(p part) bool { return p.exists && (p.cursor || p.unsure) })
	}
	want := s.layoutFinal()
	for i, w := range want {
		if i >= len(s.parts) || !s.deleted(i) && !s.parts[i].shows(s.payload(i, w)) {
			return false
		}
	}
	return len(s.parts) <= len(want) || !slices.ContainsFunc(s.parts[len(want):], func(p part) bool { return p.exists })
}
