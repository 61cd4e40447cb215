package agent

import "sync/atomic"

// note is a report of a running call.
type note struct {
	call  int // its place among the calls of its step
	text  string
	ended *outcome // the call has ended; nil: it goes on
}

// progress merges the reports of several concurrent calls in the order of their arrival. It never blocks a call, and holds at
// most two notes per call: a newer text replaces an unread one. Its methods are safe for concurrent use.
type progress struct {
	notes chan note                // has room for a text and the end of each call
	texts []atomic.Pointer[string] // of notes that nobody has read
	ended []atomic.Bool
}

func newProgress(calls int) *progress {
	return &progress{notes: make(chan note, 2*calls), texts: make([]atomic.Pointer[string], calls), ended: make([]atomic.Bool, calls)}
}

// tell adds a text of a call. After the call's end it does nothing.
func (p *progress) tell(call int, text string) {
	if !p.ended[call].Load() && p.texts[call].Swap(&text) == nil {
		p.notes <- note{call: call}
	}
}

// end adds the outcome of a call. Only the first one counts.
func (p *progress) end(call int, o outcome) {
	if p.ended[call].CompareAndSwap(false, true) {
		p.notes <- note{call: call, ended: &o}
	}
}

// next waits for the next note. It has one reader.
func (p *progress) next() note {
	n := <-p.notes
	if n.ended == nil {
		n.text = *p.texts[n.call].Swap(nil)
	}
	return n
}
