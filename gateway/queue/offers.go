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
	taking  chan struct{}   // closed at the end of the running Take; nil: none is running
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
// turn asks all of them; if it fails, no message is taken. Take is not called twice at the same time. While it waits for
// store, more messages can be offered, which the next Take takes, but none is reclaimed.
func (o *Offers) Take(read func(...chat.Inbound) agent.Message, store func(ids []chat.MessageID) error) (messages []agent.Message, err error) {
	joined := o.beginTake()
	if len(joined) == 0 {
		return nil, nil
	}
	var taken []chat.Inbound
	defer func() { o.endTake(taken, messages) }() // also if store panics
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

// beginTake returns the messages that wait. They count as waiting until endTake.
func (o *Offers) beginTake() []chat.Inbound {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) > 0 {
		o.taking = make(chan struct{})
	}
	return inbounds(o.waiting)
}

// endTake removes the taken messages from those that wait.
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

// close returns the messages that were not taken, and ends the offers. It waits for the end of a running Take.
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
