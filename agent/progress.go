package agent

import "sync"

// note is a report of a running call.
type note struct {
	call  int // its place among the calls of its step
	text  string
	ended *outcome // the call has ended; nil: it goes on
}

// progress merges the reports of several concurrent calls in the order of their arrival. It never blocks a call, and holds at
// most two notes per call: a newer text replaces an unread one. Its methods are safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	queue []note
	ended []bool
	wake  chan struct{} // has room for one
}

func newProgress(calls int) *progress {
	return &progress{ended: make([]bool, calls), wake: make(chan struct{}, 1)}
}

// tell adds a text of a call. After the call's end it does nothing.
func (p *progress) tell(call int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended[call] {
		return
	}
	for i := range p.queue {
		if p.queue[i].call == call {
			p.queue[i].text = text
			return
		}
	}
	p.push(note{call: call, text: text})
}

// end adds the outcome of a call. Only the first one counts.
func (p *progress) end(call int, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended[call] {
		return
	}
	p.ended[call] = true
	p.push(note{call: call, ended: &o})
}

func (p *progress) push(n note) {
	p.queue = append(p.queue, n)
	select {
	case p.wake <- struct{}{}:
	default: // it is awake
	}
}

// next waits for the next note. It has one reader.
func (p *progress) next() note {
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			n := p.queue[0]
			p.queue = p.queue[1:]
			p.mu.Unlock()
			return n
		}
		p.mu.Unlock()
		<-p.wake
	}
}
