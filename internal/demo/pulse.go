package demo

import "sync"

// pulse wakes all goroutines that wait for a change of the demo's state.
type pulse struct {
	mu   sync.Mutex
	next chan struct{}
}

func newPulse() *pulse { return &pulse{next: make(chan struct{})} }

// beat reports a change to all waiting goroutines.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// changed returns a channel that the next beat closes.
func (p *pulse) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}
