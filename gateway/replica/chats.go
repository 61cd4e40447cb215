package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// keepFor is how long a replica keeps a chat in which nothing happens: the next message needs no new owner, and the calls
// that platforms count over a minute are forgotten.
const keepFor = 2 * time.Minute

// Chats are the chats that this replica owns, as far as it knows. Their conversations have no thread.
type Chats struct {
	mu     sync.Mutex
	active map[chat.Conversation]time.Time // when something happened there last
}

// NewChats returns an empty set.
func NewChats() *Chats { return &Chats{active: make(map[chat.Conversation]time.Time)} }

// Of returns the chat of a conversation.
func Of(c chat.Conversation) chat.Conversation {
	c.Thread = ""
	return c
}

// Touch records that something happens in the chat of a conversation.
func (s *Chats) Touch(c chat.Conversation, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[Of(c)] = now
}

// Idle removes and returns the chats that the process can give up: those in which nothing is going on, and nothing
// happened for a while or that another process must have.
func (s *Chats) Idle(now time.Time, foreign, busy func(chat.Conversation) bool) (idle []chat.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, last := range s.active {
		switch {
		case busy(c):
			s.active[c] = now
		case foreign(c) || now.Sub(last) >= keepFor:
			delete(s.active, c)
			idle = append(idle, c)
		}
	}
	return idle
}

// Len returns how many chats there are.
func (s *Chats) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active)
}
