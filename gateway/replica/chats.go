package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// keepFor is how long a replica owns a chat in which nothing happens. If a message arrives within keepFor, the chat
// needs no new owner. Platforms count calls over a minute. After keepFor, the next owner therefore need not know
// which calls this replica made in the chat.
const keepFor = 2 * time.Minute

// Chats is the set of chats that this replica owns, as far as the replica knows. Each chat is a chat.Conversation
// without a thread.
type Chats struct {
	mu     sync.Mutex
	active map[chat.Conversation]time.Time // time of the last event in each chat
}

// NewChats returns an empty set.
func NewChats() *Chats { return &Chats{active: make(map[chat.Conversation]time.Time)} }

// Of returns the chat of a conversation, which is the conversation without its thread.
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

// Idle removes and returns the chats that this replica can give up. The replica can give up a chat if the function busy
// returns false for the chat, and if nothing has happened there for keepFor or the function foreign returns true. The
// function busy reports whether a conversation of the chat is active here. The function foreign reports whether another
// replica must own the chat.
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

// Len returns the number of chats that this replica owns.
func (s *Chats) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active)
}
