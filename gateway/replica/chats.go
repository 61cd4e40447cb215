package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// keepFor is how long a replica keeps a chat in which nothing happens. A message within this time needs no new
// owner. Afterwards, the next owner need not know the calls that this replica made: platforms count calls over a
// minute.
const keepFor = 2 * time.Minute

// Chats are the chats that this replica owns, as far as it knows. Each of them is a chat.Conversation without a
// thread.
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

// Idle removes and returns the chats that the process can give up. In such a chat, no conversation is active. In
// addition, nothing has happened there for keepFor, or another process must own the chat.
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
