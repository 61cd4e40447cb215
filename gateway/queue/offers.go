package queue

import (
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// Offers are the messages that the actor offers to one running turn. The turn's goroutine takes the offered messages
// before its next model call.
type Offers struct {
	mu      sync.Mutex
	waiting []Message
	taking  chan struct{}   // closed at the end of the running Take; nil: no Take is running
	taken   []agent.Message // taken messages, as the model read them
	joined  []chat.Inbound  // taken messages, as the gateway received them
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

// Joined returns the messages that the turn has taken, as they were received. The turn also answers the messages that
// Joined returns.
func (o *Offers) Joined() []chat.Inbound {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.joined
}

// Take takes the offered messages. The function store must durably record that the turn answers the taken messages, so
// that the turn still answers them after a restart. If the function store fails, Take takes no message. Take must not
// be called twice at the same time. While Take waits for the function store, the actor may offer more messages, which
// the next call of Take takes. Queue.Reclaim waits while a Take is running.
func (o *Offers) Take(read func(...chat.Inbound) agent.Message, store func(ids []chat.MessageID) error) (messages []agent.Message, err error) {
	joined := o.beginTake()
	if len(joined) == 0 {
		return nil, nil
	}
	var taken []chat.Inbound
	defer func() { o.endTake(taken, messages) }() // runs even if the function store panics
	var ids []chat.MessageID
	var all []agent.Message
	for _, m := range joined {
		ids = append(ids, m.ID)
		all = append(all, read(m))
	}
	if err := store(ids); err != nil {
		return nil, err
	}
	taken = joined
	return all, nil
}

// beginTake returns the messages that wait. Until endTake is called, the returned messages still count as waiting.
func (o *Offers) beginTake() []chat.Inbound {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) > 0 {
		o.taking = make(chan struct{})
	}
	return inbounds(o.waiting)
}

// endTake removes the taken messages from the messages that wait.
func (o *Offers) endTake(joined []chat.Inbound, messages []agent.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = o.waiting[len(joined):]
	o.taken, o.joined = append(o.taken, messages...), append(o.joined, joined...)
	close(o.taking)
	o.taking = nil
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

// The method close ends the offers and returns the messages that the turn has not taken. If a call of Take is running,
// the method close waits until that call has ended.
func (o *Offers) close() []Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.taking != nil {
		taking := o.taking
		o.mu.Unlock()
		<-taking
		o.mu.Lock()
	}
	left := o.waiting
	o.waiting, o.closed = nil, true
	return left
}
