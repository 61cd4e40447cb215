package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// frozenTries is how often the deletion of a message is tried that nothing else depends on.
const frozenTries = 3

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
	if s.ending != nil && s.canDelete {
		last = len(s.parts) - 1
	}
	for j := i; j <= last; j++ {
		p := &s.parts[j]
		if p.exists {
			s.frozen = append(s.frozen, frozen{ref: p.ref, part: j, gen: p.gen, cursor: p.cursor})
			p.renew()
		}
	}
	s.muted = true
}

// renew says that p needs a new message in place of the one it had.
func (p *part) renew() {
	p.exists, p.streams, p.unsure, p.cursor, p.file = false, false, false, false, false
	p.doubted, p.mixed, p.lost, p.first = false, false, false, time.Time{}
	p.gen++
}

// unfreeze replaces a message that would stay with its cursor.
func (s *state) unfreeze(now time.Time) action {
	for _, f := range s.frozen {
		if p := s.parts[f.part]; f.cursor && s.canDelete && !p.exists {
			return s.create(action{kind: doSend, part: f.part, body: p.shown, class: chat.ClassFinal}, now)
		}
	}
	return action{kind: doEnd}
}

// thaw deletes a message that has been replaced: doEnd when there is none.
func (s *state) thaw() action {
	for _, f := range s.frozen {
		if s.canDelete && (s.parts[f.part].exists || !s.ending.Keep) {
			return action{kind: doDelete, part: -1, ref: f.ref, class: chat.ClassFinal}
		}
	}
	return action{kind: doEnd}
}

// settleFrozen notes that such a message was deleted. It is tried again only where that may
// help.
func (s *state) settleFrozen(a action, err error, now time.Time) {
	if err != nil {
		switch e := chat.AsSendError(err); e.Kind {
		case chat.RateLimited, chat.Temporary, chat.Uncertain:
			if s.trouble++; s.trouble < frozenTries {
				s.backoff(now)
				return
			}
		}
	}
	for i, f := range s.frozen {
		if f.ref == a.ref {
			s.frozen = append(s.frozen[:i:i], s.frozen[i+1:]...)
			break
		}
	}
	s.trouble = 0
}

// frozenStride keeps the records of frozen messages apart: below 0, by part and generation.
const frozenStride = 10_000

func (f frozen) record(state chat.PartState) chat.Part {
	return chat.Part{Index: -1 - f.part - frozenStride*f.gen, State: state, Ref: f.ref}
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
	s.frozen = append(s.frozen, frozen{ref: r.Ref, part: n % frozenStride, gen: n / frozenStride, stored: true})
}
