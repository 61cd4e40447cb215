package queue

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxResumed is how many conversations of one endpoint go on at the same time with what an earlier process left.
	// Thousands at once would ask the models for more than they allow, and hold all of their questions in memory.
	maxResumed = 32
	// ticketLife is how long one conversation can keep others waiting: one that hangs holds up nobody for longer.
	ticketLife = 30 * time.Second
)

// Pacer lets the conversations of one endpoint go on one after the other with what an earlier process left.
type Pacer struct {
	mu      sync.Mutex
	running int
	waiting []*Ticket // oldest first
}

// Ticket is a conversation's place at a Pacer. A nil Ticket is that of a conversation that need not wait.
type Ticket struct {
	at      *Pacer
	granted func() // called once the conversation may go on
	timer   *time.Timer
	runs    bool // the conversation may go on
	over    bool // it counts no more
}

// Enter returns a ticket behind all others. granted must not block.
func (p *Pacer) Enter(granted func()) *Ticket {
	one := &Ticket{at: p, granted: granted}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, one)
	p.grant()
	return one
}

// grant gives free places to those who wait. The caller holds mu.
func (p *Pacer) grant() {
	for p.running < maxResumed && len(p.waiting) > 0 {
		one := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.running++
		one.runs, one.timer = true, time.AfterFunc(ticketLife, one.Leave)
		one.granted()
	}
}

// Waits reports whether the conversation must wait.
func (t *Ticket) Waits() bool {
	if t == nil {
		return false
	}
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	return !t.runs
}

// Leave lets the next conversation go on. Leaving twice changes nothing.
func (t *Ticket) Leave() {
	if t == nil {
		return
	}
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	switch {
	case t.over:
		return
	case t.runs:
		t.timer.Stop()
		t.at.running--
	default:
		t.at.waiting = slices.DeleteFunc(t.at.waiting, func(other *Ticket) bool { return other == t })
	}
	t.over = true
	t.at.grant()
}
