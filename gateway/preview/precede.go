package preview

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// A conversation may go on while messages of an earlier reply can't be created yet. To keep the order, a reply
// creates a new message only after the earlier replies created theirs. A reply that failed overtakenAfter times
// in a row is overtaken: one refused reply must not block all others. Rate limits and outages don't count, since
// they affect the other replies too.

const (
	// overtakenAfter is the number of failures in a row after which later replies go first: a few seconds.
	overtakenAfter = 4
	// maxPrecedence limits how long later replies wait for a platform that seems to be down, since that may be
	// wrong.
	maxPrecedence = 5 * time.Minute
)

// overtaken reports whether later replies need not wait for this one any more.
func (s *state) overtaken(now time.Time) bool {
	if s.row-s.limited < overtakenAfter {
		return false
	}
	kind := chat.AsSendError(s.err).Kind
	away := (kind == chat.Temporary || kind == chat.Uncertain) && s.can(chat.OpTyping) && !s.answers()
	return !away || now.Sub(s.failing) >= maxPrecedence
}

// precedence lets later replies wait for an earlier one.
type precedence struct {
	mu      sync.Mutex
	none    bool          // the reply will create no more messages
	waiting chan struct{} // closed when the reply created its messages or was overtaken; nil: nobody waits
	now     chan struct{} // capacity 1: asks the reply to try at once
}

// try asks the reply to create its messages now. The returned channel is closed once they exist or others need
// not wait for them; it is nil if the reply creates none.
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

// tell records whether the reply will create more messages.
func (p *precedence) tell(more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none = !more; p.none {
		p.release()
	}
}

// failed records that the reply tried again and failed.
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

// Over marks the reply as finished: later replies stop waiting for it.
func (s *Slot) Over() { s.first.tell(false) }

// Visible reports whether at least one message of the reply exists.
func (s *Slot) Visible() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visible
}

// Readable reports whether at least one message of the reply shows more than a question or the progress of tools.
func (s *Slot) Readable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readable
}

// Shown returns the Markdown of the last preview that a person saw.
func (s *Slot) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// publish updates the state of the reply that others read.
func (r *Reply) publish() {
	visible := false
	for _, p := range r.parts {
		visible = visible || p.exists()
	}
	r.slot.mu.Lock()
	r.slot.visible, r.slot.readable, r.slot.shown = visible, r.readable(), r.source
	r.slot.mu.Unlock()
	r.slot.first.tell(r.ending == nil || r.makesMore(time.Now()))
	r.report(r.inTrouble())
}

// makesMore reports whether the ending needs text messages that are not known to exist.
func (s *state) makesMore(now time.Time) bool {
	if s.dead || s.ending.Stand {
		return false
	}
	return slices.ContainsFunc(s.textsAtEnd(), func(d desired) bool { return s.plan(d, now).makes() })
}

// makes reports whether a creates a message or checks for one that may exist.
func (a action) makes() bool {
	return a.creates() || a.kind == doFind || a.kind == doType || a.kind == doWait
}

// inTrouble reports whether the platform currently refuses to show the ending. A rate limit does not count,
// since it affects the next reply too, but a reply of which only late messages are looked for does. A failure that leads to
// another call at once does not count either, and a reply that is left as it stands shows nothing more.
func (s *state) inTrouble() bool {
	return s.ending != nil && !s.ending.Stand && (s.row > 0 && s.refused || s.lingers())
}

// report tells the owner when the trouble with the ending begins or is over.
func (r *Reply) report(trouble bool) {
	if r.troubled != nil && trouble != r.reported {
		r.reported = trouble
		r.troubled(trouble)
	}
}

// slow reports trouble when a call of an ending, or the wait for earlier replies, takes long. The caller must
// call the returned function at the end.
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

// yield waits until the earlier replies have created their messages or are overtaken. It returns false when the
// call is not wanted any more.
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
