package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// Why a turn was interrupted.
var (
	errNewMessage = errors.New("a new message came")
	errStopped    = errors.New("stopped by command")
	errUnseen     = errors.New("nobody can see the reply any more")
)

// turn is a question and the reply to it. The actor owns it; result, err and outcome may be
// read once done is closed.
type turn struct {
	id       string
	in       chat.Inbound // the newest of the messages that it answers
	messages []chat.Inbound
	question string
	slot     *preview.Slot
	cancel   context.CancelCauseFunc
	done     chan struct{}

	why       error         // why it was interrupted; nil when it was not
	unseen    bool          // it ended because nobody could see the reply
	void      bool          // its conversation ended before it did
	stoppedBy *chat.Inbound // the /stop that ended it
	recovered bool          // an earlier process left it: its ending was known from the start

	result  agent.Result
	err     error
	broken  error // a panic while the ending was stored
	outcome preview.Outcome
}

// newID returns a short id that a person can read out and an operator can find.
func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// start runs the model and the preview side by side; done closes when both have ended.
func (a *actor) start(rec chat.Turn, question string) {
	history, err := a.history()
	if err != nil {
		panic(err) // guard tells both sides
	}
	log := a.log.With(slog.String("turn", rec.ID))
	if err := a.g.Store.Begin(a.g.deliveries, rec); err != nil {
		log.Error("turn was not stored: it would not survive a crash", slog.Any("error", err))
	}
	ctx, cancel := context.WithCancelCause(a.g.turns)
	t := &turn{
		id: rec.ID, in: rec.Messages[len(rec.Messages)-1], messages: rec.Messages, question: question,
		slot: preview.NewSlot(), cancel: cancel, done: make(chan struct{}),
	}
	streaming := a.endpoint.streaming()
	job := agent.Turn{
		ID: t.id, Stream: streaming.Enabled,
		Messages: append(trim(history, a.g.ModelRoom), agent.Message{Role: agent.User, Text: question}),
	}
	log.Info("turn begins", slog.String("user", string(t.in.Sender.ID)))
	a.turn = t
	go func() {
		defer close(t.done)
		defer cancel(nil)
		var showing sync.WaitGroup
		showing.Go(func() {
			t.outcome = show(a.g.deliveries, a.replyTo(rec, t.slot, streaming))
			cancel(errUnseen) // without effect when the model has ended
		})
		t.result, t.err = think(ctx, a.g.Runner, job, t.fold)
		t.unseen = errors.Is(context.Cause(ctx), errUnseen)
		a.finish(ctx, t)
		showing.Wait()
	}()
}

func (a *actor) history() ([]agent.Message, error) {
	_, entries, err := a.g.Store.Session(a.g.deliveries, a.conversation)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return decode(entries)
}

// think runs the model; a panic in it is an error of this turn.
func think(ctx context.Context, r Runner, job agent.Turn, emit func(agent.Event)) (res agent.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res.Stop = ""
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return r.Run(ctx, job, emit)
}

// fold puts an event into the view.
func (t *turn) fold(e agent.Event) {
	switch e := e.(type) {
	case agent.Text:
		t.slot.Append(e.Delta, agent.EstimateTokens(e.Delta))
	case agent.Reset:
		t.slot.Reset()
	case agent.Reasoning, agent.Tool:
		// Neither is part of the text.
	}
}

// interrupt ends the running turn now: the connection to the model is closed, and what was
// shown stays as it is.
func (a *actor) interrupt(why error) {
	if !errors.Is(a.turn.why, errStopped) { // what a person stopped is not asked again
		a.turn.why = why
	}
	a.turn.slot.Finish(preview.Ending{Keep: true})
	if errors.Is(why, errStopped) {
		a.turn.slot.Cut() // not even a final that is on its way
		a.cut(a.turn.id)
	}
	a.turn.cancel(why)
}

// finish decides how the reply ends: durably, with all that depends on it, before the last
// edits are made. An interrupted reply is not decided: until it has ended, whatever interrupted
// it waits in the store and would do so again after a restart.
func (a *actor) finish(ctx context.Context, t *turn) {
	e := a.ending(ctx, t)
	if e.Keep {
		t.slot.Finish(e)
		return
	}
	t.slot.Decide(e, func() { // which must return, or the reply never ends
		t.broken = caught(func() { a.keep(t, e) })
	})
}

// keep stores the ending of a turn, and what the history and the usage grow by.
func (a *actor) keep(t *turn, e preview.Ending) {
	d := chat.Decision{}
	var err error
	if u := t.result.Usage; u != (agent.Usage{}) {
		d.Usage = []chat.Usage{{
			Model: t.result.Model, Prompt: u.Prompt, Cached: u.Cached, Completion: u.Completion, Reasoning: u.Reasoning,
			Calls: t.result.ModelCalls,
		}}
	}
	if d.History, err = encode(t.said(e)); err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	if a.decide(t.id, e, d); t.slot.IsCut() {
		a.cut(t.id) // which came while that was being stored
	}
}

// ending says how the reply ends.
func (a *actor) ending(ctx context.Context, t *turn) preview.Ending {
	switch {
	case t.err == nil:
		return preview.Ending{Text: t.result.Text}
	case ctx.Err() != nil:
		return preview.Ending{Keep: true}
	}
	e := preview.Ending{Text: t.result.Text, Cut: true, Note: a.g.Texts.line(failure(t.result.Stop), t.id)}
	if e.Text == "" {
		e.Text = t.slot.Text()
	}
	return e
}

// said is what the history grows by: what the person asked and saw.
func (t *turn) said(e preview.Ending) []agent.Message {
	question := agent.Message{Role: agent.User, Text: t.question}
	if t.err == nil && !e.Keep {
		return append([]agent.Message{question}, t.result.Append...)
	}
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return nil
	}
	return []agent.Message{question, {Role: agent.Assistant, Text: text}}
}

// conclude settles what a turn that has ended leaves behind.
func (a *actor) conclude(t *turn) {
	a.report(t)
	if t.outcome.Nameless {
		a.endpoint.nameless.Store(true)
	}
	if t.stoppedBy != nil {
		defer a.stopped(t)
	}
	panicked := errors.Is(t.outcome.Err, errPanic) || t.broken != nil
	if panicked {
		defer a.say(t.in, a.g.Texts.line(TextFailed, t.id))
	}
	if t.recovered {
		a.settle(t.id, t.outcome)
		return
	}
	e := t.slot.Ending()
	if e.Keep && t.why == nil && !t.unseen && !panicked {
		return // the daemon is stopping: the next process runs the turn again
	}
	if !e.Keep || t.void {
		a.settle(t.id, t.outcome)
		return
	}
	if errors.Is(t.why, errNewMessage) && len(t.outcome.Refs) == 0 {
		if t.outcome.Doubt && a.g.isStopping() {
			return // something may stand: the next process, which can find out, runs the turn again
		}
		a.requeue(t)
		return
	}
	history, err := encode(t.said(preview.Ending{Keep: true, Text: t.outcome.Shown}))
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	a.settle(t.id, t.outcome, history...)
}

// stopped answers the command that ended t. What was shown stays, so that only a reply that
// had shown nothing needs a word.
func (a *actor) stopped(t *turn) {
	if len(t.outcome.Refs) == 0 {
		a.say(*t.stoppedBy, a.g.Texts[TextStopped])
		return
	}
	a.drop(*t.stoppedBy)
}

// requeue puts a question of which nothing was answered before the one that interrupted it:
// they are answered together.
func (a *actor) requeue(t *turn) {
	if err := a.g.Store.Release(a.g.deliveries, t.id); err != nil {
		a.log.Error("turn was not released", slog.String("turn", t.id), slog.Any("error", err))
	}
	var again []message
	for _, m := range t.messages {
		again = append(again, message{Inbound: m, accepted: time.Now()})
	}
	a.queue = slices.Insert(a.queue, 0, again...)
}

// report writes the one line that says how a turn went, and why when it went wrong.
func (a *actor) report(t *turn) {
	log := a.log.With(
		slog.String("turn", t.id), slog.String("stop", string(t.result.Stop)), slog.String("model", t.result.Model),
		slog.Int("prompt_tokens", t.result.Usage.Prompt), slog.Int("completion_tokens", t.result.Usage.Completion),
		slog.Duration("took", t.result.Elapsed.Round(time.Millisecond)), slog.Int("messages", len(t.outcome.Refs)),
	)
	if t.outcome.Doubt {
		log.Warn("a message of unknown outcome may stand beside the reply")
	}
	if t.broken != nil {
		log.Error("ending was not stored", slog.Any("error", t.broken))
	}
	switch {
	case !t.outcome.Delivered && forbidden(t.outcome.Err):
		log.Info("reply was not delivered: the bot may not write there", slog.Any("error", t.outcome.Err))
	case !t.outcome.Delivered:
		log.Error("reply was not delivered", slog.Any("error", errors.Join(t.outcome.Err, t.err)))
	case t.err != nil && t.result.Stop != agent.StopCancelled:
		log.Error("turn failed", slog.Any("error", t.err))
	default:
		log.Info("turn ended")
	}
}

// forbidden says that a person has shut the bot out.
func forbidden(err error) bool {
	e, ok := errors.AsType[*chat.SendError](err)
	return ok && e.Kind == chat.Forbidden
}

// trim drops the oldest messages until the rest fits into so many tokens. What stays begins
// with a user's message, since models expect one.
func trim(history []agent.Message, room int) []agent.Message {
	if room <= 0 {
		return history
	}
	sum, from := 0, len(history)
	for i, m := range slices.Backward(history) {
		if sum += agent.EstimateTokens(m.Text); sum > room {
			break
		}
		if m.Role == agent.User {
			from = i
		}
	}
	return history[from:]
}
