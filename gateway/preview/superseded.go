package preview

import (
	"slices"

	"telex/internal/chat"
)

// supersede gives part i a new message. At the end the parts below it get new ones as well, so that the order stays.
func (s *state) supersede(i int) {
	last := i
	if s.ending != nil && s.can(chat.OpDelete) {
		last = len(s.parts) - 1
	}
	for j := last; j >= i; j-- { // the last first: a process that sees half of this must find part i as it was
		s.renew(j)
	}
	s.mayStandAbove(i)
	s.muted = true
}

// renew gives part i a new message. The one that it has is superseded, unless it has no id, and so can't be deleted.
func (s *state) renew(i int) {
	p := &s.parts[i]
	if p.exists() && p.ref.ID != "" {
		m := *p
		m.role, m.phase, m.place = roleSuperseded, standing, i // a stream too is deleted as it is
		s.superseded = append(s.superseded, m)
	}
	if p.exists() {
		p.renew()
	}
}

// mayStandAbove notes that part i gets a new message: what an unanswered create of a later one made stands above it.
func (s *state) mayStandAbove(i int) {
	for j := i + 1; j < len(s.parts); j++ {
		p := &s.parts[j]
		p.attempt.above = p.attempt.above || s.can(chat.OpDelete) && !p.exists() && p.attempt.open()
	}
}

// shiftDown replaces a message that turned out to stand above those that were sent anew.
func (s *state) shiftDown(i int) {
	if p := s.at(i); p.attempt.above && p.ref.ID != "" {
		s.renew(i)
	}
}

// bringBack lets a message stand that was replaced, where nothing took its place: it must lose its cursor at least.
func (s *state) bringBack(p *message) {
	i := len(s.superseded) - 1 // the newest
	for i >= 0 && &s.parts[s.superseded[i].place] != p {
		i--
	}
	if i < 0 || p.exists() || !s.superseded[i].unfinished() || !s.can(chat.OpEdit) {
		return
	}
	p.ref, p.phase, p.certainty, p.shown.cursor = s.superseded[i].ref, standing, unsure, true
	s.superseded = slices.Delete(s.superseded, i, i+1)
}

// forget leaves a message to itself that is not of the text. Another question is another message.
func (s *state) forget(i int) {
	if i == questionAt {
		s.stray = s.stray || s.question.doubtful()
		s.question = newQuestion(s.question.gen + 1)
		return
	}
	n := supersededAt - i
	s.superseded = append(s.superseded[:n:n], s.superseded[n+1:]...)
}

// maxParts keeps the records of superseded messages apart: below 0, by place and generation.
const maxParts = 10_000

func (m *message) supersededRecord() chat.Part {
	return chat.Part{Index: -1 - m.place - maxParts*m.gen, State: chat.PartFrozen, Ref: m.ref, Cursor: m.unfinished()}
}

// isSuperseded says that a message is one of those.
func (s *state) isSuperseded(ref chat.MessageRef) bool {
	return slices.ContainsFunc(s.superseded, func(m message) bool { return m.ref == ref })
}

// restoreSuperseded takes up a message that an earlier process had replaced.
func (s *state) restoreSuperseded(r chat.Part) {
	if r.State != chat.PartFrozen {
		return
	}
	n := -1 - r.Index
	place := n % maxParts
	for len(s.parts) <= place { // the part's own record may not have been stored
		s.parts = append(s.parts, message{})
	}
	s.superseded = append(s.superseded, message{
		role: roleSuperseded, ref: r.Ref, phase: standing, shown: display{cursor: r.Cursor}, place: place, gen: n / maxParts, stored: true,
	})
}
