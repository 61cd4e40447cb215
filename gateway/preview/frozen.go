package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// frozen is a message that can't be edited any more and shows what is not wanted. Another one
// takes its place; then it is deleted.
type frozen struct {
	ref    chat.MessageRef
	part   int
	gen    int
	cursor bool
	stored bool
}

// freeze gives part i a new message. At the end the parts below it get new ones as well, so
// that the order stays.
func (s *state) freeze(i int) {
	last := i
	if s.ending != nil && s.can(chat.OpDelete) {
		last = len(s.parts) - 1
	}
	for j := last; j >= i; j-- { // the last first: a process that sees half of this must find part i as it was
		p := &s.parts[j]
		if p.exists() && p.ref.ID != "" { // what has no id can't be deleted
			s.frozen = append(s.frozen, frozen{ref: p.ref, part: j, gen: p.gen, cursor: p.shown.cursor || p.unsure()})
		}
		if p.exists() {
			p.renew()
		}
	}
	s.below(i)
	s.muted = true
}

// below notes that part i gets a new message: what an unanswered create of a later one made stands above it.
func (s *state) below(i int) {
	for j := i + 1; j < len(s.parts); j++ {
		p := &s.parts[j]
		p.attempt.above = p.attempt.above || s.can(chat.OpDelete) && !p.exists() && p.attempt.open()
	}
}

// lower replaces a message that turned out to stand above those that were sent anew.
func (s *state) lower(i int) {
	if p := &s.parts[i]; p.attempt.above && p.exists() && p.ref.ID != "" {
		s.frozen = append(s.frozen, frozen{ref: p.ref, part: i, gen: p.gen, cursor: p.shown.cursor || p.unsure()})
		p.renew()
	}
}

// unfreeze replaces a message that would stay with its cursor, unless it has nothing of the text, and then those that
// follow it, so that the order stays.
func (s *state) unfreeze(now time.Time) action {
	again := false
	for i, p := range s.parts {
		frozen, cursor := false, false
		for _, f := range s.frozen {
			frozen, cursor = frozen || f.part == i, cursor || f.part == i && f.cursor
		}
		again = again || cursor
		if again && frozen && s.can(chat.OpDelete) && !p.exists() && !p.blank() {
			return s.create(action{kind: doSend, part: i, display: display{body: p.standing()}, stands: true, class: chat.ClassFinal}, now)
		}
	}
	return action{kind: doEnd}
}

// thaw deletes a message that has been replaced, or that nobody wants: doEnd when there is none. One whose
// replacement may not have arrived is all that the person has.
func (s *state) thaw() action {
	for _, f := range s.frozen {
		p := &s.parts[f.part]
		unwanted := p.phase == gone || f.part >= len(s.final)
		if s.ending.Keep {
			unwanted = p.blank()
		}
		if s.can(chat.OpDelete) && (p.exists() || unwanted) {
			return action{kind: doDelete, part: old, ref: f.ref, class: chat.ClassFinal}
		}
	}
	return action{kind: doEnd}
}

// bringBack lets a message stand that was replaced, where nothing took its place: it must lose its cursor at least.
func (s *state) bringBack(p *message) {
	i := len(s.frozen) - 1 // the newest
	for i >= 0 && &s.parts[s.frozen[i].part] != p {
		i--
	}
	if i < 0 || p.exists() || !s.frozen[i].cursor || !s.can(chat.OpEdit) {
		return
	}
	p.ref, p.phase, p.certainty, p.shown.cursor = s.frozen[i].ref, standing, unsure, true
	s.frozen = slices.Delete(s.frozen, i, i+1)
}

// settleFrozen notes that such a message was deleted. It shows a cursor, or the answer twice, so it is tried for
// as long as a final where that may help.
func (s *state) settleFrozen(a action, err error, now time.Time) {
	if err != nil {
		switch e := chat.AsSendError(err); e.Kind {
		case chat.RateLimited, chat.Temporary, chat.Uncertain, chat.Conflict:
			s.fails(e, now)
			s.backoff(now)
			return
		case chat.Forbidden, chat.Auth:
			s.fails(e, now)
			s.suspend(now)
			return
		}
	}
	for i, f := range s.frozen {
		if f.ref == a.ref {
			s.frozen = append(s.frozen[:i:i], s.frozen[i+1:]...)
			break
		}
	}
	s.row = 0
}

// frozenStride keeps the records of frozen messages apart: below 0, by part and generation.
const frozenStride = 10_000

func (f frozen) record(state chat.PartState) chat.Part {
	return chat.Part{Index: -1 - f.part - frozenStride*f.gen, State: state, Ref: f.ref, Cursor: f.cursor}
}

// replaced says that a message is one of those.
func (s *state) replaced(ref chat.MessageRef) bool {
	return slices.ContainsFunc(s.frozen, func(f frozen) bool { return f.ref == ref })
}

// restoreFrozen takes up a message that an earlier process had replaced.
func (s *state) restoreFrozen(r chat.Part) {
	if r.State != chat.PartFrozen {
		return
	}
	n := -1 - r.Index
	for len(s.parts) <= n%frozenStride { // the part's own record may not have been stored
		s.parts = append(s.parts, message{})
	}
	s.frozen = append(s.frozen, frozen{ref: r.Ref, part: n % frozenStride, gen: n / frozenStride, cursor: r.Cursor, stored: true})
}
