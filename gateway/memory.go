package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// errForgotten is a turn whose session ended before it did.
var errForgotten = errors.New("the turn's session was forgotten")

// knownIDs is how many message ids a Memory remembers per conversation: platforms repeat
// what was not acknowledged, which is recent.
const knownIDs = 256

// keptMessages is how many messages of a conversation a Memory keeps: more than any model's
// window takes, and a bound for a process that runs for months.
const keptMessages = 1000

// Memory is a Store that lives as long as the process, or as long as a test wants.
type Memory struct {
	mu       sync.Mutex
	sessions map[chat.Conversation]*session
	inbox    []*chat.Pending // not done, in the order of acceptance
	turns    []*memoryTurn   // not done, in the order in which they were begun
	resume   map[chat.EndpointID]string
	blocks   map[chat.EndpointID][]chat.Block
	moves    []move
}

// move says that a chat has a new id: in every call the old one means the new.
type move struct {
	endpoint chat.EndpointID
	from, to chat.ChatID
}

// now is the conversation that c has become.
func (s *Memory) now(c chat.Conversation) chat.Conversation {
	for _, m := range s.moves {
		if c.Endpoint == m.endpoint && c.Chat == m.from {
			c.Chat = m.to
		}
	}
	return c
}

type session struct {
	known   []chat.MessageID
	history [][]byte
	epoch   int
}

type memoryTurn struct {
	chat.Turn
	epoch int
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{
		sessions: make(map[chat.Conversation]*session), resume: make(map[chat.EndpointID]string),
		blocks: make(map[chat.EndpointID][]chat.Block),
	}
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
	s.inbox = append(s.inbox, &chat.Pending{Conversation: s.now(c), Message: m, Accepted: time.Now()})
	return true, nil
}

// Resume implements Inbox.
func (s *Memory) Resume(_ context.Context, e chat.EndpointID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume[e], nil
}

// Drop implements Inbox.
func (s *Memory) Drop(_ context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.now(c)
	s.inbox = slices.DeleteFunc(s.inbox, func(p *chat.Pending) bool {
		return p.Conversation == c && slices.Contains(ids, p.Message.ID)
	})
	return nil
}

// Pending implements Inbox.
func (s *Memory) Pending(context.Context) ([]chat.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []chat.Pending
	for _, p := range s.inbox {
		taken := slices.ContainsFunc(s.turns, func(t *memoryTurn) bool { return t.answers(p) })
		if !taken {
			out = append(out, *p)
		}
	}
	return out, nil
}

func (t *memoryTurn) answers(p *chat.Pending) bool {
	return t.Conversation == p.Conversation &&
		slices.ContainsFunc(t.Messages, func(m chat.Inbound) bool { return m.ID == p.Message.ID })
}

// Begin implements Turns.
func (s *Memory) Begin(_ context.Context, t chat.Turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Began, t.Conversation = time.Now(), s.now(t.Conversation)
	for _, p := range s.inbox {
		if (&memoryTurn{Turn: t}).answers(p) {
			p.Begun++
			if p.Accepted.Before(t.Began) {
				t.Began = p.Accepted
			}
		}
	}
	if old := s.turn(t.ID); old != nil {
		old.Runs++
		return nil
	}
	t.State, t.Runs = chat.TurnRunning, 1
	if len(t.Ending) > 0 {
		t.State = chat.TurnDecided
	}
	s.turns = append(s.turns, &memoryTurn{Turn: t, epoch: s.session(t.Conversation).epoch})
	return nil
}

// Decide implements Turns.
func (s *Memory) Decide(_ context.Context, turn string, d chat.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn(turn)
	if t == nil || t.epoch != s.session(t.Conversation).epoch {
		return errForgotten
	}
	if t.State == chat.TurnDecided {
		return nil
	}
	t.State, t.Ending = chat.TurnDecided, d.Ending
	s.grow(t, d.History)
	return nil
}

// End implements Turns.
func (s *Memory) End(_ context.Context, turn string, history ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn(turn)
	if t == nil {
		return nil
	}
	if t.epoch == s.session(t.Conversation).epoch {
		s.grow(t, history)
	}
	s.turns = slices.DeleteFunc(s.turns, func(o *memoryTurn) bool { return o == t })
	s.inbox = slices.DeleteFunc(s.inbox, t.answers)
	return nil
}

// Release implements Turns.
func (s *Memory) Release(_ context.Context, turn string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn(turn)
	if t == nil {
		return nil
	}
	s.turns = slices.DeleteFunc(s.turns, func(o *memoryTurn) bool { return o == t })
	for _, p := range s.inbox {
		if t.answers(p) {
			p.Begun--
		}
	}
	return nil
}

// Unfinished implements Turns.
func (s *Memory) Unfinished(context.Context) ([]chat.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []chat.Turn
	for _, t := range s.turns {
		c := t.Turn
		c.Parts, c.Messages = slices.Clone(c.Parts), slices.Clone(c.Messages)
		c.Void = t.epoch != s.session(t.Conversation).epoch
		out = append(out, c)
	}
	return out, nil
}

// Record implements Deliveries.
func (s *Memory) Record(_ context.Context, turn string, p chat.Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn(turn)
	if t == nil {
		return errForgotten
	}
	i := slices.IndexFunc(t.Parts, func(q chat.Part) bool { return q.Index == p.Index })
	if i < 0 {
		t.Parts = append(t.Parts, p)
	} else {
		t.Parts[i] = p
	}
	return nil
}

// History implements Sessions. The result is the caller's.
func (s *Memory) History(_ context.Context, c chat.Conversation) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.session(s.now(c)).history), nil
}

// Forget implements Sessions. The ids of messages stay known, so that none is answered twice.
func (s *Memory) Forget(_ context.Context, c chat.Conversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	se := s.session(s.now(c))
	se.history = nil
	se.epoch++
	return nil
}

// SaveBlock implements Rules.
func (s *Memory) SaveBlock(_ context.Context, e chat.EndpointID, b chat.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.blocks[e] = slices.DeleteFunc(s.blocks[e], func(o chat.Block) bool { return !o.Until.After(now) })
	s.blocks[e] = append(s.blocks[e], b)
	return nil
}

// Blocks implements Rules.
func (s *Memory) Blocks(_ context.Context, e chat.EndpointID) ([]chat.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.blocks[e]), nil
}

// Move implements Rules.
func (s *Memory) Move(_ context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves = append(s.moves, move{e, from, to})
	moved := func(c chat.Conversation) chat.Conversation {
		if c.Endpoint == e && c.Chat == from {
			c.Chat = to
		}
		return c
	}
	for c, se := range s.sessions {
		if n := moved(c); n != c {
			there := s.session(n)
			there.known = append(there.known, se.known...)
			there.history = append(se.history, there.history...)
			s.sessions[c] = &session{known: se.known} // what the old chat says again is not new
		}
	}
	for _, p := range s.inbox {
		if n := moved(p.Conversation); n != p.Conversation {
			p.Conversation, p.Message.To.Chat = n, to
		}
	}
	for _, t := range s.turns {
		if n := moved(t.Conversation); n != t.Conversation {
			t.Conversation, t.To.Chat = n, to
		}
	}
	return nil
}

func (s *Memory) grow(t *memoryTurn, history [][]byte) {
	se := s.session(t.Conversation)
	se.history = append(se.history, history...)
	if extra := len(se.history) - keptMessages; extra > 0 {
		se.history = slices.Delete(se.history, 0, extra)
	}
}

func (s *Memory) turn(id string) *memoryTurn {
	for _, t := range s.turns {
		if t.ID == id {
			return t
		}
	}
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
