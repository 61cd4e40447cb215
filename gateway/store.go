package gateway

import (
	"context"
	"slices"
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// Inbox keeps what was accepted.
type Inbox interface {
	// Accept stores a message and its resume cursor; false says that it is known already.
	Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error)
	// Resume returns the cursor of the newest message that the endpoint accepted.
	Resume(ctx context.Context, e chat.EndpointID) (string, error)
}

// Sessions keeps the history of conversations.
type Sessions interface {
	History(ctx context.Context, c chat.Conversation) ([]agent.Message, error)
	Append(ctx context.Context, c chat.Conversation, m ...agent.Message) error
	Forget(ctx context.Context, c chat.Conversation) error
}

// Store is all that the gateway wants kept.
type Store interface {
	Inbox
	Sessions
}

// knownIDs is how many message ids a Memory remembers per conversation: platforms repeat
// what was not acknowledged, which is recent.
const knownIDs = 256

// keptMessages is how many messages of a conversation a Memory keeps: more than any model's
// window takes, and a bound for a process that runs for months.
const keptMessages = 1000

// Memory is a Store that lives as long as the process.
type Memory struct {
	mu       sync.Mutex
	sessions map[chat.Conversation]*session
	resume   map[chat.EndpointID]string
}

type session struct {
	known   []chat.MessageID
	history []agent.Message
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{sessions: make(map[chat.Conversation]*session), resume: make(map[chat.EndpointID]string)}
}

// Accept implements Inbox.
func (s *Memory) Accept(_ context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume[c.Endpoint] = m.Resume
	se := s.session(c)
	if slices.Contains(se.known, m.ID) {
		return false, nil
	}
	if len(se.known) >= knownIDs {
		se.known = slices.Delete(se.known, 0, len(se.known)-knownIDs+1)
	}
	se.known = append(se.known, m.ID)
	return true, nil
}

// Resume implements Inbox.
func (s *Memory) Resume(_ context.Context, e chat.EndpointID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume[e], nil
}

// History implements Sessions. The result is the caller's.
func (s *Memory) History(_ context.Context, c chat.Conversation) ([]agent.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.session(c).history), nil
}

// Append implements Sessions.
func (s *Memory) Append(_ context.Context, c chat.Conversation, m ...agent.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	se := s.session(c)
	se.history = append(se.history, m...)
	if extra := len(se.history) - keptMessages; extra > 0 {
		se.history = slices.Delete(se.history, 0, extra)
	}
	return nil
}

// Forget implements Sessions. The ids of messages stay known, so that none is answered twice.
func (s *Memory) Forget(_ context.Context, c chat.Conversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session(c).history = nil
	return nil
}

func (s *Memory) session(c chat.Conversation) *session {
	se := s.sessions[c]
	if se == nil {
		se = &session{}
		s.sessions[c] = se
	}
	return se
}
