package preview

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// A conversation may continue while messages of an earlier reply can't be created yet. To keep the order of messages, a
// reply creates a new message only after the earlier replies have created their messages. One refused reply must not
// block all others. Therefore, if calls of a reply failed overtakenAfter times in a row, later replies no longer wait
// for that reply. Failures because of rate limits and outages don't count, since they affect all replies.

const (
	// overtakenAfter is the number of failures in a row after which later replies no longer wait for a reply. Together
	// with the backoff, this number of failures takes a few seconds.
	overtakenAfter = 4
	// maxPrecedence limits how long later replies wait for an earlier reply while the platform seems to be down. The
	// limit is needed because the platform may in fact refuse only the earlier reply.
	maxPrecedence = 5 * time.Minute
)

// overtaken reports whether later replies stop waiting for this reply to create its messages.
func (s *state) overtaken(now time.Time) bool {
	if s.failuresInRow-s.rateLimitsInRow < overtakenAfter {
		return false
	}
	kind := chat.AsSendError(s.err).Kind
	away := (kind == chat.Temporary || kind == chat.Uncertain) && s.can(chat.OpTyping) && !s.platformAnswers()
	return !away || now.Sub(s.failingSince) >= maxPrecedence
}

// precedence lets later replies of a conversation wait until an earlier reply has created its messages.
type precedence struct {
	mu        sync.Mutex
	none      bool          // the reply will create no more messages
	overtaken bool          // later replies need not wait for this reply
	waiting   chan struct{} // closed when the reply has created its messages or was overtaken; nil: no later reply waits
	urgent    chan struct{} // capacity 1: asks the reply to make its next call at once
}

// request asks the reply to create its messages now. The returned channel is closed when the messages exist or when
// later replies need not wait for them. The channel is nil if the reply creates no more messages.
func (p *precedence) request() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none {
		return nil
	}
	if p.waiting == nil {
		p.waiting = make(chan struct{})
	}
	notify(p.urgent)
	return p.waiting
}

// setMore records whether the reply will create more messages.
func (p *precedence) setMore(more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none = !more; p.none {
		p.release()
	}
}

// setOvertaken records, after each call, whether later replies stop waiting for this reply.
func (p *precedence) setOvertaken(overtaken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.overtaken = overtaken; overtaken {
		p.release()
	}
}

// precedes reports whether the reply must create its messages before later replies create theirs.
func (p *precedence) precedes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.none && !p.overtaken
}

func (p *precedence) release() {
	if p.waiting != nil {
		close(p.waiting)
		p.waiting = nil
	}
}

// Release marks the reply as finished: later replies stop waiting for it.
func (s *Slot) Release() { s.first.setMore(false) }

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

// publish updates the state of the reply that other goroutines read through the Slot.
func (r *Reply) publish() {
	visible := false
	for _, p := range r.parts {
		visible = visible || p.exists()
	}
	r.slot.mu.Lock()
	r.slot.visible, r.slot.readable, r.slot.shown = visible, r.readable(), r.source
	r.slot.mu.Unlock()
	r.slot.first.setMore(r.ending == nil || r.needsMessages(time.Now()))
	r.reportTrouble(r.inTrouble())
}

// needsMessages reports whether the ending needs text messages that are not known to exist.
func (s *state) needsMessages(now time.Time) bool {
	if s.unreachable || s.ending.Stand {
		return false
	}
	return slices.ContainsFunc(s.textsAtEnd(), func(d desired) bool { return s.plan(d, now).needsMessage() })
}

// needsMessage reports whether the action creates a message, searches for a message that may exist, or waits to do so.
func (a action) needsMessage() bool {
	return a.creates() || a.kind == doFind || a.kind == doType || a.kind == doWait
}

// inTrouble reports whether the conversation should continue before this reply's ending is shown. The conversation
// should continue if calls fail and the reply can only wait, or if only a second search or a repeated edit is left.
// Rate limits don't count as trouble, since the next reply would have to wait for them, too.
func (s *state) inTrouble() bool {
	return s.ending != nil && !s.ending.Stand && (s.failuresInRow > 0 && s.onlyWaitHelps || s.onlyChecksLeft())
}

// reportTrouble calls onTrouble when the bot begins to have trouble showing the ending, and when the trouble is over.
func (r *Reply) reportTrouble(trouble bool) {
	if r.onTrouble != nil && trouble != r.troubleReported {
		r.troubleReported = trouble
		r.onTrouble(trouble)
	}
}

// reportIfSlow reports trouble when a call that shows the ending, or the wait for earlier replies, takes too long. The
// caller must call the returned function when the call or the wait is over.
func (r *Reply) reportIfSlow() (stop func()) {
	if r.onTrouble == nil || r.ending == nil || r.troubleReported {
		return func() {}
	}
	hung := make(chan struct{})
	t := time.AfterFunc(slowCall, func() {
		defer close(hung)
		r.onTrouble(true)
	})
	return func() {
		if !t.Stop() {
			<-hung
			r.troubleReported = true
		}
	}
}

// mustWait reports whether this reply must not create a message before an earlier reply has created one. An earlier
// reply that needed only edits until now may suddenly need another message, if the platform refuses its text as too
// long.
func (r *Reply) mustWait() bool {
	return slices.ContainsFunc(r.earlier, func(s *Slot) bool { return s.first.precedes() })
}

// waitForEarlier waits until the earlier replies have created their messages or are overtaken. waitForEarlier returns
// false when this reply no longer needs to make its call.
func (r *Reply) waitForEarlier(ctx context.Context) bool {
	ended := r.slot.ended
	if r.ending != nil {
		began := time.Now()
		defer func() { r.deadline = r.deadline.Add(time.Since(began)) }()
		defer r.reportIfSlow()()
		ended = nil
	}
	for _, s := range r.earlier {
		tried := s.first.request()
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
