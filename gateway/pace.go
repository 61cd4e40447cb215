package gateway

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxRestored is how many conversations of one endpoint go on at the same time with what an earlier process left.
	// Thousands at once would ask the models for more than they allow, and hold all of their questions in memory.
	maxRestored = 32
	// ticketLife is how long one conversation can keep others waiting: one that hangs holds up nobody for longer.
	ticketLife = 30 * time.Second
)

// pacer lets the conversations of one endpoint go on one after the other with what an earlier process left.
type pacer struct {
	mu      sync.Mutex
	running int
	waiting []*ticket // oldest first
}

// ticket is a conversation's place at a pacer. A nil ticket is that of a conversation that need not wait.
type ticket struct {
	at      *pacer
	granted func() // called once the conversation may go on
	timer   *time.Timer
	runs    bool // the conversation may go on
	over    bool // it counts no more
}

// enter returns a ticket behind all others. granted must not block.
func (p *pacer) enter(granted func()) *ticket {
	one := &ticket{at: p, granted: granted}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, one)
	p.grant()
	return one
}

// grant gives free places to those who wait. The caller holds mu.
func (p *pacer) grant() {
	for p.running < maxRestored && len(p.waiting) > 0 {
		one := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.running++
		one.runs, one.timer = true, time.AfterFunc(ticketLife, one.leave)
		one.granted()
	}
}

// waits reports whether the conversation must wait.
func (p *ticket) waits() bool {
	if p == nil {
		return false
	}
	p.at.mu.Lock()
	defer p.at.mu.Unlock()
	return !p.runs
}

// leave lets the next conversation go on. Leaving twice changes nothing.
func (p *ticket) leave() {
	if p == nil {
		return
	}
	p.at.mu.Lock()
	defer p.at.mu.Unlock()
	switch {
	case p.over:
		return
	case p.runs:
		p.timer.Stop()
		p.at.running--
	default:
		p.at.waiting = slices.DeleteFunc(p.at.waiting, func(other *ticket) bool { return other == p })
	}
	p.over = true
	p.at.grant()
}
