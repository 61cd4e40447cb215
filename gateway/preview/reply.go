package preview

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Options configures a reply: its target and how it streams.
type Options struct {
	Endpoint Endpoint
	Config   Config
	To       chat.Target
	ReplyTo  chat.MessageID // the asker's message that the answer refers to; may be empty
	Key      string         // identifies the reply in idempotency keys
	Slot     *Slot
	Recorder Recorder    // nil: nothing is stored
	Parts    []chat.Part // records of the reply's messages, stored by an earlier process or by an earlier Reply in this process
	Taken    time.Time   // when this process took over the reply from one that may still wait for a response; zero: never
	After    Outcome     // what Run returned when this process last showed this reply; zero: it shows the reply for the first time
	// Stopping is closed when the process stops. The reply then leaves second searches and repeated edits to the next
	// process. Stopping may be nil.
	Stopping <-chan struct{}
	Before   []*Slot // earlier replies of the conversation, which create their messages before this reply does
	// Troubled is called with true when the ending can't be shown at the moment for another reason than a rate limit.
	// Troubled is called with false when the ending can be shown again. Troubled may be called from any goroutine and
	// must not block. Troubled may be nil.
	Troubled func(bool)
	Jitter   func() float64 // returns a value in [0,1) that spreads retries over time; nil: no jitter
	Log      *slog.Logger
}

// Outcome tells whether and how a reply was shown.
type Outcome struct {
	Delivered  bool              // the final is visible, judged by content
	Ended      time.Time         // time when the ending was decided
	Unfinished bool              // the reply ended only because its deadline passed, so it can be continued later
	Doubt      bool              // a message with an unknown id may exist, for example after a create call of unknown outcome
	Shown      string            // Markdown of the last preview that a person saw
	Refs       []chat.MessageRef // the messages of the reply, in order
	Readable   bool              // at least one message shows more than a question or the progress of tools
	Nameless   bool              // the platform returned no id for a message, so the bot can't edit its messages
	Alone      bool              // calls that earlier processes made can no longer change the reply's messages
	Err        error             // reason why the reply was not delivered

	messages []message // the messages of the text; this process uses them if it continues the reply later
}

// Reply shows one reply of the bot in its chat. The state of a Reply belongs to the goroutine that calls Run.
type Reply struct {
	state
	ep   Endpoint
	slot *Slot
	log  *slog.Logger

	earlier         []*Slot
	onTrouble       func(bool)
	stopping        <-chan struct{}
	troubleReported bool // last value passed to onTrouble

	recorder    Recorder
	storeFailed bool // a failure to store the state was already logged
}

// New returns a reply that has shown nothing yet.
func New(o Options) *Reply {
	profile, dialect := o.Endpoint.Sender.Profile(o.To), o.Endpoint.Sender.Dialect(o.To)
	if o.Config.Interval == 0 {
		o.Config.Interval = profile.EditInterval
	}
	stop := o.Config.Button
	if !profile.NoCommands && !o.Config.ButtonAlways {
		o.Config.Button = nil
	}
	if !o.Config.Enabled {
		o.Config.Cursor, o.Config.Button = "", nil // questions have neither a cursor nor a stop button
	}
	r := &Reply{ep: o.Endpoint, slot: o.Slot, log: o.Log, recorder: o.Recorder, earlier: o.Before, onTrouble: o.Troubled, stopping: o.Stopping}
	r.place = place{
		cfg: o.Config, to: o.To, replyTo: o.ReplyTo, key: o.Key, ops: o.Endpoint.ops(),
		dialect: dialect, limit: profile.TextLimit, keyFor: profile.KeyFor, lateFor: profile.LateFor, fileLimit: profile.FileLimit,
		taken: o.Taken,
	}
	if r.jitter = o.Jitter; r.can(chat.OpTyping) {
		r.typing = profile.TypingEvery
	}
	if r.ep.Pulse == nil {
		r.ep.Pulse = new(Pulse)
	}
	if r.ep.Observer == nil {
		r.ep.Observer = unobserved{}
	}
	switch {
	case o.Config.Transport == Draft && o.Endpoint.Drafter != nil:
		r.draftFor, r.draftButton = profile.DraftFor, stop
	case o.Config.Transport == Native && o.Endpoint.Streamer != nil:
		r.streamFor, r.grows = profile.StreamFor, profile.StreamFor > 0
	}
	if r.cfg.Enabled && (r.can(chat.OpEdit) || r.draftFor > 0) {
		// Previews leave room for the cursor, so the final leaves the same room. With the same room, final and previews
		// are cut at the same places, and a full part needs no edit.
		r.limit -= dialect.Len(markup.Rendered{Text: o.Config.Cursor})
	}
	r.question = newQuestion(0)
	r.restore(o.Parts, time.Now())
	r.restoreCertainty(o.After.messages)
	return r
}

// Run shows the reply until its final is visible or can't be shown. When ctx ends, Run returns at once and leaves
// visible messages as they are, perhaps with a cursor. To interrupt a reply without leaving a cursor, call the method
// Finish of its Slot.
func (r *Reply) Run(ctx context.Context) Outcome {
	r.started = time.Now()
	defer r.slot.Release()
	for ctx.Err() == nil {
		r.refresh(ctx)
		r.publish()
		if r.questionVisible() {
			r.slot.markAsked(r.view.Status, r.lastCall)
		}
		a := r.next(time.Now())
		switch a.kind {
		case doEnd:
			out := r.outcome(nil)
			if out.Delivered && r.ending != nil && !r.ending.Keep {
				r.ep.Observer.Finished(time.Since(r.endedAt))
			}
			return out
		case doWait:
			if r.leavesChecks() {
				left := r.outcome(nil)
				left.Unfinished = true
				return left
			}
			r.wait(ctx, a)
			continue
		case doSkip, doMessages:
			r.settle(a, chat.Receipt{}, nil, time.Now())
			continue
		case doSeal:
			plan := r.intendedRecord(a)
			r.settle(a, chat.Receipt{}, nil, time.Now())
			r.record(ctx, r.outcomeRecord(a.part, plan))
			continue
		}
		if t := r.acquire(ctx, &a); t != nil {
			r.perform(ctx, t, a)
		}
	}
	return r.outcome(context.Cause(ctx))
}

// refresh loads the newest view from the Slot, and the ending if the reply has one.
func (r *Reply) refresh(ctx context.Context) {
	var ending *Ending
	resets := r.view.Resets
	r.view, ending = r.slot.load()
	if r.view.Resets != resets {
		r.restart()
	}
	if r.slot.takeRedraw() {
		r.expireDraft()
	}
	if ending != nil && r.slot.IsCut() {
		stopped := ending.Stopped || !ending.Keep && r.incomplete(ending.Text)
		ending = &Ending{Keep: true, Stopped: stopped, Text: ending.Text, Cut: ending.Cut, Note: ending.Note}
	}
	if r.ending == nil && r.finalBegan && ending.givesUp() {
		r.end(&Ending{Text: ending.Text, Cut: ending.Cut, Note: ending.Note, At: ending.At}, time.Now())
	}
	if ending != nil && (r.ending == nil || ending.Keep && !r.ending.Keep && !r.relaid) {
		givenUp := r.ending != nil
		if r.end(ending, time.Now()); givenUp {
			r.recordVisible(ctx)
		}
	}
}

// wait blocks until an event that may change the next action, or until the time a.until.
func (r *Reply) wait(ctx context.Context, a action) {
	var timer <-chan time.Time
	if !a.until.IsZero() {
		t := time.NewTimer(time.Until(a.until))
		defer t.Stop()
		timer = t.C
	}
	changed, ended := r.slot.changed, r.slot.ended
	if a.ignoreText {
		changed = nil
	}
	if r.ending != nil {
		changed, ended = nil, nil
	}
	select {
	case <-changed:
	case <-ended:
	case <-r.slot.questionAsked:
	case <-r.slot.first.urgent:
		r.holdUntil = time.Time{} // a later reply waits for this one, so try again at once
	case <-r.cutShort():
	case <-r.leftAt():
	case <-timer:
	case <-ctx.Done():
	}
}

// leftAt returns the channel that is closed when the process stops, if this reply only needs a second search or a
// repeated edit. A stopping process can't wait until this search or edit is due, so the next process makes the call. If
// the reply needs other calls, leftAt returns nil.
func (r *Reply) leftAt() <-chan struct{} {
	if r.ending == nil || !r.onlyChecksLeft() {
		return nil
	}
	return r.stopping
}

// leavesChecks reports whether the process stops and leaves a second search or a repeated edit to the next process (see
// leftAt).
func (r *Reply) leavesChecks() bool {
	select {
	case <-r.leftAt():
		return true
	default:
		return false
	}
}

// cutShort returns the channel that is closed when the rest of the final is given up. cutShort returns nil if the reply
// has no final to give up.
func (r *Reply) cutShort() <-chan struct{} {
	if r.ending == nil || r.ending.Keep || r.relaid {
		return nil
	}
	return r.slot.cut
}

func (r *Reply) outcome(err error) Outcome {
	o := Outcome{
		Delivered: err == nil && r.delivered(), Ended: r.endedAt, Unfinished: err == nil && r.timedOut(time.Now()), Nameless: r.nameless, Err: err,
		// A question that still exists sets Doubt, because the question should have been deleted.
		Doubt: r.questionLost || r.question.doubtful() || err != nil && r.question.exists(),
	}
	for _, p := range r.parts {
		o.Doubt = o.Doubt || p.doubtful()
		if p.exists() {
			o.Refs = append(o.Refs, p.ref)
		}
	}
	for _, m := range r.superseded {
		switch {
		case !m.exists(): // the create call for the message may still take effect
			o.Doubt = true
		case !r.at(m.place).exists(): // no new message replaced the superseded one
			o.Refs = append(o.Refs, m.ref)
		}
	}
	o.Shown, o.messages, o.Readable = r.source, r.parts, r.readable()
	o.Alone = len(r.superseded) == 0 && !slices.ContainsFunc(r.parts, func(m message) bool { return !m.foreignEdits.IsZero() || m.attempt.open() })
	if o.Err == nil && !o.Delivered {
		o.Err = fmt.Errorf("deliver reply: %w", r.failure())
	}
	return o
}
