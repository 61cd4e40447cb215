package queue

import (
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// Offers are the messages that are offered to one running turn. The actor offers, the turn's goroutine takes.
type Offers struct {
	mu      sync.Mutex
	waiting []Message
	taken   []agent.Message // as the model read them
	joined  []chat.Inbound  // the same as they came
	closed  bool            // the turn takes nothing more
}

// Len is how many messages wait for the turn to take them.
func (o *Offers) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// Taken returns the messages that the turn has taken, as the model read them.
func (o *Offers) Taken() []agent.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken
}

// Joined returns the same messages as they came. The turn answers them too.
func (o *Offers) Joined() []chat.Inbound {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.joined
}

// Take takes the messages that wait. store makes durable that the turn answers them, so that a restart asks for all of
// it; if that fails they are not taken. None is offered or reclaimed meanwhile.
func (o *Offers) Take(read func(...chat.Inbound) agent.Message, store func(ids []chat.MessageID) error) ([]agent.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return nil, nil
	}
	joined := inbounds(o.waiting)
	var ids []chat.MessageID
	var messages []agent.Message
	for _, m := range joined {
		ids = append(ids, m.ID)
		messages = append(messages, read(m))
	}
	if err := store(ids); err != nil {
		return nil, err
	}
	o.waiting, o.taken, o.joined = nil, append(o.taken, messages...), append(o.joined, joined...)
	return messages, nil
}

func (o *Offers) add(m Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.waiting = append(o.waiting, m)
	return true
}

// close returns the messages that were not taken. No other is offered.
func (o *Offers) close() []Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.waiting
	o.waiting, o.closed = nil, true
	return left
}
