package agent

import "sync/atomic"

// report is a message from a running tool call: a text about the progress of the call, or the outcome of the call.
type report struct {
	call    int // index of the call in its step
	text    string
	outcome *outcome // nil: the call is still running
}

// progress merges the reports of several concurrent calls in the order of their arrival. progress never blocks a call, and
// holds at most two reports per call: a newer text replaces an unread one. The methods of progress are safe for concurrent
// use.
type progress struct {
	reports     chan report              // has room for two reports of each call: a text and the outcome
	unreadTexts []atomic.Pointer[string] // texts that nobody has read yet
	ended       []atomic.Bool
}

func newProgress(calls int) *progress {
	return &progress{reports: make(chan report, 2*calls), unreadTexts: make([]atomic.Pointer[string], calls), ended: make([]atomic.Bool, calls)}
}

// addText adds a text about the progress of a call. After the outcome of the call was added, addText does nothing.
func (p *progress) addText(call int, text string) {
	if !p.ended[call].Load() && p.unreadTexts[call].Swap(&text) == nil {
		p.reports <- report{call: call}
	}
}

// addOutcome adds the outcome of a call. Only the first outcome of each call counts.
func (p *progress) addOutcome(call int, o outcome) {
	if p.ended[call].CompareAndSwap(false, true) {
		p.reports <- report{call: call, outcome: &o}
	}
}

// next waits for the next report. Only one goroutine may call next.
func (p *progress) next() report {
	n := <-p.reports
	if n.outcome == nil {
		n.text = *p.unreadTexts[n.call].Swap(nil)
	}
	return n
}
