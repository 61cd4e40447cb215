package demo

import "sync"

// pulse wakes everybody who waits for a change.
type pulse struct {
	mu   sync.Mutex
	next chan struct{}
}

func newPulse() *pulse { return &pulse{next: make(chan struct{})} }

// beat tells that something changed.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// changed is closed with the next beat.
func (p *pulse) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}
