package queue

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxResumed is how many conversations of one endpoint resume at the same time. Thousands at once would
	// exceed the models' rate limits and hold all questions in memory.
	maxResumed = 32
	// ticketLife is how long one conversation counts as resuming. If it hangs, the others continue after this time.
	ticketLife = 30 * time.Second
)

// Pacer limits how many conversations of one endpoint resume at the same time.
type Pacer struct {
	mu      sync.Mutex
	running int
	waiting []*Ticket // oldest first
}

// Ticket is a conversation's place in a Pacer. A conversation that need not wait has a nil Ticket.
type Ticket struct {
	at      *Pacer
	granted func() // called when the conversation may continue
	timer   *time.Timer
	runs    bool // the conversation may continue
	over    bool // the conversation has left
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

// grant gives free places to waiting tickets. The caller holds mu.
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

// Leave lets the next conversation continue. Further calls have no effect.
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
