package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"telex/agent"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// Endings stores how turns end.
type Endings interface {
	// Decide stores how a turn ends, and what the turn adds to its session, in one transaction. Decide fails if the
	// turn's session was deleted.
	Decide(ctx context.Context, turn string, d chat.Decision) error
	// Cut replaces the stored ending of a turn. Cut does nothing if no ending of the turn is stored.
	Cut(ctx context.Context, turn string, ending []byte) error
	// End records that a turn and the messages that it answers are done. End also adds the parameter g to the turn's session.
	End(ctx context.Context, turn string, g chat.Growth) error
}

// recorder stores the state of the messages of one turn's reply.
type recorder struct {
	g    *Gateway
	turn string
	at   *endpoint
	from chat.ChatID
}

// Record implements preview.Recorder.
func (r recorder) Record(ctx context.Context, parts ...chat.Part) error {
	for _, p := range parts {
		if err := r.g.edits.before(ctx, r.turn, p.Index); err != nil {
			return err
		}
	}
	err := r.g.store.deliveries.Record(ctx, r.turn, parts...)
	r.g.CheckLease(err)
	return err
}

// Edited implements preview.Recorder.
func (r recorder) Edited(p chat.Part) { r.g.edits.later(r.turn, p) }

// Moved implements preview.Recorder.
func (r recorder) Moved(ctx context.Context, to chat.ChatID) error {
	return r.g.moved(ctx, r.at, r.from, to)
}

// replyTo returns the preview options with which the reply of a turn is shown.
func (a *actor) replyTo(rec chat.Turn, slot *preview.Slot, c preview.Config) preview.Options {
	c.StopMark = a.g.texts()[TextStopMark]
	c.FileLine, c.FilesLine, c.Button = a.g.texts()[TextRest], a.g.texts()[TextFilesLeft], a.stopButton(rec)
	c.ButtonAlways = a.endpoint.account().StopButton == ButtonOn
	if a.endpoint.account().LinkPreviews {
		asker := chat.Person{Endpoint: a.conversation.Endpoint, User: rec.User}
		c.Typed = agent.CallContext{Person: asker.String(), Messages: []agent.Message{a.words(rec.Messages...)}}.TypedURL
	}
	return preview.Options{
		Endpoint: a.endpoint.account().out, Config: c, To: rec.To, ReplyTo: rec.ReplyTo, Key: rec.ID, Slot: slot,
		Recorder: recorder{a.g, rec.ID, a.endpoint, rec.To.Chat}, Parts: rec.Parts, Jitter: rand.Float64,
		Stopping: a.g.stopped, Log: a.log.With(slog.String("turn", rec.ID)),
	}
}

// errPanic is the error that wraps a caught panic.
var errPanic = errors.New("panic")

// show delivers a reply. If the delivery panics, the reply counts as not delivered: its visible messages keep their
// text and lose their cursor.
func show(ctx context.Context, o preview.Options) (out preview.Outcome) {
	var reply *preview.Reply
	run := func() {
		if reply == nil {
			reply = preview.New(o)
		}
		out = reply.Run(ctx)
	}
	err := caught(run)
	if err == nil {
		return out
	}
	o.Slot.Finish(preview.Ending{Keep: true})
	o.Slot.Cut()    // the slot may already have an ending, which Finish does not replace
	_ = caught(run) // show reports only the first panic
	out.Delivered, out.Err = false, err
	return out
}

// caught runs f. If f panics, the function caught returns the panic as an error that contains the stack.
func caught(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	f()
	return nil
}

// record returns the record of a new turn that answers the given messages.
func (a *actor) record(messages ...chat.Inbound) chat.Turn {
	rec := chat.Turn{ID: newID(), Conversation: a.conversation, Messages: messages}
	if len(messages) == 0 {
		return rec
	}
	last := messages[len(messages)-1]
	rec.To, rec.User = last.To, last.Sender.ID
	if last.Reply {
		rec.ReplyTo = last.ID
	}
	rec.To, rec.ReplyTo = a.place(rec.To, rec.ReplyTo)
	return rec
}

// The method say answers a message with a fixed text. A running turn continues while the method say sends the answer. If
// too many lines with a fixed text are being sent, the method say drops the message without an answer.
func (a *actor) say(in chat.Inbound, text string) {
	if a.saying.Load() >= maxFixedLines {
		a.log.Debug("a fixed line was left out: too many are being sent")
		a.drop(in)
		return
	}
	a.answer(preview.Ending{Text: text}, in.To, in)
}

// The method answer sends an answer with a fixed text to the given messages. The list of messages may be empty. The answer
// is stored as a turn, so that the next process sends it if this process dies.
func (a *actor) answer(e preview.Ending, to chat.Target, messages ...chat.Inbound) {
	a.prepareAnswer(e, to, messages...)()
}

// prepareAnswer stores an answer with a fixed text, and returns the function that delivers this answer.
func (a *actor) prepareAnswer(e preview.Ending, to chat.Target, messages ...chat.Inbound) (deliver func()) {
	rec := a.record(messages...)
	rec.To, rec.ReplyTo = a.place(to, rec.ReplyTo)
	e.At = time.Now()
	rec.Ending = encodeEnding(e)
	stored := true
	if err := caught(func() { stored = a.storeTurn(rec) }); err != nil {
		a.log.Error("turn was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	return func() {
		rec.To, rec.ReplyTo = a.place(rec.To, rec.ReplyTo)
		a.deliverStored(rec, e, stored)
	}
}

// The method deliver shows the known ending of a turn. A running turn continues during the delivery.
func (a *actor) deliver(rec chat.Turn, e preview.Ending) { a.deliverStored(rec, e, true) }

// deliverStored does what the method deliver does. If the store failed to store the turn, deliverStored first waits until
// the turn is stored.
func (a *actor) deliverStored(rec chat.Turn, e preview.Ending, stored bool) {
	slot := preview.NewSlot()
	slot.Finish(e)
	growth := chat.Growth{Undecided: a.unstoredUsage(rec)}
	l, taken := a.newLine(), a.taken[rec.ID]
	a.answers.Go(func() {
		defer a.poke() // deferred first, so that poke runs after l.end
		defer l.end()
		if !stored && !a.awaitStore(a.g.turns, rec) {
			return // the messages are still in the store, for the next process
		}
		opts := a.replyTo(rec, slot, a.endpoint.streaming())
		opts.Troubled, opts.Taken = l.trouble, taken
		out := show(a.g.deliveries, opts)
		switch {
		case !out.Delivered && a.g.deliveries.Err() != nil:
			a.log.Warn("answer is kept for the next start: the platform did not accept it in time", slog.String("turn", rec.ID), slog.Any("error", out.Err))
		case out.Unfinished && !out.Delivered:
			a.log.Error("answer was not delivered; "+laterTries, slog.String("turn", rec.ID), slog.Any("error", out.Err))
		case !out.Delivered:
			a.log.Warn("answer was not delivered", slog.String("turn", rec.ID), slog.Any("error", out.Err))
		}
		a.suggestAfter(rec.Messages)
		a.arrived.Store(true)
		if err := caught(func() { a.settle(rec.ID, out, growth) }); err != nil {
			a.log.Error("end of an answer was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
		}
		a.concluded(hasFailed(out, e), rec.Messages...)
	})
}

// The method decide stores how a turn ends and what the turn adds to its session. If the store fails, the reply is shown
// anyway, and the actor tries to store the ending again later. If the process crashes before the ending is stored, the
// ending is lost.
func (a *actor) decide(turn string, e preview.Ending, g chat.Growth) {
	e.At = time.Now()
	ending := encodeEnding(e)
	a.write("ending of a turn", turn, func(ctx context.Context) error {
		return a.g.store.endings.Decide(ctx, turn, chat.Decision{Ending: ending, Growth: g})
	})
}

// The method cut stores that a reply keeps its visible text and gets no more, although the ending e is already stored for
// the reply. A stopped reply must not continue after a restart, because the rest of its text would appear below later
// messages. cut also stores the text of e, because the next process keeps only messages that show a part of this text.
func (a *actor) cut(turn string, e preview.Ending) {
	ending := encodeEnding(preview.Ending{Keep: true, Text: e.Text, Cut: e.Cut, Note: e.Note, At: time.Now()})
	a.write("cut of a reply", turn, func(ctx context.Context) error { return a.g.store.endings.Cut(ctx, turn, ending) })
}

// decideAsShown stores that the reply of a turn keeps its visible text and gets no further text. decideAsShown returns
// false if the turn's session was deleted or the store fails.
func (a *actor) decideAsShown(turn string, g chat.Growth) bool {
	ending := encodeEnding(preview.Ending{Keep: true, Stopped: true, At: time.Now()})
	err := a.g.store.endings.Decide(a.g.deliveries, turn, chat.Decision{Ending: ending, Growth: g})
	if err != nil {
		a.log.Info("an interrupted reply was not stored before its end", slog.String("turn", turn), slog.Any("error", err))
	}
	return err == nil
}

// settleAsShown ends a turn whose reply keeps the visible text. If the reply could not be delivered yet,
// settleAsShown stores that the turn must not run again.
func (a *actor) settleAsShown(t *turn, g chat.Growth) {
	if t.outcome.Unfinished && !t.recovered && t.slot.Ending().Keep && a.decideAsShown(t.id, g) {
		g = chat.Growth{}
	}
	a.settle(t.id, t.outcome, g)
}

// The method settle ends a turn whose reply is complete. If a shutdown interrupted the delivery, the method settle leaves
// the turn to the next process. If the reply could not be delivered, the method settle leaves the turn in the store, and
// the gateway tries again at the next message of the chat.
func (a *actor) settle(turn string, out preview.Outcome, g chat.Growth) {
	if a.g.deliveries.Err() != nil {
		return
	}
	if out.Unfinished && time.Since(out.Ended) < maxUndone {
		a.g.noteUndone(a.conversation, turn)
		return
	}
	a.write("end of a turn", turn, func(ctx context.Context) error { return a.g.store.endings.End(ctx, turn, g) })
}
