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

// turn is one message and the reply to it. The actor owns it; result, err and outcome may be
// read once done is closed.
type turn struct {
	id     string
	in     chat.Inbound
	slot   *preview.Slot
	cancel context.CancelCauseFunc
	done   chan struct{}

	why       error         // why it was interrupted; nil when it was not
	void      bool          // its conversation ended before it did
	stoppedBy *chat.Inbound // the /stop that ended it

	result  agent.Result
	err     error
	outcome preview.Outcome
}

// newID returns a short id that a person can read out and an operator can find.
func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// start runs the model and the preview side by side; done closes when both have ended.
func (a *actor) start(in chat.Inbound, history []agent.Message) *turn {
	ctx, cancel := context.WithCancelCause(a.g.turns)
	t := &turn{id: newID(), in: in, slot: preview.NewSlot(), cancel: cancel, done: make(chan struct{})}
	streaming := a.endpoint.streaming()
	job := agent.Turn{
		ID: t.id, Stream: streaming.Enabled,
		Messages: append(trim(history, a.g.ModelRoom), agent.Message{Role: agent.User, Text: in.Text}),
	}
	log := a.log.With(slog.String("turn", t.id))
	log.Info("turn begins", slog.String("user", string(in.Sender.ID)))
	go func() {
		defer close(t.done)
		defer cancel(nil)
		var showing sync.WaitGroup
		showing.Go(func() {
			t.outcome = show(a.g.deliveries, a.replyOptions(in, t.id, t.slot, streaming))
			cancel(errUnseen) // without effect when the model has ended
		})
		t.result, t.err = think(ctx, a.g.Runner, job, t.fold)
		t.slot.Finish(a.ending(ctx, t))
		showing.Wait()
	}()
	return t
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

// errPanic is a panic, with its stack.
var errPanic = errors.New("panic")

// show delivers the reply. A panic in it is a reply that was not delivered: what is visible is
// made final once more, without its cursor, and that is that.
func show(ctx context.Context, o preview.Options) preview.Outcome {
	reply := preview.New(o)
	out := attempt(ctx, reply)
	if errors.Is(out.Err, errPanic) {
		o.Slot.Finish(preview.Ending{Keep: true})
		again := attempt(ctx, reply)
		again.Delivered, again.Err = false, out.Err
		return again
	}
	return out
}

func attempt(ctx context.Context, reply *preview.Reply) (out preview.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out.Err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	return reply.Run(ctx)
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

// interrupt ends the turn now: the connection to the model is closed, and what was shown
// stays as it is.
func (t *turn) interrupt(why error) {
	if !errors.Is(t.why, errStopped) { // what a person stopped is not asked again
		t.why = why
	}
	t.slot.Finish(preview.Ending{Keep: true})
	t.cancel(why)
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

// conclude records what a turn that has ended leaves behind.
func (a *actor) conclude(t *turn) {
	a.report(t)
	if t.outcome.Nameless {
		a.endpoint.nameless.Store(true)
	}
	switch unseen := len(t.outcome.Refs) == 0; {
	case errors.Is(t.outcome.Err, errPanic):
		a.say(t.in, a.g.Texts.line(TextFailed, t.id))
	case t.stoppedBy != nil && unseen:
		a.say(*t.stoppedBy, a.g.Texts[TextStopped])
	case t.slot.Ending().Keep && t.why == nil && unseen && a.g.isStopping():
		a.say(t.in, a.g.Texts[TextRestarting])
	}
	if t.void {
		return
	}
	if errors.Is(t.why, errNewMessage) && len(t.outcome.Refs) == 0 {
		a.queue = slices.Insert(a.queue, 0, t.in) // answered together with the message that came
		return
	}
	if said := t.said(); len(said) > 0 {
		entry := append([]agent.Message{{Role: agent.User, Text: t.in.Text}}, said...)
		if err := a.g.Store.Append(a.g.deliveries, a.conversation, entry...); err != nil {
			a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
		}
	}
}

// said is what the history grows by: what the person saw.
func (t *turn) said() []agent.Message {
	e := t.slot.Ending()
	switch {
	case len(t.outcome.Refs) == 0 && !t.outcome.Delivered:
		return nil
	case !e.Keep && t.err == nil:
		return t.result.Append
	case e.Keep:
		e.Text = t.outcome.Shown
	}
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return nil
	}
	return []agent.Message{{Role: agent.Assistant, Text: text}}
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
