package preview

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// A create of unknown outcome may take effect after its failure, where the profile says so (LateFor). Its message is
// then looked for twice: a moment after the failure, and once more when nothing can come any more. What the second search
// finds is deleted if another message took its place; a reply that was interrupted before that keeps it.

// firstLook is how long after the failure of a create the first search begins.
const firstLook = 1500 * time.Millisecond

// questionPlace is the place of a superseded message that was a question.
const questionPlace = maxParts - 1

// find returns the call that looks for the message of a create, or the wait for it. A search has the class of finals: until
// it is over, the reply can't go on.
func (s *state) find(part int, now time.Time) action {
	d := desired{part: part, class: chat.ClassFinal}
	if due := s.at(part).attempt.due; now.Before(due) {
		return action{kind: doWait, until: due, deaf: true, desired: d}
	}
	return action{kind: doFind, desired: d}
}

// asTried returns the create that a makes, as Find needs it later; nil if a makes none or Find does not need it.
func (r *Reply) asTried(a action) *chat.Create {
	if !a.creates() || r.lateFor == 0 || !r.can(chat.OpFind) {
		return nil
	}
	c := chat.Create{Key: r.partKey(a.part), After: r.adapter().Finder.Newest(r.to), File: a.kind == doFile, Message: r.outgoing(a)}
	c.Message.Plain, c.Message.Source, c.Message.Note = "", "", "" // the platform does not show them
	return &c
}

// search makes the call that looks for the message of a create.
func (r *Reply) search(ctx context.Context, a action) (chat.Receipt, error) {
	m := r.at(a.part)
	c := chat.Create{File: m.file}
	if m.attempt.create != nil {
		c = *m.attempt.create
	}
	if c.Key == "" {
		c.Key = r.partKey(a.part)
	}
	var err error
	if r.found, err = r.adapter().Finder.Find(ctx, r.to, c, m.attempt.next); err != nil {
		return chat.Receipt{}, err
	}
	if r.found.Next == "" {
		r.log.InfoContext(ctx, "looked for a message of unknown outcome", slog.Int("part", a.part), slog.Bool("again", m.role == roleSuperseded),
			slog.Bool("found", r.found.Ref.ID != ""), slog.Bool("unsure", r.found.Unsure))
	}
	return chat.Receipt{Ref: r.found.Ref}, nil
}

// settleFind records what a search for the message of a create learned. A found message shows one of the payloads that
// were tried.
func (s *state) settleFind(part int, ref chat.MessageRef, now time.Time) {
	p, found := s.at(part), s.found
	again, gen := p.attempt.create, p.gen
	switch s.found = (chat.Found{}); {
	case found.Next != "":
		p.attempt.next = found.Next
		return
	case ref.ID != "":
		s.displayed = s.displayed || p.role == roleText
		if p.ref, p.phase, p.certainty, p.stored = ref, standing, unsure, false; p.attempt.streams {
			p.phase = streaming
		}
		p.attempt.learned()
		if part <= supersededAt {
			s.adopt(supersededAt - part)
		}
		s.findSeam()
		if !found.Taken {
			return
		}
		if part >= 0 {
			p.gen++ // the record of the second search has this one
		}
	case part <= supersededAt:
		s.forget(part)
		return
	case found.Unsure:
		p.attempt.giveUp()
		s.probed = false
		s.mute(p)
		return
	default:
		p.attempt.forget()
		if s.keyFor > 0 || s.lateFor > 0 { // the platform may still know the key of a message that a person deleted, and create no new one
			p.gen++
		}
	}
	if again != nil && s.lateFor > 0 && part > supersededAt {
		if part == questionAt {
			part = questionPlace
		}
		s.lookLater(*again, part, gen, now)
	}
}

// lookLater plans the second search for the message of a create. The message is superseded: another took its place.
func (s *state) lookLater(c chat.Create, place, gen int, now time.Time) {
	m := message{role: roleSuperseded, place: place, gen: gen, shown: display{cursor: true}}
	m.attempt = attempt{resolution: byFind, create: &c, due: now.Add(s.lateFor)}
	s.superseded = append(s.superseded, m)
}

// lingers reports whether nothing but a second search is left of the ending.
func (s *state) lingers() bool {
	for _, m := range s.superseded {
		if !m.exists() && m.attempt.open() {
			a := s.remaining(time.Now())
			return a.part <= supersededAt && (a.kind == doWait || a.kind == doFind)
		}
	}
	return false
}
