package queue

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxResumed is how many conversations of one endpoint resume at the same time. If thousands of conversations
	// resumed at once, they would exceed the rate limits of the models, and all their questions would be in memory.
	maxResumed = 32
	// ticketLife is how long one conversation counts as resuming. If a conversation hangs, the other conversations
	// continue after ticketLife.
	ticketLife = 30 * time.Second
)

// Pacer limits how many conversations of one endpoint resume at the same time.
type Pacer struct {
	mu      sync.Mutex
	running int
	waiting []*Ticket // oldest first
}

// Ticket is a conversation's place in a Pacer. A conversation that need not wait for others has a nil Ticket.
type Ticket struct {
	at      *Pacer
	granted func() // called when the conversation may continue
	timer   *time.Timer
	runs    bool // the conversation may continue
	over    bool // the conversation has left the Pacer
}

// Enter puts a conversation behind the waiting ones, and returns its ticket. The Pacer calls the parameter granted when the
// conversation may continue. The function granted must not block.
func (p *Pacer) Enter(granted func()) *Ticket {
	one := &Ticket{at: p, granted: granted}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, one)
	p.grant()
	return one
}

// grant lets waiting tickets continue while fewer than maxResumed conversations resume. The caller holds mu.
func (p *Pacer) grant() {
	for p.running < maxResumed && len(p.waiting) > 0 {
		one := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.running++
		one.runs, one.timer = true, time.AfterFunc(ticketLife, one.Leave)
		one.granted()
	}
}

// Waits reports whether the conversation must still wait before it resumes.
func (t *Ticket) Waits() bool {
	if t == nil {
		return false
	}
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	return !t.runs
}

// Leave gives up the conversation's place, so that the next conversation can continue. Further calls of Leave have no effect.
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
