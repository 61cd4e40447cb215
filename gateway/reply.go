package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"

	"telex/agent"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// recorder keeps the parts of one turn's reply.
type recorder struct {
	store Deliveries
	turn  string
}

// Record implements preview.Recorder.
func (r recorder) Record(ctx context.Context, p chat.Part) error {
	return r.store.Record(ctx, r.turn, p)
}

// replyTo says where the reply of a turn goes and how.
func (a *actor) replyTo(rec chat.Turn, slot *preview.Slot, c preview.Config) preview.Options {
	c.FileLine = a.g.Texts[TextRest]
	return preview.Options{
		Endpoint: a.endpoint.out, Config: c, To: rec.To, ReplyTo: rec.ReplyTo, Key: rec.ID, Slot: slot,
		Recorder: recorder{a.g.Store, rec.ID}, Parts: rec.Parts, Jitter: rand.Float64,
		Log: a.log.With(slog.String("turn", rec.ID)),
	}
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

// record returns the record of a new turn that answers the messages.
func (a *actor) record(messages ...chat.Inbound) chat.Turn {
	last := messages[len(messages)-1]
	rec := chat.Turn{ID: newID(), Conversation: a.conversation, To: last.To, Messages: messages}
	if last.Reply {
		rec.ReplyTo = last.ID
	}
	return rec
}

// say answers in with a fixed line, beside whatever else goes on. It is a turn whose ending
// is known from the start, so that it survives a restart like any other.
func (a *actor) say(in chat.Inbound, text string) {
	if a.saying.Load() >= mostSaid {
		a.log.Debug("answer was left out: too many are under way")
		a.drop(in)
		return
	}
	rec, e := a.record(in), preview.Ending{Text: text}
	var err error
	if rec.Ending, err = json.Marshal(e); err == nil {
		err = a.g.Store.Begin(a.g.deliveries, rec)
	}
	if err != nil {
		a.log.Error("answer was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	a.deliver(rec, e)
}

// deliver makes a known ending visible, beside whatever else goes on.
func (a *actor) deliver(rec chat.Turn, e preview.Ending) {
	slot := preview.NewSlot()
	slot.Finish(e)
	a.saying.Add(1)
	a.answers.Go(func() {
		defer a.saying.Add(-1)
		out := show(a.g.deliveries, a.replyTo(rec, slot, a.endpoint.streaming()))
		if !out.Delivered {
			a.log.Warn("answer was not delivered", slog.String("turn", rec.ID), slog.Any("error", out.Err))
		}
		a.settle(rec.ID, out)
	})
}

// decide stores how a turn ends. A store that fails does not keep the reply from people: it
// only would not survive a crash.
func (a *actor) decide(turn string, e preview.Ending, d chat.Decision) {
	var err error
	if d.Ending, err = json.Marshal(e); err == nil {
		err = a.g.Store.Decide(a.g.deliveries, turn, d)
	}
	if err != nil {
		a.log.Error("ending was not stored", slog.String("turn", turn), slog.Any("error", err))
	}
}

// settle ends a turn whose reply is as it must be. One that the end of the daemon cut short is
// left for the next.
func (a *actor) settle(turn string, out preview.Outcome, history ...[]byte) {
	if a.g.deliveries.Err() != nil {
		return
	}
	if e, ok := errors.AsType[*chat.SendError](out.Err); ok && e.Kind == chat.Auth {
		a.log.Error("reply waits until the platform takes the credentials again", slog.String("turn", turn))
		return
	}
	if out.Moved != "" {
		if err := a.g.Store.Move(a.g.deliveries, a.endpoint.ID, a.conversation.Chat, out.Moved); err != nil {
			a.log.Error("the chat's new id was not stored", slog.Any("error", err))
		}
	}
	if err := a.g.Store.End(a.g.deliveries, turn, history...); err != nil {
		a.log.Error("end of a turn was not stored", slog.String("turn", turn), slog.Any("error", err))
	}
}

// encode writes messages as the store keeps them.
func encode(messages []agent.Message) ([][]byte, error) {
	var out [][]byte
	for _, m := range messages {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode history: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// decode reads what encode wrote.
func decode(entries [][]byte) ([]agent.Message, error) {
	out := make([]agent.Message, len(entries))
	for i, b := range entries {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, fmt.Errorf("decode history: %w", err)
		}
	}
	return out, nil
}
