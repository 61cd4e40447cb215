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
	"sync/atomic"
	"time"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/attachment"
	"telex/gateway/history"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// Why a turn was interrupted.
var (
	errNewMessage = errors.New("a new message came")
	errStopped    = errors.New("stopped by command")
	errUnseen     = errors.New("nobody can see the reply any more")
)

// Turns keeps which turns run, to be taken up again after a restart.
type Turns interface {
	// Begin stores a turn as running, or counts one more run of it. One that comes with its
	// Ending is decided from the start.
	Begin(ctx context.Context, t chat.Turn) error
	// Join gives messages that wait to a running turn that took them in: it answers them too. It
	// does nothing to messages that do not wait any more.
	Join(ctx context.Context, turn string, ids ...chat.MessageID) error
	// Release ends a turn that answered nothing: its messages wait again, as if it had not begun. What it
	// used counts all the same.
	Release(ctx context.Context, turn string, used ...chat.Usage) error
	// Unfinished returns the turns that have begun and not ended, oldest first.
	Unfinished(ctx context.Context) ([]chat.Turn, error)
}

// turn is a question and the reply to it. The actor owns it; result, err and outcome may be
// read once done is closed.
type turn struct {
	id          string
	began       time.Time
	in          chat.Inbound // the newest of the messages that it answers
	messages    []chat.Inbound
	question    agent.Message
	history     history.History // what the model was told before
	offers      queue.Offers    // what people say to it
	slot        *preview.Slot
	progress    progress // of its tool calls; the goroutine's that runs the model
	thinksAloud bool     // people see what the model thinks
	journal     *history.Journal
	approvals   *approval.Approvals // what waits for a person, or did
	mentioned   string              // the proposal whose asker was told what became of another message
	earlier     history.Replay      // what an earlier process did of it
	cancel      context.CancelCauseFunc
	done        chan struct{}
	stored      atomic.Bool // the store knows that it has begun

	why       error         // why it was interrupted; nil when it was not
	unseen    bool          // it ended because nobody could see the reply
	void      bool          // its conversation ended before it did
	fixed     bool          // it was answered with a line, without a model
	stoppedBy *chat.Inbound // the /stop that ended it
	then      []func()      // what waits for its end

	replaces  string           // the turn whose question it asks again
	retries   []chat.MessageID // of those that wait to ask its own again
	recovered bool             // an earlier process left it: its ending was known from the start

	delivery delivery

	result  agent.Result
	err     error
	broken  error // a panic while the ending was stored
	outcome preview.Outcome
}

// newID returns the ID of a turn. It is a key in the store for a week, and the keys of all messages of the reply are
// made of it, so two turns must never have the same one.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// shortID is the beginning of an ID: short enough to be read out, and long enough to find the turn in the log.
func shortID(id string) string { return id[:min(len(id), 8)] }

// start runs the model and the preview side by side; done closes when both have ended.
func (a *actor) start(rec chat.Turn) {
	t := a.prepare(&rec)
	if t == nil {
		return
	}
	log := a.log.With(slog.String("turn", t.id))
	// A turn that runs again is in the store already: then the store only counts the run.
	t.stored.Store(a.storeTurn(rec) || rec.Runs > 0)
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(a.g.turns)
	streaming := a.endpoint.streaming()
	log.Info("turn begins", slog.String("user", string(t.in.Sender.ID)))
	a.turn = t
	opts := a.replyTo(rec, t.slot, streaming)
	opts.Before, opts.Troubled = a.earlier(), a.inTrouble(t)
	go func() {
		defer a.poke() // a parked turn is collected then
		defer close(t.done)
		defer t.cancel(nil)
		if !t.stored.Load() {
			if !a.awaitStore(ctx, rec) {
				t.slot.Finish(preview.Ending{Keep: true})
				return
			}
			t.stored.Store(true)
		}
		var showing sync.WaitGroup
		showing.Go(func() {
			t.outcome = show(a.g.deliveries, opts)
			t.cancel(errUnseen) // without effect when the model has ended
		})
		t.result, t.err = guarded(func() (agent.Result, error) { return a.think(ctx, t, streaming.Enabled) })
		if t.result.Spent == nil { // no model was asked, or a panic took the result
			t.result.Spent = t.journal.LastSpent()
		}
		t.unseen = errors.Is(context.Cause(ctx), errUnseen)
		a.finish(ctx, t)
		close(t.delivery.decided)
		a.poke() // the delivery may be in trouble already
		showing.Wait()
	}()
}

// prepare makes the turn of a record; nil when it asks a question once more and there is none, which the person is
// told.
func (a *actor) prepare(rec *chat.Turn) *turn {
	t := &turn{
		id: rec.ID, in: rec.Messages[len(rec.Messages)-1], messages: rec.Messages,
		slot: preview.NewSlot(), done: make(chan struct{}), began: time.Now(),
		thinksAloud: a.g.ShowReasoning, delivery: delivery{decided: make(chan struct{})},
	}
	t.approvals = a.approver(t)
	if len(rec.Steps) > 0 {
		a.takeUpSteps(t, rec.Steps)
	}
	t.earlier.Spent = a.usedBefore(*rec, t.earlier)
	t.journal = history.NewJournal(a.g.store.steps, rec.ID, rec.Runs+1, t.earlier)
	if rec.Runs > t.earlier.Through { // the next process must not make the estimate again
		if err := t.journal.Spent(a.g.deliveries, t.earlier.Spent); err != nil {
			a.log.Error("what the turn used was not stored", slog.String("turn", t.id), slog.Any("error", err))
		}
	}
	var err error
	if t.history, err = a.past(); err != nil {
		panic(err) // guard tells both sides
	}
	if !asksAgain(rec.Messages[0]) {
		return t
	}
	if rec.Replaces == "" {
		rec.Replaces = t.history.Last(t.in.Sender.ID)
	}
	var found bool
	if t.history, t.question, found = t.history.Without(rec.Replaces); !found {
		a.nothingToRetry(*rec)
		return nil
	}
	t.replaces = rec.Replaces
	t.question = history.Join(t.question, a.words(rec.Messages[1:]...)) // what was put to it before a restart
	return t
}

// nothingToRetry answers a retry that has no question. It stores the answer at once: after a restart there may be one.
func (a *actor) nothingToRetry(rec chat.Turn) {
	text := a.g.Texts[TextNothingToRetry]
	if rec.Runs == 0 {
		a.say(rec.Messages[len(rec.Messages)-1], text)
		return
	}
	// An earlier process began the turn. It must end too: another turn would take its messages, and leave it in the store.
	e := preview.Ending{Text: text}
	a.decide(rec.ID, e, chat.Growth{Usage: a.shown(rec).Usage})
	a.conclusion(rec, e)
}

// takeUpSteps gives a turn what an earlier process did of it.
func (a *actor) takeUpSteps(t *turn, steps []chat.Step) {
	var err error
	t.earlier, err = history.Read(steps)
	if err = errors.Join(err, t.approvals.Replay(steps)); err != nil {
		panic(err) // guard tells both sides
	}
	t.approvals.Resume(time.Now())
	if cut := t.earlier.CutOff(); len(cut) > 0 {
		a.log.Warn("a tool was at work when the process died: what it did is not known, and it is not run again",
			slog.String("turn", t.id), slog.Any("calls", cut))
	}
}

// think reads what is attached to the question and runs the model.
func (a *actor) think(ctx context.Context, t *turn, stream bool) (agent.Result, error) {
	if t.question.Role == "" {
		question, line := a.read(ctx, t.messages)
		if ctx.Err() != nil { // what an earlier process did of it must be known all the same
			t.question = a.words(t.messages...)
			return agent.Result{Stop: agent.StopCancelled, Append: agent.Mended(t.earlier.Said, t.earlier.Begun)},
				&agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
		}
		if line != "" {
			t.fixed = true
			return agent.Result{Text: line, Stop: agent.StopDone}, nil
		}
		t.question = question
	}
	s := a.settings(t.history.Session, t.in.Sender.ID)
	return a.g.Runner.Run(ctx, agent.Turn{
		ID: t.id, Stream: stream, Model: s.model.Name, System: s.system, Summary: t.history.Summary, Tools: s.tools,
		Person: a.person(t.in).String(), Conversation: a.conversation.String(), Shared: t.in.To.Kind != chat.Private,
		Messages: append(slices.Clip(t.history.Messages), t.question),
		More:     func(ctx context.Context) []agent.Message { return a.more(ctx, t) },
		Journal:  t.journal, Approver: t.approvals,
		Steps: t.earlier.Said, Begun: t.earlier.Begun, Asked: t.approvals.Calls(), Files: t.earlier.Files,
		Spent: t.earlier.Spent,
	}, t.fold)
}

// read reads what messages say and hold, and returns a question for the model, or a line for the person when nothing in
// them can be read.
func (a *actor) read(ctx context.Context, messages []chat.Inbound) (agent.Message, string) {
	var fetch attachment.Fetch
	if a.endpoint.fetcher != nil {
		fetch = a.endpoint.fetcher.Fetch
	}
	q := a.g.reader.Read(ctx, a.conversation.Endpoint, messages, fetch, a.log)
	switch {
	case q.Message.Role != "":
		return q.Message, ""
	case q.Unheard && len(q.Failed) == 1:
		return q.Message, a.g.Texts[TextNoVoice]
	case len(q.Failed) > 0:
		return q.Message, a.g.Texts.fill(TextUnreadable, "files", strings.Join(q.Failed, ", "))
	default:
		return q.Message, a.g.Texts[TextUnsupported]
	}
}

// more hands the turn what was said to it, which it answers too from now on.
func (a *actor) more(ctx context.Context, t *turn) []agent.Message {
	if ctx.Err() != nil {
		return nil
	}
	messages, err := t.offers.Take(a.words, func(ids []chat.MessageID) error {
		return a.g.store.turns.Join(context.WithoutCancel(ctx), t.id, ids...) // what is taken must be stored
	})
	if err != nil {
		a.log.Error("messages were not put to the turn: they wait for the next", slog.String("turn", t.id), slog.Any("error", err))
	}
	return messages
}

// answered returns all messages that the turn answers.
func (t *turn) answered() []chat.Inbound { return slices.Concat(t.messages, t.offers.Joined()) }

// guarded runs a turn's work; a panic in it is an error of this turn.
func guarded(work func() (agent.Result, error)) (res agent.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res.Stop = ""
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// fold puts an event into the view.
func (t *turn) fold(e agent.Event) {
	switch e := e.(type) {
	case agent.Text:
		t.slot.Append(e.Delta, agent.EstimateTokens(e.Delta))
	case agent.Reset:
		t.slot.Reset()
		if t.thinksAloud {
			t.slot.Tell(t.progress.rethink())
		}
	case agent.Tool:
		if status, changed := t.progress.tell(e, time.Now()); changed {
			t.slot.Tell(status)
		}
	case agent.Reasoning:
		if !t.thinksAloud {
			return
		}
		if status, changed := t.progress.think(e.Delta, time.Now()); changed {
			t.slot.Tell(status)
		}
	}
}

// interrupt ends the running turn now: the connection to the model is closed, and what was
// shown stays as it is.
func (a *actor) interrupt(why error) {
	if !errors.Is(a.turn.why, errStopped) { // what a person stopped is not asked again
		a.turn.why = why
	}
	a.turn.slot.Finish(preview.Ending{Keep: true, Stopped: true})
	if errors.Is(why, errStopped) {
		a.turn.slot.Cut() // not even a final that is on its way
		if a.turn.stored.Load() {
			a.cut(a.turn.id)
		}
	}
	a.turn.cancel(why)
}
