package preview

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// After these timeouts, the outcome of a call counts as unknown. Calls for previews have a shorter timeout than calls
// for the final.
const (
	typingTimeout  = 3 * time.Second
	previewTimeout = 10 * time.Second
	callTimeout    = 30 * time.Second

	// fileSpeed is the expected upload speed for files, in bytes per second.
	fileSpeed = 256 << 10
)

// acquire waits until the budget allows the call of action a. When the budget allows the call, acquire updates a, so
// that the call sends the newest text. If another action became more important or ctx ended, acquire cancels the ticket
// and returns nil.
func (r *Reply) acquire(ctx context.Context, a *action) Ticket {
	if a.creates() && len(r.earlier) > 0 {
		if !r.waitForEarlier(ctx) {
			return nil
		}
		r.refresh(ctx)
		b := r.next(time.Now())
		if !a.same(b) {
			return nil
		}
		*a = b
	}
	call := r.request(*a)
	r.extendWhileBlocked(call)
	t, since := r.ep.Budget.Request(call), time.Now()
	granted := false
	defer func() {
		if !granted {
			t.Cancel()
		}
	}()
	select {
	case <-t.Ready():
		r.ep.Observer.Waited(a.class, 0)
		granted = true
		return t
	default:
	}
	r.slot.setWaiting(Waiting{call, since})
	ready := r.queue(ctx, t, *a)
	r.slot.setWaiting(Waiting{})
	r.ep.Observer.Waited(a.class, time.Since(since))
	if ready {
		r.extendWhileBlocked(call)
		if r.ending != nil { // extend the deadline by the time that the call waited for the budget
			r.deadline = r.deadline.Add(time.Since(since))
		}
		r.refresh(ctx)
		if b := r.next(time.Now()); a.same(b) && !(b.creates() && r.mustWait()) {
			*a, granted = b, true
			return t
		}
	}
	return nil
}

// queue waits until the budget grants ticket t. queue returns false when the call is no longer wanted. When the reply
// ends or a question must be asked, a queued preview is unnecessary. New text makes a queued typing indicator
// unnecessary.
func (r *Reply) queue(ctx context.Context, t Ticket, a action) bool {
	changed, ended, urged := r.slot.changed, r.slot.ended, r.slot.questionAsked
	if a.kind != doType {
		changed = nil
	}
	if a.class != chat.ClassPreview {
		urged = nil
	}
	if r.ending != nil {
		ended = nil
	}
	for {
		select {
		case <-t.Ready():
			return true
		case <-changed:
			if r.refresh(ctx); r.next(time.Now()).kind != doType {
				return false
			}
		case <-ended:
			return false
		case <-urged: // the question needs a new ticket, because its call is more urgent (see chat.Class)
			return false
		case <-r.cutShort():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// extendWhileBlocked extends the deadline of a final by the time for which a rate limit forbids the call.
func (r *Reply) extendWhileBlocked(c chat.Call) {
	if r.ending == nil {
		return
	}
	until := r.ep.Budget.BlockedUntil(c)
	r.extend(until.Add(finalDeadline))
	if until.After(time.Now()) {
		r.log.Warn("final waits for the platform's rate limit", slog.Time("until", until))
	}
}

// adapter returns the endpoint with its current adapter, since a reload of the configuration may have replaced the
// adapter.
func (r *Reply) adapter() Endpoint {
	if r.ep.Current == nil {
		return r.ep
	}
	return r.ep.Current()
}

func (r *Reply) request(a action) chat.Call {
	c := chat.Call{
		To: r.to, Op: a.op(), Class: a.class, Since: r.view.Since,
		Limits: r.adapter().Sender.Profile(r.to).Limits, Calls: a.calls,
	}
	if a.kind != doType && a.kind != doProbe && a.kind != doDraft && r.at(a.part).exists() {
		c.Message = r.at(a.part).ref.ID
	}
	if c.Since.IsZero() {
		c.Since = time.Now()
	}
	return c
}

// perform first stores what the call of action a will change, then makes the call, and applies the outcome to the
// state.
func (r *Reply) perform(ctx context.Context, t Ticket, a action) {
	// Cancel releases the ticket if the function panics. After a normal return, the ticket has already ended, and
	// Cancel has no effect.
	defer t.Cancel()
	plan, stored := r.recordIntent(ctx, a)
	if !stored && r.ending == nil {
		t.Cancel()
		r.failuresInRow++
		r.backoff(time.Now())
		return
	}
	if r.ep.Budget.BlockedUntil(r.request(a)).After(time.Now()) {
		t.Cancel() // another call got a 429 while the store was slow
		return
	}
	switch a.kind {
	case doType:
		r.lastType = time.Now()
	case doFind, doProbe:
	default:
		r.lastCall = time.Now()
	}
	done := r.reportIfSlow()
	receipt, err := r.call(ctx, t, a)
	done()
	moved := r.moved
	r.lastSuccess = r.ep.Pulse.Last()
	if r.settle(a, receipt, err, time.Now()); r.moved != moved {
		r.storeNewChat(ctx)
	}
	r.slot.first.setOvertaken(r.overtaken(time.Now()))
	r.recordOutcome(ctx, a, plan)
	if a.kind == doFile && err != nil && r.parts[a.part].abandoned {
		r.log.Warn("a file was left out: the platform refuses it", slog.String("file", a.file.Name), slog.Any("error", err))
	}
	if err == nil && r.ending == nil && a.kind != doType && a.kind != doProbe && a.part >= 0 && !a.keepsText {
		if since := r.view.Since; !since.IsZero() {
			r.ep.Observer.Shown(time.Since(since))
		}
		r.source = r.view.Text[:min(r.visible(), len(r.view.Text))]
		r.slot.markVisible(len(r.source))
	}
}

// call makes the platform call for action a. If the response contains rate limits, the function passes them to the
// budget.
func (r *Reply) call(ctx context.Context, t Ticket, a action) (chat.Receipt, error) {
	defer t.Done() // runs after Block: if it ran earlier, the budget could grant another call before the block begins
	began := time.Now()
	receipt, err := r.do(ctx, a)
	r.ep.Observer.Called(a.op(), time.Since(began), err)
	if err == nil {
		r.ep.Pulse.Beat()
	} else {
		r.logFailure(ctx, a, err)
		e := chat.AsSendError(err)
		if receipt.RateLimits = e.RateLimits; e.Kind == chat.RateLimited {
			r.ep.Budget.Block(r.request(a), e.Scope, e.Ops, e.RetryAfter)
		}
		if e.Kind == chat.Uncertain || e.Kind == chat.Temporary {
			t.Lost()
		}
	}
	if len(receipt.RateLimits) > 0 {
		r.ep.Budget.UpdateLimits(r.request(a), receipt.RateLimits)
	}
	return receipt, err
}

func (r *Reply) do(ctx context.Context, a action) (chat.Receipt, error) {
	timeout := callTimeout
	switch {
	case a.kind == doType, a.kind == doProbe:
		timeout = typingTimeout
	case r.ending == nil && !a.creates() && a.kind != doDelete:
		timeout = previewTimeout
	case a.kind == doFile:
		timeout += time.Duration(len(a.file.Content)) * time.Second / fileSpeed
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if r.ep.MayCall != nil && !r.ep.MayCall() {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Temporary, Err: chat.ErrLost}
	}
	ep := r.adapter()
	switch a.kind {
	case doSend:
		return ep.Sender.Send(ctx, r.to, r.outgoing(a))
	case doEdit:
		return ep.Editor.Edit(ctx, r.at(a.part).ref, r.outgoing(a))
	case doDelete:
		return chat.Receipt{}, ep.Deleter.Delete(ctx, r.at(a.part).ref)
	case doFile:
		return ep.Filer.SendFile(ctx, r.to, r.outgoing(a), *a.file)
	case doDraft:
		return chat.Receipt{}, ep.Drafter.Draft(ctx, r.to, DraftID(r.key, a.part), r.outgoing(a))
	case doStart:
		return ep.Streamer.Start(ctx, r.to, r.outgoing(a))
	case doAppend:
		return chat.Receipt{}, ep.Streamer.Append(ctx, r.parts[a.part].ref, a.added)
	case doStop:
		return chat.Receipt{}, ep.Streamer.Stop(ctx, r.parts[a.part].ref, a.added)
	case doFind:
		return r.search(ctx, a)
	default:
		return chat.Receipt{}, ep.Typer.Typing(ctx, r.to)
	}
}

// outgoing returns the message that action a sends: the text with its frame, cursor, buttons and note.
func (r *Reply) outgoing(a action) chat.Outgoing {
	body, plain := a.body.rendered, a.body.plain
	m := chat.Outgoing{Key: r.partKey(a.part), Preview: r.ending == nil}
	m.Source, m.Note = r.sourceAndNote(a)
	if m.Answers = r.replyTo; a.part == 0 {
		m.ReplyTo = r.replyTo
	}
	switch {
	case a.cursor:
		body, plain = r.withFrame(body, a.frame), a.frame.plain(plain)
		if !a.frame.asksPerson {
			body.Text, plain = body.Text+r.cfg.Cursor, plain+r.cfg.Cursor
		}
		switch {
		case a.kind == doDraft: // handled below
		case a.frame.actionIDs != "":
			m.Actions = r.view.Status.Actions
		case r.cfg.Button != nil:
			m.Actions = []chat.Action{*r.cfg.Button}
		}
	case a.mark != "":
		body, plain, m.Note = r.withMark(body), plain+"\n\n"+a.mark, a.mark
	}
	if a.kind == doDraft && r.draftButton != nil {
		m.Actions = []chat.Action{*r.draftButton}
	}
	m.Text, m.Plain, m.Spans = body.Text, plain, spansOf(body)
	m.LinkPreview = r.linkPreview(m)
	return m
}

func spansOf(r markup.Rendered) (spans []chat.Span) {
	for _, s := range r.Spans {
		spans = append(spans, chat.Span(s))
	}
	return spans
}

// partKey returns the idempotency key of message i. All create calls for the same message use the same key.
func (s *state) partKey(i int) string {
	if i == questionAt {
		return fmt.Sprintf("%s.q%d", s.key, s.question.gen)
	}
	if gen := s.at(i).gen; gen > 0 {
		return fmt.Sprintf("%s.%d+%d", s.key, i, gen)
	}
	return Key(s.key, i)
}

// Key returns the idempotency key of one message of a reply. Some platforms also use the key as the message's id.
func Key(reply string, message int) string { return fmt.Sprintf("%s.%d", reply, message) }

// DraftID returns the id shared by all drafts of one part of a reply. The id is never 0.
func DraftID(reply string, part int) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(Key(reply, part))) // never fails
	return int64(h.Sum32()) + 1
}

// maxDrafts exceeds the number of parts that a reply can have.
const maxDrafts = 1000

// IsDraft reports whether the id belongs to a draft of the reply. When somebody presses a draft's button, the gateway
// uses IsDraft to find the reply, even if an earlier process showed the draft.
func IsDraft(reply string, id int64) bool {
	for part := range maxDrafts {
		if DraftID(reply, part) == id {
			return true
		}
	}
	return false
}

// logFailure logs a failed call. Of several failures in a row, only the first one is logged as a warning.
func (r *Reply) logFailure(ctx context.Context, a action, err error) {
	level := slog.LevelDebug
	if r.failuresInRow == 0 && a.kind != doType && a.kind != doProbe {
		level = slog.LevelWarn
	}
	r.log.LogAttrs(ctx, level, "call failed",
		slog.Any("error", err), slog.Bool("final", r.ending != nil), slog.Int("part", a.part))
}
