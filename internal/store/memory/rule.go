package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"telex/internal/chat"
)

// SaveBlock implements gateway.Blocks. If a block is already stored, SaveBlock can only prolong it.
func (s *Store) SaveBlock(_ context.Context, e chat.EndpointID, b chat.Block) error {
	defer s.lock()()
	s.blocks[e] = longest(append(s.inForce(e), b))
	s.signal(chat.SignalBlocks)
	return nil
}

// longest removes each rate-limit block that forbids the same calls as another block that ends later.
func longest(blocks []chat.Block) []chat.Block {
	slices.SortStableFunc(blocks, func(a, b chat.Block) int { return b.Until.Compare(a.Until) })
	same := make(map[chat.Block]bool)
	return slices.DeleteFunc(blocks, func(b chat.Block) bool {
		b.Until = time.Time{}
		shorter := same[b]
		same[b] = true
		return shorter
	})
}

// Blocks implements gateway.Blocks.
func (s *Store) Blocks(_ context.Context, e chat.EndpointID) ([]chat.Block, error) {
	defer s.lock()()
	return s.inForce(e), nil
}

// inForce returns a copy of those rate-limit blocks of an endpoint that have not ended.
func (s *Store) inForce(e chat.EndpointID) []chat.Block {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(s.blocks[e]), func(b chat.Block) bool { return !b.Until.After(now) })
}

// Move implements gateway.Chats. After Move, a call with the old id applies to the new id.
func (s *Store) Move(_ context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return err
	}
	if now, ok := s.moved[place{e, to}]; ok && now != from {
		to = now
	}
	if from == to || s.moved[place{e, from}] == to {
		return nil
	}
	delete(s.moved, place{e, to}) // needed if the id in to is one of the chat's earlier ids
	s.moved[place{e, from}] = to
	for old, now := range s.moved {
		if old.endpoint == e && now == from {
			s.moved[old] = to
		}
	}
	s.carry(e, from, to)
	s.inherit(place{e, from}, place{e, to})
	s.signal(chat.SignalAccess | chat.SignalWork)
	return nil
}

// Moves implements access.Moves.
func (s *Store) Moves(context.Context) ([]chat.Move, error) {
	defer s.lock()()
	var out []chat.Move
	for old, now := range s.moved {
		out = append(out, chat.Move{Endpoint: old.endpoint, From: old.chat, To: now})
	}
	slices.SortFunc(out, func(a, b chat.Move) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.From, b.From))
	})
	return out, nil
}

// Knows implements gateway.Chats.
func (s *Store) Knows(_ context.Context, e chat.EndpointID, in chat.ChatID) (bool, error) {
	defer s.lock()()
	if now, ok := s.moved[place{e, in}]; ok {
		in = now
	}
	is := func(c chat.Conversation) bool { return c.Endpoint == e && c.Chat == in }
	for c := range s.known {
		if is(c) {
			return true, nil
		}
	}
	for c := range s.sessions {
		if is(c) {
			return true, nil
		}
	}
	return false, nil
}

// carry moves the data of a chat to the chat's new id.
func (s *Store) carry(e chat.EndpointID, from, to chat.ChatID) {
	moves := func(c *chat.Conversation) bool {
		here := c.Endpoint == e && c.Chat == from
		if here {
			c.Chat = to
		}
		return here
	}
	for _, m := range s.inbox {
		if moves(&m.Conversation) {
			m.Message = arrived(m.Message, from, to)
		}
	}
	for _, t := range s.turns {
		if moves(&t.Conversation) && t.To.Chat == from {
			t.To.Chat, t.ReplyTo = to, ""
		}
		if t.Conversation.Endpoint == e && t.Conversation.Chat == to {
			t.stale = true // a summary of one of the chats does not cover the other chat
		}
	}
	for i := range s.blocks[e] {
		if s.blocks[e][i].Chat == from {
			s.blocks[e][i].Chat = to
		}
	}
	s.blocks[e] = longest(s.blocks[e])
	for i := range s.usage {
		moves(&s.usage[i].conversation)
	}
	for k := range s.consents {
		there := k
		if moves(&there.conversation) {
			delete(s.consents, k)
			s.consents[there] = true
		}
	}
	for c, se := range s.sessions {
		there := c
		if !moves(&there) {
			continue
		}
		delete(s.sessions, c)
		if into := s.sessions[there]; into != nil {
			s.join(into, se)
		} else {
			s.sessions[there] = se
		}
	}
}
