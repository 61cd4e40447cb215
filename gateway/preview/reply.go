package preview

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Options says where a reply goes and how it streams.
type Options struct {
	Endpoint Endpoint
	Config   Config
	To       chat.Target
	ReplyTo  chat.MessageID // the asking message, where the answer should refer to it
	Key      string         // names the reply in idempotency keys
	Slot     *Slot
	Recorder Recorder    // nil: nothing is kept
	Parts    []chat.Part // what an earlier process left of this reply
	Before   []*Slot     // earlier replies of the conversation that may still make messages: theirs come first
	// Troubled is called with true when the ending can't be shown for now, for another reason than a rate limit, and
	// with false when it can again. It may be called from any goroutine and must not block. It may be nil.
	Troubled func(bool)
	Jitter   func() float64 // from [0,1): spreads what failed together; nil: nothing is spread
	Log      *slog.Logger
}

// Outcome is what became of a reply.
type Outcome struct {
	Delivered bool              // the final is visible, by content
	Ended     time.Time         // when its ending was decided
	Undone    bool              // it was given up for its time alone: later, the rest can be tried again
	Doubt     bool              // a message may stand beside the reply, such as one of a create whose outcome stayed unknown
	Shown     string            // the Markdown of the last preview that a person saw
	Refs      []chat.MessageRef // the messages of the reply, in order
	Nameless  bool              // the platform returned no message id: this endpoint can't edit
	Err       error             // why not, when not delivered
}

// Reply shows one reply. Its state belongs to the goroutine that calls Run.
type Reply struct {
	state
	ep   Endpoint
	slot *Slot
	log  *slog.Logger

	before   []*Slot
	troubled func(bool)
	reported bool // what troubled was told last

	recorder Recorder
	unstored bool // that its state could not be stored was told
}

// New returns a reply that has shown nothing yet.
func New(o Options) *Reply {
	profile, dialect := o.Endpoint.Sender.Profile(o.To), o.Endpoint.Sender.Dialect(o.To)
	if o.Config.Interval == 0 {
		o.Config.Interval = profile.EditInterval
	}
	if !profile.NoCommands && !o.Config.ButtonAlways {
		o.Config.Button = nil
	}
	if !o.Config.Enabled {
		o.Config.Cursor, o.Config.Button = "", nil // nor where a person is asked
	}
	r := &Reply{ep: o.Endpoint, slot: o.Slot, log: o.Log, recorder: o.Recorder, before: o.Before, troubled: o.Troubled}
	r.place = place{
		cfg: o.Config, to: o.To, replyTo: o.ReplyTo, key: o.Key, ops: o.Endpoint.ops(),
		dialect: dialect, limit: profile.TextLimit, keyFor: profile.KeyFor, fileLimit: profile.FileLimit,
	}
	if r.jitter = o.Jitter; r.can(chat.OpTyping) {
		r.typing = profile.TypingEvery
	}
	if r.ep.Pulse == nil {
		r.ep.Pulse = new(Pulse)
	}
	switch {
	case o.Config.Transport == Draft && o.Endpoint.Drafter != nil:
		r.draftFor = profile.DraftFor
	case o.Config.Transport == Native && o.Endpoint.Streamer != nil:
		r.streamFor, r.grows = profile.StreamFor, profile.StreamFor > 0
	}
	if r.cfg.Enabled && (r.can(chat.OpEdit) || r.draftFor > 0) {
		// Previews and the final are cut at the same places, so that a sealed part stays.
		r.limit -= dialect.Len(markup.Rendered{Text: o.Config.Cursor})
	}
	r.question = newQuestion(0)
	r.restore(o.Parts, time.Now())
	return r
}

// Run shows the reply until its final is delivered or can't be. The end of ctx stops it at
// once, whatever is visible; a reply that is merely interrupted ends through its Slot.
func (r *Reply) Run(ctx context.Context) Outcome {
	r.started = time.Now()
	defer r.slot.Over()
	for ctx.Err() == nil {
		r.refresh(ctx)
		r.publish()
		if r.inView() {
			r.slot.showed(r.view.Status, r.lastCall)
		}
		a := r.next(time.Now())
		switch a.kind {
		case doEnd:
			return r.outcome(nil)
		case doWait:
			r.wait(ctx, a)
			continue
		case doSkip, doMessages:
			r.settle(a, chat.Receipt{}, nil, time.Now())
			continue
		case doSeal:
			plan := r.intent(a)
			r.settle(a, chat.Receipt{}, nil, time.Now())
			r.record(ctx, r.result(a.part, plan))
			continue
		}
		if t := r.acquire(ctx, &a); t != nil {
			r.perform(ctx, t, a)
		}
	}
	return r.outcome(context.Cause(ctx))
}

// refresh takes the newest view, and the ending once there is one.
func (r *Reply) refresh(ctx context.Context) {
	var ending *Ending
	resets := r.view.Resets
	r.view, ending = r.slot.load()
	if r.view.Resets != resets {
		r.restart()
	}
	if r.slot.redrawn() {
		r.erase()
	}
	if ending != nil && r.slot.IsCut() {
		ending = &Ending{Keep: true, Stopped: ending.Stopped || !ending.Keep && r.incomplete(ending.Text)}
	}
	if ending != nil && (r.ending == nil || ending.Keep && !r.ending.Keep && !r.relaid) {
		givenUp := r.ending != nil
		if r.end(ending, time.Now()); givenUp {
			r.recordStanding(ctx)
		}
	}
}

// wait blocks until there is news that matters or it is time.
func (r *Reply) wait(ctx context.Context, a action) {
	var timer <-chan time.Time
	if !a.until.IsZero() {
		t := time.NewTimer(time.Until(a.until))
		defer t.Stop()
		timer = t.C
	}
	changed, ended := r.slot.changed, r.slot.ended
	if a.deaf {
		changed = nil
	}
	if r.ending != nil {
		changed, ended = nil, nil
	}
	select {
	case <-changed:
	case <-ended:
	case <-r.slot.urged:
	case <-r.slot.first.now:
		r.hold = time.Time{} // another reply waits for this one
	case <-r.cutShort():
	case <-timer:
	case <-ctx.Done():
	}
}

// cutShort is closed when nothing more of the ending is wanted; nil when that is known.
func (r *Reply) cutShort() <-chan struct{} {
	if r.ending == nil || r.ending.Keep || r.relaid {
		return nil
	}
	return r.slot.cut
}

func (r *Reply) outcome(err error) Outcome {
	o := Outcome{
		Delivered: err == nil && r.delivered(), Ended: r.ended, Undone: err == nil && r.undone(time.Now()), Nameless: r.nameless, Err: err,
		Doubt: r.stray || r.question.doubtful() || err != nil && r.question.exists(), // which was to be taken away
	}
	for _, p := range r.parts {
		o.Doubt = o.Doubt || p.doubtful()
		if p.exists() {
			o.Refs = append(o.Refs, p.ref)
		}
	}
	for _, m := range r.superseded {
		if !r.parts[m.place].exists() { // nothing took its place
			o.Refs = append(o.Refs, m.ref)
		}
	}
	o.Shown = r.source
	if o.Err == nil && !o.Delivered {
		o.Err = fmt.Errorf("deliver reply: %w", r.failure())
	}
	return o
}
