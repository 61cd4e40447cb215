package preview

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
)

// A create call of unknown outcome may take effect late. On some platforms, a create call may make its message even
// after the call failed (Profile.LateFor). If several processes share a store, the process that made the create call
// may still wait for the response. If a create call may take effect late, the bot searches twice for its message: soon
// after the call, and again when the call can't take effect any more. If the second search finds the message and
// another message has taken its place, the found message is deleted.

// firstSearchDelay is the time between the failure of a create call and the first search for its message.
const firstSearchDelay = 1500 * time.Millisecond

// questionPlace is the value of message.place for superseded questions.
const questionPlace = maxParts - 1

// find returns the call that searches for the message of a create call, or the wait before that search. Searches have
// the priority of finals, since the reply can't continue without the result.
func (s *state) find(part int, now time.Time) action {
	d := desired{part: part, class: chat.ClassFinal}
	if due := s.at(part).attempt.searchDue; now.Before(due) {
		return action{kind: doWait, until: due, ignoreText: true, desired: d}
	}
	return action{kind: doFind, desired: d}
}

// createForFind describes the create call of action a, so that Finder.Find can search for its message later.
// createForFind returns nil if action a is not a create call, or if Find does not need the description.
func (r *Reply) createForFind(a action) *chat.Create {
	if !a.creates() || r.lateFor == 0 || !r.can(chat.OpFind) {
		return nil
	}
	c := chat.Create{Key: r.partKey(a.part), After: r.adapter().Finder.Newest(r.to), File: a.kind == doFile, Message: r.outgoing(a)}
	// The platform does not show these fields, so Find does not need them.
	c.Message.Plain, c.Message.Source, c.Message.Note = "", "", ""
	return &c
}

// search makes the call that searches the platform for the message of a create call.
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

// uncertainCreate returns what is known about the last create call for a part.
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

// lateUntil is called if a search has not found the message of a create call. lateUntil returns the time until which
// the create call may still take effect. lateUntil returns false if the call can't take effect any more, or if no
// second search can be made.
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

// settleFind records the result of a search for the message of a create call. If there were several create calls, it is
// unknown whose content the found message shows.
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
			p.gen++ // the record of the second search needs the current generation, so the message gets the next generation
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
		if s.keyFor > 0 || s.lateFor > 0 || again {
			// If a person deleted the message, the platform may remember the key of the message and would create no new message
			// for this key.
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

// lookLater plans the second search for the message of a create call. Until the second search, the message counts as
// superseded, since another message takes its place.
func (s *state) lookLater(c chat.Create, place, gen int, due time.Time) {
	c.KeyOnly = true
	m := message{role: roleSuperseded, place: place, gen: gen, shown: display{cursor: true}}
	m.attempt = attempt{resolution: byFind, create: &c, searchDue: due}
	s.superseded = append(s.superseded, m)
}

// onlyChecksLeft reports whether only a second search or a repeated edit is left to do for the ending.
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
