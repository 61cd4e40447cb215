package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// supersede plans a new message for part i, because the existing one can't be edited any more. If the reply has an
// ending, the later parts get new messages as well, so that all parts stay in order.
func (s *state) supersede(i int) {
	last := i
	if s.ending != nil && s.can(chat.OpDelete) {
		last = len(s.parts) - 1
	}
	for j := last; j >= i; j-- { // in reverse order: if a crash loses some of these records, part i must be unchanged
		s.replaceMessage(j)
	}
	s.markAbove(i)
	s.muted = true
}

// replaceMessage plans a new message for part i. The existing message becomes superseded and will be deleted. If the
// existing message has no id, it can't be deleted and is no longer tracked.
func (s *state) replaceMessage(i int) {
	p := &s.parts[i]
	if p.exists() && p.ref.ID != "" {
		m := *p
		m.role, m.place = roleSuperseded, i
		s.superseded = append(s.superseded, m)
	}
	if p.exists() {
		p.renew()
	}
}

// markAbove is called when part i may get a new message. A create call for a later part may have an unknown outcome.
// markAbove records that the message of the later part, if it exists, will be above the new message of part i.
func (s *state) markAbove(i int) {
	for j := i + 1; j < len(s.parts); j++ {
		p := &s.parts[j]
		p.attempt.mayBeAbove = p.attempt.mayBeAbove || s.can(chat.OpDelete) && !p.exists() && p.attempt.open()
	}
}

// replaceIfAbove plans a new message for part i if its message appeared above earlier parts, which were sent again.
func (s *state) replaceIfAbove(i int) {
	if p := s.at(i); p.attempt.mayBeAbove && p.ref.ID != "" {
		s.replaceMessage(i)
	}
}

// restoreSupersededFor makes the superseded message of p part of the text again if no new message replaced the
// superseded one. An edit then makes the restored message show the text of p, or at least removes its cursor.
func (s *state) restoreSupersededFor(p *message) {
	i := len(s.superseded) - 1 // the newest
	for i >= 0 && (s.at(s.superseded[i].place) != p || !s.superseded[i].exists()) {
		i--
	}
	if i >= 0 {
		s.restoreAt(p, i)
	}
}

// adoptFound handles superseded message i, which a second search found. If the reply was interrupted and has no other
// message with this part, the found message becomes part of the reply again. The found message must stay, because a
// person may have read it.
func (s *state) adoptFound(i int) {
	if place := s.superseded[i].place; s.ending != nil && s.ending.Keep && place < len(s.parts) { // not a question
		s.restoreAt(&s.parts[place], i)
	}
}

// restoreAt makes superseded message i the message of p again. restoreAt does nothing if p already has a message or if
// the platform can't edit messages. Also, restoreAt does nothing if the superseded message needs no change and another
// create call for p is allowed.
func (s *state) restoreAt(p *message, i int) {
	m := s.superseded[i]
	if p.exists() || !m.unfinished() && !p.givenUp() || !s.can(chat.OpEdit) {
		return
	}
	p.ref, p.phase, p.certainty, p.shown.cursor = m.ref, m.phase, unsure, true
	s.superseded = slices.Delete(s.superseded, i, i+1)
}

// forget stops tracking message i, which is the question message or a superseded one. The next question of the reply
// gets a new message.
func (s *state) forget(i int) {
	if i == questionAt {
		s.questionLost = s.questionLost || s.question.doubtful()
		s.question = newQuestion(s.question.gen + 1)
		return
	}
	n := supersededAt - i
	s.superseded = append(s.superseded[:n:n], s.superseded[n+1:]...)
}

// maxParts exceeds the number of messages that a reply can have. A superseded message has the record index -1 - place -
// maxParts*gen, so each superseded message has its own record.
const maxParts = 10_000

func (m *message) supersededRecord() chat.Part {
	p := chat.Part{Index: -1 - m.place - maxParts*m.gen, State: chat.PartFrozen, Ref: m.ref, Cursor: m.unfinished()}
	if !m.exists() {
		p.State, p.Create = chat.PartIntended, m.attempt.create
	}
	return p
}

// readable reports whether a message of the reply shows a text or a file. A superseded message that was not replaced
// counts as readable, because its content may be unknown.
func (s *state) readable() bool {
	return slices.ContainsFunc(s.parts, func(m message) bool { return m.exists() && (m.file || !m.blank()) }) ||
		slices.ContainsFunc(s.superseded, func(m message) bool { return m.exists() && !s.at(m.place).exists() })
}

// If the records contain the message ref both as the message of p and as a superseded message, restoreRole decides
// which of the two is true. If an earlier process superseded the message and later made it part of the text again, the
// record of p has the newer key.
func (s *state) restoreRole(p *message, ref chat.MessageRef) {
	i := slices.IndexFunc(s.superseded, func(m message) bool { return m.exists() && m.ref == ref })
	switch {
	case i < 0:
	case p.exists() && s.superseded[i].gen < p.gen:
		s.superseded = slices.Delete(s.superseded, i, i+1)
	default:
		p.renew()
	}
}

// restoreSuperseded restores a message that an earlier process had superseded.
func (s *state) restoreSuperseded(r chat.Part, now time.Time) {
	n := -1 - r.Index
	place := n % maxParts
	switch {
	case r.State == chat.PartIntended && r.Create != nil:
		due := now
		if until := s.taken.Add(callTimeout); until.After(now) {
			due = until
		}
		s.lookLater(*r.Create, place, n/maxParts, due.Add(s.lateFor))
		s.superseded[len(s.superseded)-1].stored = true
		return
	case r.State != chat.PartFrozen, s.leftBehind(r):
		return
	}
	for len(s.parts) <= place { // the record of the part itself may be missing
		s.parts = append(s.parts, message{})
	}
	s.superseded = append(s.superseded, message{
		role: roleSuperseded, ref: r.Ref, phase: standing, shown: display{cursor: r.Cursor}, place: place, gen: n / maxParts, stored: true,
	})
}

// leftBehind reports whether the message of record r, or its create call, belongs to the old id of a chat that got a
// new id. The bot can't edit or find the messages of the old chat any more.
func (s *state) leftBehind(r chat.Part) bool {
	return r.Ref.Target.Chat != "" && r.Ref.Target.Chat != s.to.Chat
}
