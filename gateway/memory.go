package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// What a Memory refuses.
var (
	// errForgotten is a turn that may not go on: its session was forgotten, or it has ended.
	errForgotten = errors.New("the turn is not current")
	errUnknown   = errors.New("not in the store")
)

const (
	// knownIDs is how many message ids a Memory remembers per conversation, and how many turns that have ended:
	// platforms repeat what was not acknowledged, which is recent.
	knownIDs = 256
	// keptMessages is how many messages of a conversation a Memory keeps: more than any model's window takes,
	// and a bound for a process that runs for months.
	keptMessages = 1000
)

// Memory is a Store that lives as long as the process, or as long as a test wants. It does what a durable one
// does, and is no kinder.
type Memory struct {
	mu       sync.Mutex
	known    map[chat.Conversation][]chat.MessageID // as they were accepted, under the ids of then
	sessions map[chat.Conversation]*session
	inbox    []*accepted // not done, in the order of acceptance
	turns    []*memoryTurn
	ended    []string // turns, the newest last
	moved    map[place]chat.ChatID
	resume   map[chat.EndpointID]string
	blocks   map[chat.EndpointID][]chat.Block
	said     int // entries of all histories, ever
}

type session struct {
	history []entry
	epoch   int
}

// entry is one message of a history. Numbers only grow, so that two histories can become one.
type entry struct {
	number int
	body   []byte
}

type accepted struct {
	chat.Pending
	turn string // that has it
}

type memoryTurn struct {
	chat.Turn
	epoch int
}

// place is a chat of an endpoint.
type place struct {
	endpoint chat.EndpointID
	chat     chat.ChatID
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{
		known: make(map[chat.Conversation][]chat.MessageID), sessions: make(map[chat.Conversation]*session),
		moved: make(map[place]chat.ChatID), resume: make(map[chat.EndpointID]string),
		blocks: make(map[chat.EndpointID][]chat.Block),
	}
}

// Accept implements Inbox.
func (s *Memory) Accept(_ context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for _, id := range ids {
		if m := s.find(c, id, nil); m != nil && m.turn == "" {
			s.done(func(o *accepted) bool { return o == m })
		}
	}
	return nil
}

// Pending implements Inbox.
func (s *Memory) Pending(context.Context) ([]chat.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []chat.Pending
	for _, m := range s.inbox {
		if m.turn == "" {
			out = append(out, m.Pending)
		}
	}
	return out, nil
}

// Begin implements Turns.
func (s *Memory) Begin(_ context.Context, t chat.Turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.ended, t.ID) {
		return errForgotten
	}
	if old := s.turn(t.ID); old != nil {
		return s.rerun(old)
	}
	var taken []*accepted
	for _, in := range t.Messages {
		m := s.find(t.Conversation, in.ID, taken)
		if m == nil {
			return fmt.Errorf("message %q: %w", in.ID, errUnknown)
		}
		taken = append(taken, m)
	}
	t.Began = time.Now()
	for _, m := range taken {
		m.turn = t.ID
		m.Begun++
		if m.Accepted.Before(t.Began) {
			t.Began = m.Accepted
		}
	}
	t.State, t.Runs, t.Void, t.Parts, t.Messages = chat.TurnRunning, 1, false, nil, nil
	if len(t.Ending) > 0 {
		t.State = chat.TurnDecided
	}
	if now := s.now(t.Conversation); now != t.Conversation {
		if t.To.Chat == t.Conversation.Chat {
			t.To.Chat, t.ReplyTo = now.Chat, "" // its id is another message's there
		}
		t.Conversation = now
	}
	s.turns = append(s.turns, &memoryTurn{Turn: t, epoch: s.session(t.Conversation).epoch})
	return nil
}

// rerun counts one more run of a turn.
func (s *Memory) rerun(t *memoryTurn) error {
	if t.State != chat.TurnRunning || s.void(t) {
		return errForgotten
	}
	t.Runs++
	for _, m := range s.inbox {
		if m.turn == t.ID {
			m.Begun++
		}
	}
	return nil
}

// Decide implements Turns.
func (s *Memory) Decide(_ context.Context, turn string, d chat.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.current(turn)
	if err != nil || t != nil && t.State == chat.TurnDecided {
		return err
	}
	if t == nil || s.void(t) {
		return errForgotten
	}
	t.State, t.Ending = chat.TurnDecided, d.Ending
	s.grow(t, d.History)
	return nil
}

// Cut implements Turns.
func (s *Memory) Cut(_ context.Context, turn string, ending []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.current(turn)
	if t != nil && t.State == chat.TurnDecided {
		t.Ending = ending
	}
	return err
}

// End implements Turns.
func (s *Memory) End(_ context.Context, turn string, history ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.current(turn)
	if err != nil || t == nil {
		return err
	}
	if !s.void(t) {
		s.grow(t, history)
	}
	s.end(t)
	s.done(func(m *accepted) bool { return m.turn == turn })
	return nil
}

// Release implements Turns.
func (s *Memory) Release(_ context.Context, turn string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.current(turn)
	if err != nil || t == nil {
		return err
	}
	if t.State == chat.TurnDecided {
		return errForgotten
	}
	s.end(t)
	for _, m := range s.inbox {
		if m.turn == turn {
			m.turn = ""
			m.Begun--
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
		c.Parts, c.Void = slices.Clone(c.Parts), s.void(t)
		for _, m := range s.inbox {
			if m.turn == t.ID {
				c.Messages = append(c.Messages, m.Message)
			}
		}
		if len(c.Messages) == 0 { // another turn answers them
			c.Messages, c.Void = []chat.Inbound{{To: c.To}}, true
		}
		out = append(out, c)
	}
	return out, nil
}

// Record implements Deliveries.
func (s *Memory) Record(_ context.Context, turn string, p chat.Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.current(turn)
	switch {
	case err != nil:
		return err
	case t == nil && p.State == chat.PartIntended:
		return errForgotten
	case t == nil: // nobody will ask for it
		return nil
	}
	p.Spans = slices.Clone(p.Spans)
	i, found := slices.BinarySearchFunc(t.Parts, p.Index, func(q chat.Part, i int) int { return cmp.Compare(q.Index, i) })
	if found {
		t.Parts[i] = p
	} else {
		t.Parts = slices.Insert(t.Parts, i, p)
	}
	return nil
}

// History implements Sessions. The result is the caller's.
func (s *Memory) History(_ context.Context, c chat.Conversation) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out [][]byte
	for _, e := range s.session(s.now(c)).history {
		out = append(out, slices.Clone(e.body))
	}
	return out, nil
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

// SaveBlock implements Rules. A block that is known is only ever prolonged.
func (s *Memory) SaveBlock(_ context.Context, e chat.EndpointID, b chat.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[e] = append(s.inForce(e), b)
	slices.SortStableFunc(s.blocks[e], func(a, b chat.Block) int { return b.Until.Compare(a.Until) })
	same := make(map[chat.Block]bool)
	s.blocks[e] = slices.DeleteFunc(s.blocks[e], func(b chat.Block) bool {
		b.Until = time.Time{}
		shorter := same[b]
		same[b] = true
		return shorter
	})
	return nil
}

// Blocks implements Rules.
func (s *Memory) Blocks(_ context.Context, e chat.EndpointID) ([]chat.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce(e), nil
}

// inForce returns a copy of the blocks that are not over.
func (s *Memory) inForce(e chat.EndpointID) []chat.Block {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(s.blocks[e]), func(b chat.Block) bool { return !b.Until.After(now) })
}

// Move implements Rules. From now on the old id means the new one in every call.
func (s *Memory) Move(_ context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.moved[place{e, to}]; ok && now != from {
		to = now
	}
	if from == to {
		return nil
	}
	delete(s.moved, place{e, to}) // should the chat have gone back to an id that it had
	s.moved[place{e, from}] = to
	for old, now := range s.moved {
		if old.endpoint == e && now == from {
			s.moved[old] = to
		}
	}
	s.carry(e, from, to)
	return nil
}

// carry takes what a chat has over to its new id.
func (s *Memory) carry(e chat.EndpointID, from, to chat.ChatID) {
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
	void := make(map[*memoryTurn]bool)
	for _, t := range s.turns {
		void[t] = s.void(t)
	}
	for c, se := range s.sessions {
		there := c
		if !moves(&there) {
			continue
		}
		delete(s.sessions, c)
		into := s.session(there)
		into.history = append(into.history, se.history...)
		slices.SortFunc(into.history, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	}
	for _, t := range s.turns {
		if !moves(&t.Conversation) {
			continue
		}
		if t.To.Chat == from {
			t.To.Chat, t.ReplyTo = to, ""
		}
		if t.epoch = s.session(t.Conversation).epoch; void[t] {
			t.epoch--
		}
	}
}

// now follows a conversation to the present id of its chat.
func (s *Memory) now(c chat.Conversation) chat.Conversation {
	if to, ok := s.moved[place{c.Endpoint, c.Chat}]; ok {
		c.Chat = to
	}
	return c
}

// find returns the unfinished message that an id means, which is none of those taken: one that waits before one
// that a turn has. It means two only in a chat that moved.
func (s *Memory) find(c chat.Conversation, id chat.MessageID, taken []*accepted) (found *accepted) {
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

// done forgets messages.
func (s *Memory) done(which func(*accepted) bool) {
	s.inbox = slices.DeleteFunc(s.inbox, which)
}

// current returns an unfinished turn, nil for one that has ended, and an error for one that never was.
func (s *Memory) current(id string) (*memoryTurn, error) {
	t := s.turn(id)
	if t == nil && !slices.Contains(s.ended, id) {
		return nil, fmt.Errorf("turn %s: %w", id, errUnknown)
	}
	return t, nil
}

func (s *Memory) turn(id string) *memoryTurn {
	i := slices.IndexFunc(s.turns, func(t *memoryTurn) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return s.turns[i]
}

// end forgets a turn but for its id.
func (s *Memory) end(t *memoryTurn) {
	s.turns = slices.DeleteFunc(s.turns, func(o *memoryTurn) bool { return o == t })
	s.ended = last(append(s.ended, t.ID), knownIDs)
}

// void says that a turn's session was forgotten before it was decided.
func (s *Memory) void(t *memoryTurn) bool {
	return t.State == chat.TurnRunning && t.epoch != s.session(t.Conversation).epoch
}

func (s *Memory) grow(t *memoryTurn, history [][]byte) {
	se := s.session(t.Conversation)
	for _, body := range history {
		s.said++
		se.history = append(se.history, entry{s.said, slices.Clone(body)})
	}
	se.history = last(se.history, keptMessages)
}

func (s *Memory) session(c chat.Conversation) *session {
	se := s.sessions[c]
	if se == nil {
		se = &session{}
		s.sessions[c] = se
	}
	return se
}

// last drops all but the n newest of a list.
func last[T any](list []T, n int) []T {
	return slices.Delete(list, 0, max(0, len(list)-n))
}
