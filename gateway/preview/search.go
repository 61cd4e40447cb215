package preview

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
)

// A create of unknown outcome may take effect late. On some platforms it may do so even after it failed
// (Profile.LateFor). Where several processes share a store, the process that made it may still wait for the answer. In
// both cases the platform is searched twice for the message: soon, and again when the create can't take effect any
// more. If the second search finds the message and another message has taken its place, the found message is deleted.

// firstSearchDelay is the time between the failure of a create and the first search.
const firstSearchDelay = 1500 * time.Millisecond

// questionPlace is the value of message.place for superseded questions.
const questionPlace = maxParts - 1

// find returns the call that searches for the message of a create, or the wait before it. A search has the class of
// finals, since the reply can't continue before it knows the result.
func (s *state) find(part int, now time.Time) action {
	d := desired{part: part, class: chat.ClassFinal}
	if due := s.at(part).attempt.searchDue; now.Before(due) {
		return action{kind: doWait, until: due, ignoreText: true, desired: d}
	}
	return action{kind: doFind, desired: d}
}

// createForFind returns the create that action a makes, for a later Find. It returns nil if the action makes none, or
// if Find does not need it.
func (r *Reply) createForFind(a action) *chat.Create {
	if !a.creates() || r.lateFor == 0 || !r.can(chat.OpFind) {
		return nil
	}
	c := chat.Create{Key: r.partKey(a.part), After: r.adapter().Finder.Newest(r.to), File: a.kind == doFile, Message: r.outgoing(a)}
	c.Message.Plain, c.Message.Source, c.Message.Note = "", "", "" // the platform does not show them
	return &c
}

// search makes the call that searches for the message of a create.
func (r *Reply) search(ctx context.Context, a action) (chat.Receipt, error) {
	m := r.at(a.part)
	var err error
	if r.searchResult, err = r.adapter().Finder.Find(ctx, r.to, r.uncertainCreate(a.part), m.attempt.searchNext); err != nil {
		return chat.Receipt{}, err
	}
	if r.searchResult.Next == "" {
		r.log.InfoContext(ctx, "looked for a message of unknown outcome", slog.Int("part", a.part), slog.Bool("again", m.role == roleSuperseded),
			slog.Bool("found", r.searchResult.Ref.ID != ""), slog.Bool("unsure", r.searchResult.Unsure))
	}
	return chat.Receipt{Ref: r.searchResult.Ref}, nil
}

// uncertainCreate returns the last create of a part, as far as it is known.
func (s *state) uncertainCreate(part int) chat.Create {
	m := s.at(part)
	c := chat.Create{File: m.file}
	if m.attempt.create != nil {
		c = *m.attempt.create
	}
	if c.Key == "" {
		c.Key = s.partKey(part)
	}
	return c
}

// lateUntil returns until when a create with an unknown outcome may still take effect, although a search at now does
// not find its message. It returns false if that is impossible, or if no second search can be made.
func (s *state) lateUntil(a *attempt, now time.Time) (time.Time, bool) {
	until := now
	if s.lateFor > 0 {
		if a.create == nil {
			return until, false
		}
		until = now.Add(s.lateFor)
	}
	if at := a.pendingUntil.Add(s.lateFor); at.After(until) {
		until = at
	}
	return until, until.After(now)
}

// settleFind records the result of a search for the message of a create. A found message shows the payload of one of the
// creates.
func (s *state) settleFind(part int, ref chat.MessageRef, now time.Time) {
	p, found := s.at(part), s.searchResult
	create, gen := s.uncertainCreate(part), p.gen
	late, again := s.lateUntil(&p.attempt, now)
	switch s.searchResult = (chat.Found{}); {
	case found.Next != "":
		p.attempt.searchNext = found.Next
		return
	case ref.ID != "":
		s.displayed = s.displayed || p.role == roleText
		if p.ref, p.phase, p.certainty, p.stored = ref, standing, unsure, false; p.attempt.streams {
			p.phase = streaming
		}
		p.attempt.resolve()
		if part <= supersededAt {
			s.adoptFound(supersededAt - part)
		}
		s.findSeam()
		if !found.Taken {
			return
		}
		if part >= 0 {
			p.gen++ // the record of the second search uses the current generation
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
		if s.keyFor > 0 || s.lateFor > 0 || again { // the platform may know the key of a message that a person deleted, and would then create no new one
			p.gen++
		}
	}
	if again && part > supersededAt {
		if part == questionAt {
			part = questionPlace
		}
		s.lookLater(create, part, gen, late)
	}
}

// lookLater plans the second search for the message of a create. The message is superseded, since another takes its place.
func (s *state) lookLater(c chat.Create, place, gen int, due time.Time) {
	c.KeyOnly = true
	m := message{role: roleSuperseded, place: place, gen: gen, shown: display{cursor: true}}
	m.attempt = attempt{resolution: byFind, create: &c, searchDue: due}
	s.superseded = append(s.superseded, m)
}

// onlyChecksLeft reports whether all that the ending still needs is a second search or a repeated edit.
func (s *state) onlyChecksLeft() bool {
	if slices.ContainsFunc(s.parts, func(m message) bool { return !m.foreignEdits.IsZero() }) && s.remaining(time.Now()).repeats {
		return true
	}
	for _, m := range s.superseded {
		if !m.exists() && m.attempt.open() {
			a := s.remaining(time.Now())
			return a.part <= supersededAt && (a.kind == doWait || a.kind == doFind)
		}
	}
	return false
}
