package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

const (
	// knownIDs is how many message ids a Store remembers per conversation, and how many turns that have ended:
	// platforms repeat what was not acknowledged, which is recent.
	knownIDs = 256
	// keptMessages is how many messages of a conversation a Store keeps: more than any model's window takes,
	// and a bound for a process that runs for months.
	keptMessages = 1000
	// keptUsage is how many rows of usage a Store keeps, of all conversations: more than a day's.
	keptUsage = 10000
)

// Store keeps everything in memory.
type Store struct {
	mu       sync.Mutex
	known    map[chat.Conversation][]chat.MessageID // as they were accepted, under the ids of then
	sessions map[chat.Conversation]*session
	inbox    []*accepted // not done, in the order of acceptance
	turns    []*memoryTurn
	ended    []string // turns, the newest last
	moved    map[place]chat.ChatID
	resume   map[chat.EndpointID]string
	places   map[chat.EndpointID][]chat.Target // where turns began, the newest first
	blocks   map[chat.EndpointID][]chat.Block
	said     int64 // entries of all histories, ever
	usage    []used
	requests map[chat.Person]chat.PairingRequest
	admitted map[chat.Person]chat.Admission
	consents map[consent]bool
	facts    map[chat.Person][]chat.Fact
	told     map[chat.Person]int // facts, ever
}

type accepted struct {
	chat.Pending
	turn string // that has it
}

// place is a chat of an endpoint.
type place struct {
	endpoint chat.EndpointID
	chat     chat.ChatID
}

// New returns an empty Store.
func New() *Store {
	return &Store{
		known: make(map[chat.Conversation][]chat.MessageID), sessions: make(map[chat.Conversation]*session),
		moved: make(map[place]chat.ChatID), resume: make(map[chat.EndpointID]string), places: make(map[chat.EndpointID][]chat.Target),
		blocks: make(map[chat.EndpointID][]chat.Block), consents: make(map[consent]bool), facts: make(map[chat.Person][]chat.Fact),
		told: make(map[chat.Person]int), requests: make(map[chat.Person]chat.PairingRequest), admitted: make(map[chat.Person]chat.Admission),
	}
}

// lock locks the store and returns what unlocks it.
func (s *Store) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// Accept implements gateway.Inbox.
func (s *Store) Accept(_ context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	defer s.lock()()
	if m.Resume != "" {
		s.resume[c.Endpoint] = m.Resume
	}
	if slices.Contains(s.known[c], m.ID) {
		return false, nil
	}
	s.known[c] = last(append(s.known[c], m.ID), knownIDs)
	now := s.now(c)
	s.inbox = append(s.inbox, &accepted{Pending: chat.Pending{
		Conversation: now, Message: arrived(m, c.Chat, now.Chat), Accepted: time.Now(),
	}})
	return true, nil
}

// arrived is a message in the chat where it is answered, should that have a new id.
func arrived(m chat.Inbound, from, to chat.ChatID) chat.Inbound {
	if from != to && m.To.Chat == from {
		m.To.Chat, m.Reply = to, false // its id is another message's there
	}
	return m
}

// Resume implements gateway.Inbox.
func (s *Store) Resume(_ context.Context, e chat.EndpointID) (chat.Resume, error) {
	defer s.lock()()
	return chat.Resume{Cursor: s.resume[e], Places: slices.Clone(s.places[e])}, nil
}

// Drop implements gateway.Inbox.
func (s *Store) Drop(_ context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	defer s.lock()()
	for _, id := range ids {
		if m := s.find(c, id, nil); m != nil && m.turn == "" {
			s.inbox = slices.DeleteFunc(s.inbox, func(o *accepted) bool { return o == m })
		}
	}
	return nil
}

// Pending implements gateway.Inbox.
func (s *Store) Pending(context.Context) ([]chat.Pending, error) {
	defer s.lock()()
	var out []chat.Pending
	for _, m := range s.inbox {
		if m.turn == "" {
			out = append(out, m.Pending)
		}
	}
	return out, nil
}

// now follows a conversation to the present id of its chat.
func (s *Store) now(c chat.Conversation) chat.Conversation {
	if to, ok := s.moved[place{c.Endpoint, c.Chat}]; ok {
		c.Chat = to
	}
	return c
}

// find returns the unfinished message that an id means, which is none of those taken: one that waits before one
// that a turn has. It means two only in a chat that moved.
func (s *Store) find(c chat.Conversation, id chat.MessageID, taken []*accepted) (found *accepted) {
	c = s.now(c)
	for _, m := range s.inbox {
		if m.Conversation != c || m.Message.ID != id || slices.Contains(taken, m) {
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

// last drops all but the n newest of a list.
func last[T any](list []T, n int) []T {
	return slices.Delete(list, 0, max(0, len(list)-n))
}
