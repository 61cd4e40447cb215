package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"telex/internal/chat"
)

type memoryTurn struct {
	chat.Turn      // Turn.Void: the session was deleted while the turn ran
	stale     bool // the history changed while the turn ran, so the turn's summary would bring back deleted content
	given     gift
}

// Begin implements gateway.Turns.
func (s *Store) Begin(_ context.Context, t chat.Turn) error {
	defer s.lock()()
	return s.begin(t)
}

// begin is like Begin, but the caller must hold the mutex mu.
func (s *Store) begin(t chat.Turn) error {
	if err := s.fence(t.Conversation); err != nil {
		return err
	}
	if slices.Contains(s.ended, t.ID) {
		return chat.ErrFenced
	}
	if old := s.turn(t.ID); old != nil {
		return s.rerun(old)
	}
	var taken []*accepted
	for _, in := range t.Messages {
		m := s.find(t.Conversation, in.ID, taken)
		if m == nil {
			return fmt.Errorf("message %q: %w", in.ID, chat.ErrUnknown)
		}
		taken = append(taken, m)
	}
	t.Began = time.Now()
	for _, m := range taken {
		m.turn = t.ID
		m.Begun++
		if m.Accepted.Before(t.Began) {
			t.Began = m.Accepted
		}
	}
	if n := len(t.Messages); t.User == "" && n > 0 {
		t.User = t.Messages[n-1].Sender.ID
	}
	t.State, t.Runs, t.Void, t.Parts, t.Steps, t.Messages = chat.TurnRunning, 1, false, nil, nil, nil
	if len(t.Ending) > 0 {
		t.State = chat.TurnDecided
	}
	if now := s.now(t.Conversation); now != t.Conversation {
		if t.To.Chat == t.Conversation.Chat {
			t.To.Chat, t.ReplyTo = now.Chat, "" // in the new chat, the id in ReplyTo may belong to another message, so delete it
		}
		t.Conversation = now
	}
	e := t.Conversation.Endpoint
	places := slices.DeleteFunc(s.places[e], func(to chat.Target) bool { return to == t.To })
	s.places[e] = slices.Insert(places, 0, t.To)[:min(len(places)+1, knownIDs)]
	s.turns = append(s.turns, &memoryTurn{Turn: t, given: gift{to: s.self}})
	return nil
}

// rerun counts one more run of a turn.
func (s *Store) rerun(t *memoryTurn) error {
	if t.State != chat.TurnRunning || t.Void {
		return chat.ErrFenced
	}
	t.Runs++
	for _, m := range s.inbox {
		if m.turn == t.ID {
			m.Begun++
		}
	}
	return nil
}

// Decide implements gateway.Endings.
func (s *Store) Decide(_ context.Context, turn string, d chat.Decision) error {
	defer s.lock()()
	t, err := s.current(turn)
	if err != nil || t != nil && t.State == chat.TurnDecided {
		return err
	}
	if t == nil || t.Void {
		return chat.ErrFenced
	}
	t.State, t.Ending, t.Steps = chat.TurnDecided, d.Ending, nil
	s.grow(t, d.Growth)
	return nil
}

// Join implements gateway.Turns.
func (s *Store) Join(_ context.Context, turn string, ids ...chat.MessageID) error {
	defer s.lock()()
	t, err := s.current(turn)
	switch {
	case err != nil:
		return err
	case t == nil || t.State != chat.TurnRunning || t.Void:
		return chat.ErrFenced
	}
	for _, id := range ids {
		if m := s.find(t.Conversation, id, nil); m != nil && m.turn == "" {
			m.turn = turn
			m.Begun++
		}
	}
	return nil
}

// Note implements history.Steps.
func (s *Store) Note(_ context.Context, turn string, steps ...chat.Step) error {
	defer s.lock()()
	t, err := s.current(turn)
	if err != nil {
		return err
	}
	if t == nil || t.State != chat.TurnRunning || t.Void && !chat.OnlyUsage(steps) {
		return chat.ErrFenced
	}
	for _, step := range steps {
		step.Body = slices.Clone(step.Body)
		t.Steps = append(t.Steps, step)
	}
	return nil
}

// Cut implements gateway.Endings.
func (s *Store) Cut(_ context.Context, turn string, ending []byte) error {
	defer s.lock()()
	t, err := s.current(turn)
	if t != nil && t.State == chat.TurnDecided {
		t.Ending = ending
	}
	return err
}

// End implements gateway.Endings.
func (s *Store) End(_ context.Context, turn string, g chat.Growth) error {
	defer s.lock()()
	t, err := s.current(turn)
	if err != nil || t == nil {
		return err
	}
	if t.State == chat.TurnRunning {
		g.Usage = slices.Concat(g.Usage, g.Undecided)
	}
	if t.Void {
		g = chat.Growth{Usage: g.Usage}
	}
	s.grow(t, g)
	s.end(t)
	s.inbox = slices.DeleteFunc(s.inbox, func(m *accepted) bool { return m.turn == turn })
	return nil
}

// Release implements gateway.Turns.
func (s *Store) Release(_ context.Context, turn string, used ...chat.Usage) error {
	defer s.lock()()
	t, err := s.current(turn)
	if err != nil || t == nil {
		return err
	}
	if t.State == chat.TurnDecided {
		return chat.ErrFenced
	}
	s.grow(t, chat.Growth{Usage: used})
	s.end(t)
	for _, m := range s.inbox {
		if m.turn == turn {
			m.turn, m.given = "", gift{to: s.self} // the replica that releases the turn already has its messages
			m.Begun--
		}
	}
	return nil
}

// Unfinished implements gateway.Turns.
func (s *Store) Unfinished(context.Context) ([]chat.Turn, error) {
	defer s.lock()()
	var out []chat.Turn
	for _, t := range s.turns {
		out = append(out, s.record(t))
	}
	return out, nil
}

// record returns the chat.Turn of an unfinished turn.
func (s *Store) record(t *memoryTurn) chat.Turn {
	c := t.Turn
	c.Parts, c.Steps = slices.Clone(c.Parts), slices.Clone(c.Steps)
	for _, m := range s.inbox {
		if m.turn == t.ID {
			c.Messages = append(c.Messages, m.Message)
		}
	}
	c.Void = c.Void || len(c.Messages) == 0 // a turn without messages is void: other turns have taken all its messages
	return c
}

// Record implements gateway.Deliveries.
func (s *Store) Record(_ context.Context, turn string, parts ...chat.Part) error {
	defer s.lock()()
	t, err := s.current(turn)
	switch {
	case err != nil:
		return err
	case t == nil && slices.ContainsFunc(parts, func(p chat.Part) bool { return p.State == chat.PartIntended }):
		return chat.ErrFenced
	case t == nil: // the turn has ended, so no process needs the parts
		return nil
	}
	for _, p := range parts {
		t.record(p)
	}
	return nil
}

// record adds a part to the turn, or replaces the part with the same index.
func (t *memoryTurn) record(p chat.Part) {
	p.Spans, p.Steps = slices.Clone(p.Spans), len(t.Steps)
	i, found := slices.BinarySearchFunc(t.Parts, p.Index, func(q chat.Part, i int) int { return cmp.Compare(q.Index, i) })
	if found {
		if t.Parts[i].Source == p.Source {
			p.Steps = t.Parts[i].Steps
		}
		t.Parts[i] = p
	} else {
		t.Parts = slices.Insert(t.Parts, i, p)
	}
}

// current returns the unfinished turn with the given id, if this process may change it. current returns nil for a turn
// that has ended, and an error for a turn that the store does not know.
func (s *Store) current(id string) (*memoryTurn, error) {
	t := s.turn(id)
	switch {
	case t != nil:
		if err := s.fence(t.Conversation); err != nil {
			return nil, err
		}
	case !slices.Contains(s.ended, id):
		return nil, fmt.Errorf("turn %s: %w", id, chat.ErrUnknown)
	}
	return t, nil
}

func (s *Store) turn(id string) *memoryTurn {
	i := slices.IndexFunc(s.turns, func(t *memoryTurn) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return s.turns[i]
}

// end removes a turn from the store, but keeps its id.
func (s *Store) end(t *memoryTurn) {
	s.turns = slices.DeleteFunc(s.turns, func(o *memoryTurn) bool { return o == t })
	s.ended = last(append(s.ended, t.ID), knownIDs)
	e := t.Conversation.Endpoint
	s.sent[e] = last(append(s.sent[e], refs(t)...), knownIDs)
}

// refs returns references to those messages of a turn whose ids on the platform are known.
func refs(t *memoryTurn) (list []chat.MessageRef) {
	for _, p := range t.Parts {
		if p.Ref.ID != "" {
			list = append(list, p.Ref)
		}
	}
	return list
}
