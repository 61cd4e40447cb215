package preview

import (
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
		s.canType = err == nil
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
		p.ref, p.exists, p.gone, p.start = r.Ref, true, false, a.start
		if r.Ref.ID == "" { // it can't be edited: it must not count as the reply unless it is the final
			s.muted, s.nameless = true, true
			p.exists = s.ending != nil
		}
	case doDelete:
		p.gone = true
		return
	}
	p.shown, p.cursor = a.body, a.cursor
	p.sealed, p.next = a.seal, a.next
}

func (s *state) settleError(a action, p *part, e *chat.SendError, now time.Time) {
	s.err = e
	switch e.Kind {
	case chat.RateLimited:
		// The budget makes everybody wait; a final may take as long as it was told.
		if until := now.Add(e.RetryAfter + finalDeadline); s.ending != nil && until.After(s.deadline) {
			s.deadline = until
		}
	case chat.Uncertain:
		if a.kind == doSend {
			p.uncertain++
			s.muted = true
		}
		s.backoff(now)
	case chat.Rejected:
		s.plainer(a, p)
	case chat.TooLong:
		if s.limit <= leastLimit {
			s.giveUp(p)
			return
		}
		s.limit, s.final = max(leastLimit, s.limit/2), nil
	case chat.Gone:
		p.gone, s.muted = true, true
		if a.kind == doSend {
			s.giveUp(p)
		}
	case chat.Moved:
		s.to.Chat, s.moved, s.muted = e.Moved, e.Moved, true
		for i := range s.parts { // their ids mean nothing in the new chat
			s.parts[i].exists = false
		}
	case chat.Forbidden, chat.Auth:
		s.dead = true
	case chat.Temporary, chat.Conflict:
		s.backoff(now)
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

// giveUp stops trying what can't succeed: previews of this reply, or this part of the final.
func (s *state) giveUp(p *part) {
	s.muted = true
	if s.ending != nil {
		p.given = true
	}
}

// backoff makes the next call wait, longer with every failure in a row.
func (s *state) backoff(now time.Time) {
	s.hold = now.Add(min(mostBackoff, firstBackoff<<min(s.trouble, 10)))
	s.trouble++
}

// restart reacts to a text that starts over. Parts that are full belong to the void text; only
// the final may touch them, so previews end here. Without such parts the new text simply
// replaces the old one.
func (s *state) restart() {
	for _, p := range s.parts {
		s.muted = s.muted || p.sealed
	}
}

// end takes up the ending. What held previews back holds no final back.
func (s *state) end(e *Ending, now time.Time) {
	s.ending = e
	s.deadline = now.Add(finalDeadline)
	s.hold, s.trouble = time.Time{}, 0
}

// delivered judges by content whether everything that was wanted is visible.
func (s *state) delivered() bool {
	if s.ending == nil || s.dead {
		return false
	}
	if s.ending.Keep {
		return s.keep().kind == doEnd
	}
	for i, w := range s.layoutFinal() {
		if i >= len(s.parts) {
			return false
		}
		p := s.parts[i]
		if !p.gone && (!p.exists || p.cursor || !p.shown.equal(s.payload(i, w))) {
			return false
		}
	}
	return true
}
