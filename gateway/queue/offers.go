package queue

import (
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// Offers are the messages offered to one running turn. The actor offers them and the turn's goroutine takes
// them.
type Offers struct {
	mu      sync.Mutex
	waiting []Message
	taken   []agent.Message // taken messages as the model read them
	joined  []chat.Inbound  // taken messages as received
	closed  bool            // the turn takes no more messages
}

// Len returns the number of messages that the turn has not taken yet.
func (o *Offers) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// Messages returns the messages that the turn has taken, as the model read them.
func (o *Offers) Messages() []agent.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken
}

// Joined returns the taken messages as received. The turn answers them too.
func (o *Offers) Joined() []chat.Inbound {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.joined
}

// Take takes the offered messages. store must durably record that the turn answers them, so that a restarted
// turn asks all of them; if it fails, no message is taken. Meanwhile no message is offered or reclaimed.
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

// close returns the messages that were not taken, and ends the offers.
func (o *Offers) close() []Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.waiting
	o.waiting, o.closed = nil, true
	return left
}
