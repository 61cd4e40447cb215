package preview

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// A conversation may go on while the messages of an earlier reply can't be made yet. So that they still come in order,
// a reply makes a new message only after the earlier ones have made theirs. One that failed overtakenAfter times in a
// row, and now again, is overtaken: what the platform refuses must not hold up all others. A rate limit is no such
// failure, and nor is a platform that is away: both hold for the others too.

const (
	// overtakenAfter is how many failures in a row let others go first: a few seconds' worth.
	overtakenAfter = 4
	// maxPrecedence is how long others wait for a platform that seems to be away: that may be wrong.
	maxPrecedence = 5 * time.Minute
)

// overtaken says that others need not wait for the reply any more.
func (s *state) overtaken(now time.Time) bool {
	if s.row-s.limited < overtakenAfter {
		return false
	}
	kind := chat.AsSendError(s.err).Kind
	away := (kind == chat.Temporary || kind == chat.Uncertain) && s.can(chat.OpTyping) && !s.answers()
	return !away || now.Sub(s.failing) >= maxPrecedence
}

// precedence is what later replies know of an earlier one.
type precedence struct {
	mu      sync.Mutex
	none    bool          // the reply will make no more messages
	waiting chan struct{} // closed once it has done so or was overtaken; nil: nobody waits
	now     chan struct{} // capacity 1: that it is to try without waiting
}

// try asks the reply to make its messages now. It returns what is closed once they are there or others
// need not wait for them; nil when the reply makes none.
func (p *precedence) try() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none {
		return nil
	}
	if p.waiting == nil {
		p.waiting = make(chan struct{})
	}
	notify(p.now)
	return p.waiting
}

// tell says whether the reply will make more messages.
func (p *precedence) tell(more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none = !more; p.none {
		p.release()
	}
}

// failed says that the reply tried again, in vain.
func (p *precedence) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

func (p *precedence) release() {
	if p.waiting != nil {
		close(p.waiting)
		p.waiting = nil
	}
}

// Over says that nobody delivers the reply any more: others need not wait for it.
func (s *Slot) Over() { s.first.tell(false) }

// Visible reports whether a message of the reply stands.
func (s *Slot) Visible() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visible
}

// Shown returns the Markdown of the last preview that a person saw.
func (s *Slot) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// publish tells others how far the reply is.
func (r *Reply) publish() {
	visible := false
	for _, p := range r.parts {
		visible = visible || p.exists()
	}
	r.slot.mu.Lock()
	r.slot.visible, r.slot.shown = visible, r.source
	r.slot.mu.Unlock()
	r.slot.first.tell(r.ending == nil || r.makesMore(time.Now()))
	r.report(r.inTrouble())
}

// makesMore says that what the ending still wants needs messages of the text that are not there, as far as that is known.
func (s *state) makesMore(now time.Time) bool {
	if s.dead || s.ending.Stand {
		return false
	}
	return slices.ContainsFunc(s.textsAtEnd(), func(d desired) bool { return s.plan(d, now).makes() })
}

// makes says that a leads to a new message, or learns whether there is one.
func (a action) makes() bool {
	return a.creates() || a.kind == doFind || a.kind == doType
}

// inTrouble says that the ending is known and that the platform does not let it be shown for now. A rate limit is none
// such: it holds for the next reply too. Nor is a failure that leads to another call at once.
func (s *state) inTrouble() bool {
	return s.ending != nil && s.row > 0 && s.refused
}

// report tells the owner whether the delivery of the ending is in trouble, when that has changed.
func (r *Reply) report(trouble bool) {
	if r.troubled != nil && trouble != r.reported {
		r.reported = trouble
		r.troubled(trouble)
	}
}

// slow reports trouble when a call of an ending, or the wait for earlier replies, takes long. What it returns must be called
// at the end.
func (r *Reply) slow() (stop func()) {
	if r.troubled == nil || r.ending == nil || r.reported {
		return func() {}
	}
	hung := make(chan struct{})
	t := time.AfterFunc(slowCall, func() {
		defer close(hung)
		r.troubled(true)
	})
	return func() {
		if !t.Stop() {
			<-hung
			r.reported = true
		}
	}
}

// yield waits until the replies before this one have made their messages or are overtaken. It returns false when the call
// is not wanted any more.
func (r *Reply) yield(ctx context.Context) bool {
	ended := r.slot.ended
	if r.ending != nil {
		began := time.Now()
		defer func() { r.deadline = r.deadline.Add(time.Since(began)) }()
		defer r.slow()()
		ended = nil
	}
	for _, s := range r.before {
		tried := s.first.try()
		if tried == nil {
			continue
		}
		select {
		case <-tried:
		case <-ended:
			return false
		case <-r.cutShort():
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
