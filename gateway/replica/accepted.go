package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// rememberFor is the minimum time for which a replica remembers that it accepted a message. rememberFor is long
// enough, because the owner of the chat takes the message within a second.
const rememberFor = 10 * time.Second

// MessageKey identifies one message.
type MessageKey struct {
	conversation chat.Conversation
	id           chat.MessageID
	kind         chat.InboundKind
}

// Key returns the key of a message.
func Key(c chat.Conversation, in chat.Inbound) MessageKey { return MessageKey{c, in.ID, in.Kind} }

// Accepted remembers for a while which messages this replica accepted from a platform. If another replica answers an
// accepted message, nobody calls Remove, so Accepted forgets old messages by itself.
type Accepted struct {
	mu           sync.Mutex
	newer, older map[MessageKey]bool
	turned       time.Time // when the set newer was created
}

// NewAccepted returns an empty set.
func NewAccepted() *Accepted {
	return &Accepted{newer: make(map[MessageKey]bool), older: make(map[MessageKey]bool)}
}

// Add adds a message to the set.
func (a *Accepted) Add(k MessageKey, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.turned) >= rememberFor {
		a.newer, a.older, a.turned = make(map[MessageKey]bool), a.newer, now
	}
	a.newer[k] = true
}

// Remove removes a message, and reports whether the set contained it.
func (a *Accepted) Remove(k MessageKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.newer[k] || a.older[k]
	delete(a.newer, k)
	delete(a.older, k)
	return was
}
