package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

const (
	// knownIDs is the maximum number of message ids that the store keeps for each conversation, and of ids of ended turns.
	// The store does not need older ids, because platforms deliver only recent messages again.
	knownIDs = 256
	// keptMessages is the maximum number of history entries that the store keeps for each conversation. No model's context
	// window is large enough for more entries. Without this limit, a process that runs for months would use more and more
	// memory.
	keptMessages = 1000
	// keptUsage is the maximum number of usage rows that the store keeps in total. In one day, telex adds fewer usage rows
	// than this.
	keptUsage = 10000
)

// Store keeps all data in memory. The method Another returns another Store with the same data, which plays the store of
// another process.
type Store struct {
	*state

	self chat.ReplicaID // id that this process has as a replica; 0: not registered; guarded by mu
}

// state is the data that several Stores share.
type state struct {
	mu       sync.Mutex
	known    map[chat.Conversation][]chat.MessageID // the key has the chat id at the time of acceptance
	sessions map[chat.Conversation]*session
	inbox    []*accepted // unfinished messages, in the order in which they were accepted
	turns    []*memoryTurn
	ended    []string // ids of turns that have ended, newest last
	moved    map[place]chat.ChatID
	resume   map[chat.EndpointID]string
	places   map[chat.EndpointID][]chat.Target     // places where turns began, newest first
	sent     map[chat.EndpointID][]chat.MessageRef // the bot's messages in turns that have ended, newest last
	blocks   map[chat.EndpointID][]chat.Block
	said     int64 // number of history entries that have ever been stored
	usage    []used
	requests map[chat.Person]chat.PairingRequest
	admitted map[chat.Person]chat.Admission
	consents map[consent]bool
	facts    map[chat.Person][]chat.Fact
	told     map[chat.Person]int // for each person, the number of facts that have ever been stored

	responses []response

	members
}

type accepted struct {
	chat.Pending
	turn  string // id of the turn that answers the message
	once  bool   // another replica has forwarded the message, which is deleted when the chat's owner has received it
	given gift
}

// place is a chat of an endpoint.
type place struct {
	endpoint chat.EndpointID
	chat     chat.ChatID
}

// New returns an empty Store.
func New() *Store {
	return &Store{state: &state{
		known: make(map[chat.Conversation][]chat.MessageID), sessions: make(map[chat.Conversation]*session),
		moved: make(map[place]chat.ChatID), resume: make(map[chat.EndpointID]string), places: make(map[chat.EndpointID][]chat.Target), sent: make(map[chat.EndpointID][]chat.MessageRef),
		blocks: make(map[chat.EndpointID][]chat.Block), consents: make(map[consent]bool), facts: make(map[chat.Person][]chat.Fact),
		told: make(map[chat.Person]int), requests: make(map[chat.Person]chat.PairingRequest), admitted: make(map[chat.Person]chat.Admission),
		members: newMembers(),
	}}
}

// Another returns another Store that shares the data of s. The returned Store plays the store of another process.
func (s *Store) Another() *Store { return &Store{state: s.state} }

// lock locks the store and returns the function that unlocks it.
func (s *Store) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// Accept implements gateway.Inbox.
func (s *Store) Accept(_ context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	defer s.lock()()
	if err := s.mayAccept(c.Endpoint); err != nil {
		return false, err
	}
	if m.Resume != "" {
		s.resume[c.Endpoint] = m.Resume
	}
	if slices.Contains(s.known[c], m.ID) {
		return false, nil
	}
	s.known[c] = last(append(s.known[c], m.ID), knownIDs)
	s.receive(c, m, false)
	s.signalOwner(s.assign(s.home(c)))
	return true, nil
}

// receive adds a message to the unfinished messages.
func (s *Store) receive(c chat.Conversation, m chat.Inbound, once bool) {
	now := s.now(c)
	s.inbox = append(s.inbox, &accepted{once: once, Pending: chat.Pending{
		Conversation: now, Message: arrived(m, c.Chat, now.Chat), Accepted: time.Now(),
	}})
}

// arrived returns a received message as if it had been sent to the chat's new id.
func arrived(m chat.Inbound, from, to chat.ChatID) chat.Inbound {
	if from != to && m.To.Chat == from {
		m.To.Chat, m.Reply = to, false // in the new chat, this id may belong to another message, so don't refer to it
	}
	return m
}

// Resume implements gateway.Inbox.
func (s *Store) Resume(_ context.Context, e chat.EndpointID) (chat.Resume, error) {
	defer s.lock()()
	sent := slices.Clone(s.sent[e])
	for _, t := range s.turns {
		if t.Conversation.Endpoint == e {
			sent = append(sent, refs(t)...)
		}
	}
	slices.Reverse(sent)
	from := chat.Resume{Cursor: s.resume[e], Places: slices.Clone(s.places[e]), Sent: sent}
	for c, ids := range s.known {
		for _, id := range ids {
			if c.Endpoint == e {
				from.Received = append(from.Received, chat.MessageRef{Target: chat.Target{Chat: c.Chat, Thread: c.Thread}, ID: id})
			}
		}
	}
	return from, nil
}

// Drop implements gateway.Inbox.
func (s *Store) Drop(_ context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return err
	}
	for _, id := range ids {
		if m := s.find(c, id, nil); m != nil && m.turn == "" {
			s.inbox = slices.DeleteFunc(s.inbox, func(o *accepted) bool { return o == m })
		}
	}
	return nil
}

// Revise implements gateway.Revisions.
func (s *Store) Revise(_ context.Context, c chat.Conversation, in chat.Inbound) error {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return err
	}
	m := s.find(c, in.ID, nil)
	if m == nil {
		return chat.ErrUnknown
	}
	m.Message = arrived(in, c.Chat, m.Conversation.Chat)
	t := s.turn(m.turn)
	if t == nil {
		return nil
	}
	t.Steps = slices.DeleteFunc(t.Steps, func(step chat.Step) bool { return step.Kind != chat.StepUsage })
	for i := range t.Parts {
		t.Parts[i].Source, t.Parts[i].Steps = "", 0
	}
	return nil
}

// Pending implements gateway.Inbox.
func (s *Store) Pending(context.Context) ([]chat.Pending, error) {
	defer s.lock()()
	var out []chat.Pending
	for _, m := range s.inbox {
		if m.turn == "" && !m.once {
			out = append(out, m.Pending)
		}
	}
	return out, nil
}

// now returns a conversation with the newest id of its chat.
func (s *Store) now(c chat.Conversation) chat.Conversation {
	if to, ok := s.moved[place{c.Endpoint, c.Chat}]; ok {
		c.Chat = to
	}
	return c
}

// find returns an unfinished message that has the given id and is not in the list taken. If two messages have the given
// id, find prefers a message that belongs to no turn. Two messages can have the same id only if their chats were merged
// by a move.
func (s *Store) find(c chat.Conversation, id chat.MessageID, taken []*accepted) (found *accepted) {
	c = s.now(c)
	for _, m := range s.inbox {
		if m.Conversation != c || m.Message.ID != id || m.once || slices.Contains(taken, m) {
			continue
		}
		if m.turn == "" {
			return m
		}
		if found == nil {
			found = m
		}
	}
	return found
}

// last returns the n newest elements of a list.
func last[T any](list []T, n int) []T {
	return slices.Delete(list, 0, max(0, len(list)-n))
}
