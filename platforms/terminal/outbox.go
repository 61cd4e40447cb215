package terminal

import (
	"cmp"
	"errors"
	"sync"
)

// maxWaiting is the maximum number of frames that wait for a client. If more than maxWaiting frames wait, the hub
// disconnects the client. Only for a client that reads nothing do more than maxWaiting frames wait, because a waiting
// message counts only once, however often the message changes.
const maxWaiting = 1000

// errSlow means that a client does not read the frames that the hub sends.
var errSlow = errors.New("the terminal does not keep up")

// outbox is the queue of frames that the hub will send to a client. Of the methods of outbox, only the method take
// blocks.
type outbox struct {
	mu      sync.Mutex
	waiting []Frame
	err     error         // reason why the outbox accepts no more frames; nil: it accepts frames
	changed chan struct{} // capacity 1: receives a value when the field waiting or err changes
}

func newOutbox() *outbox { return &outbox{changed: make(chan struct{}, 1)} }

// put adds a frame to the queue. If an older state of the same message still waits in the queue, the new state replaces
// the older state.
func (o *outbox) put(f Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.poke()
	if o.err != nil || f.Typing != nil && len(o.waiting) > 0 {
		return
	}
	for i, w := range o.waiting {
		if f.Message != nil && w.Message != nil && w.Message.ID == f.Message.ID {
			newest := *f.Message
			newest.Answer = cmp.Or(newest.Answer, w.Message.Answer)
			o.waiting[i].Message = &newest
			return
		}
	}
	if o.waiting = append(o.waiting, f); len(o.waiting) > maxWaiting {
		o.waiting, o.err = nil, errSlow
	}
}

// end makes the outbox accept no more frames. When the outbox has ended, the method take returns the frames that still
// wait, and finally the error err.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.poke()
	if o.err == nil {
		o.err = err
	}
}

// The method take removes the oldest frame from the queue and returns the frame. If the queue is empty, the method
// blocks until put adds a frame or the outbox has ended.
func (o *outbox) take() (Frame, error) {
	for {
		f, ok, err := o.first()
		if ok || err != nil {
			return f, err
		}
		<-o.changed
	}
}

func (o *outbox) first() (Frame, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return Frame{}, false, o.err
	}
	f := o.waiting[0]
	o.waiting = o.waiting[1:]
	return f, true, nil
}

func (o *outbox) poke() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}
