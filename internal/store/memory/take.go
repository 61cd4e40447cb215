package memory

import (
	"context"
	"slices"

	"telex/internal/chat"
)

// Take implements gateway.Ownership.
func (s *Store) Take(_ context.Context, call int64, orphans int) (taken chat.Taken, err error) {
	defer s.lock()()
	me := s.alive(s.self)
	if me == nil {
		return taken, chat.ErrLost
	}
	s.inbox = slices.DeleteFunc(s.inbox, func(m *accepted) bool { return m.once && m.given.to == me.ID && m.given.call < call })
	if !me.Leaving {
		s.takeOrphans(me, orphans)
	}
	for _, t := range s.turns {
		if s.isMine(t.Conversation) && t.given.due(me.ID, call) {
			t.given = gift{me.ID, call}
			taken.Turns = append(taken.Turns, s.record(t))
		}
	}
	for _, m := range s.inbox {
		if m.turn == "" && s.isMine(m.Conversation) && m.given.due(me.ID, call) {
			m.given = gift{me.ID, call}
			taken.Messages = append(taken.Messages, m.Pending)
		}
	}
	for p, o := range s.chats {
		if o.moved = o.moved && (o.told == 0 || o.told == call); o.moved && o.owner == me.ID {
			o.told = call
			taken.Chats = append(taken.Chats, chat.Conversation{Endpoint: p.endpoint, Chat: p.chat})
		}
	}
	return taken, nil
}

func (s *Store) isMine(c chat.Conversation) bool {
	o := s.chats[s.home(c)]
	return o != nil && o.owner == s.self && !o.free
}

// takeOrphans makes a replica the owner of chats that have unfinished work but no live owner. The parameter most is the
// maximum number of these chats.
func (s *Store) takeOrphans(me *replica, most int) {
	take := func(c chat.Conversation) {
		p := s.home(c)
		if most > 0 && s.ownerOf(s.chats[p]) == nil && slices.Contains(me.Endpoints, p.endpoint) {
			s.own(p, me.ID)
			most--
		}
	}
	for _, t := range s.turns {
		take(t.Conversation)
	}
	for _, m := range s.inbox {
		take(m.Conversation)
	}
}

// Free implements gateway.Ownership.
func (s *Store) Free(_ context.Context, unfinished bool, chats ...chat.Conversation) error {
	defer s.lock()()
	if s.alive(s.self) == nil {
		return chat.ErrLost
	}
	for _, c := range chats {
		p := s.home(c)
		o := s.chats[p]
		if o == nil || o.owner != s.self {
			continue
		}
		if unfinished {
			o.free = true
		} else if !s.isUnfinished(p) {
			delete(s.chats, p)
		}
	}
	if unfinished {
		s.signal(chat.SignalWork)
	}
	return nil
}

// isUnfinished reports whether a chat has unfinished messages or turns.
func (s *Store) isUnfinished(p place) bool {
	return slices.ContainsFunc(s.turns, func(t *memoryTurn) bool { return s.home(t.Conversation) == p }) ||
		slices.ContainsFunc(s.inbox, func(m *accepted) bool { return s.home(m.Conversation) == p })
}

// runs reports whether any replica that has a lease runs the endpoint.
func (s *Store) runs(e chat.EndpointID) bool {
	for id := range s.replicas {
		if r := s.alive(id); r != nil && slices.Contains(r.Endpoints, e) {
			return true
		}
	}
	return false
}

// Forward implements gateway.Ownership.
func (s *Store) Forward(_ context.Context, c chat.Conversation, in chat.Inbound) (bool, error) {
	defer s.lock()()
	if s.self != 0 && s.alive(s.self) == nil {
		return false, chat.ErrLost
	}
	o := s.chats[s.home(c)]
	if o == nil || s.ownerOf(o) == nil && !s.runs(c.Endpoint) {
		return false, nil
	}
	s.receive(c, in, true)
	s.signalOwner(o)
	return true, nil
}
