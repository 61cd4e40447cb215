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

// Reasons for interrupting a turn.
var (
	errNewMessage = errors.New("a new message came")
	errStopped    = errors.New("stopped by command")
	errUnseen     = errors.New("nobody can see the reply any more")
)

// Turns keeps the unfinished turns, so that they resume after a restart.
type Turns interface {
	// Begin stores a turn as running, or counts one more run of it. A turn with an Ending is decided from the
	// start.
	Begin(ctx context.Context, t chat.Turn) error
	// Join assigns waiting messages to the running turn that took them: the turn answers them too. It ignores
	// messages that are not waiting any more.
	Join(ctx context.Context, turn string, ids ...chat.MessageID) error
	// Release ends a turn that answered nothing: its messages wait again, as if it had not begun. Its usage
	// still counts.
	Release(ctx context.Context, turn string, used ...chat.Usage) error
	// Unfinished returns the turns that have begun and not ended, oldest first.
	Unfinished(ctx context.Context) ([]chat.Turn, error)
}

// turn is a question and the reply to it. The actor owns it; result, err and outcome may be read once done is
// closed.
type turn struct {
	id          string
	began       time.Time
	in          chat.Inbound // the newest message that it answers
	messages    []chat.Inbound
	question    agent.Message
	history     history.History // the history that the model reads
	offers      queue.Offers    // messages that arrive during the turn
	slot        *preview.Slot
	progress    progress // state of its tool calls; used by the goroutine that runs the model
	thinksAloud bool     // people see the model's thoughts
	journal     *history.Journal
	approvals   *approval.Approvals // its proposals, open and decided
	mentioned   string              // id of the proposal for which inTheWay has told the asker
	earlier     history.Replay      // state restored from earlier processes
	cancel      context.CancelCauseFunc
	done        chan struct{}
	stored      atomic.Bool // the store has the turn

	why       error          // reason for the interruption; nil if not interrupted
	runs      int            // how often it was begun
	edited    []chat.Inbound // its messages as the asker edited them; it runs again with these
	unseen    bool           // it ended because nobody could see the reply
	void      bool           // its conversation was deleted before it ended
	fixed     bool           // it was answered with a fixed text, without a model
	stoppedBy *chat.Inbound  // the /stop that ended it
	then      []func()       // functions to run after its end

	replaces  string           // id of the turn whose question it asks again
	retries   []chat.MessageID // ids of queued messages that ask its question again
	recovered bool             // its ending was known from the start, from an earlier process or turn

	delivery delivery

	result  agent.Result
	err     error
	broken  error // a panic while the ending was being stored
	outcome preview.Outcome
}

// newID returns the id of a turn. The store keeps it for a week, and the keys of all messages of the reply
// contain it, so ids must be unique.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// shortID returns the beginning of an id: short enough to be read out, and long enough to find the turn in the
// log.
func shortID(id string) string { return id[:min(len(id), 8)] }

// start runs the model and the preview concurrently; done closes when both have ended.
func (a *actor) start(rec chat.Turn) {
	t := a.prepare(&rec)
	if t == nil {
		return
	}
	log := a.log.With(slog.String("turn", t.id))
	// If the turn runs again, it is already stored, and the store only counts the run.
	t.stored.Store(a.storeTurn(rec) || rec.Runs > 0)
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(a.g.turns)
	streaming := a.endpoint.streaming()
	log.Info("turn begins", slog.String("user", string(t.in.Sender.ID)))
	a.turn = t
	a.nameThread(t)
	opts := a.replyTo(rec, t.slot, streaming)
	opts.Before, opts.Troubled, opts.Taken = a.earlier(), a.inTrouble(t), a.taken[rec.ID]
	go func() {
		defer a.poke() // so that the actor collects a parked turn
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
			t.cancel(errUnseen) // no effect if the model has ended
		})
		t.result, t.err = guarded(func() (agent.Result, error) { return a.think(ctx, t, streaming.Enabled) })
		if t.result.UsageByModel == nil { // no model was asked, or a panic lost the result
			t.result.UsageByModel = t.journal.LastUsage()
		}
		t.unseen = errors.Is(context.Cause(ctx), errUnseen)
		a.finish(ctx, t)
		close(t.delivery.decided)
		a.poke() // the actor can park the turn if its ending can't be shown
		showing.Wait()
		a.rest(rec.To)
	}()
}

// prepare creates the turn of a record. It returns nil if the process ends. It also returns nil, and tells the person, if
// the history can't be read, or if the record is a retry and there is no question to repeat.
func (a *actor) prepare(rec *chat.Turn) *turn {
	t := &turn{
		id: rec.ID, in: rec.Messages[len(rec.Messages)-1], messages: rec.Messages,
		slot: preview.NewSlot(), done: make(chan struct{}), began: time.Now(),
		thinksAloud: a.g.current().ShowReasoning, runs: rec.Runs + 1, delivery: delivery{decided: make(chan struct{})},
	}
	t.approvals = a.approver(t)
	if len(rec.Steps) > 0 {
		a.takeUpSteps(t, rec.Steps)
	}
	t.earlier.Usage = a.earlierUsage(*rec, t.earlier)
	t.earlier.HandedOver += a.g.excusedRuns(*rec, t.earlier.Through)
	t.journal = history.NewJournal(a.g.store.steps, rec.ID, rec.Runs+1, t.earlier)
	if rec.Runs > t.earlier.Through { // the next process must not estimate this usage again
		if err := t.journal.StoreUsage(a.g.deliveries, t.earlier.Usage); err != nil {
			a.log.Error("the turn's usage was not stored", slog.String("turn", t.id), slog.Any("error", err))
		}
	}
	a.g.forgetExcuse(rec.ID)
	var err error
	if t.history, err = a.past(); err != nil {
		if a.g.deliveries.Err() == nil { // otherwise the next process, or another replica, answers
			id := newID()
			a.log.Error("history could not be read", slog.String("turn", id), slog.Any("error", err))
			a.owe(TextFailed, id, rec.Messages...)
		}
		return nil
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
	t.question = history.Join(t.question, a.words(rec.Messages[1:]...)) // messages that the turn took before a restart
	return t
}

// nothingToRetry answers a retry if there is no question to repeat. It stores this answer at once, because after a
// restart there might be a question.
func (a *actor) nothingToRetry(rec chat.Turn) {
	text := a.g.texts()[TextNothingToRetry]
	if rec.Runs == 0 {
		a.say(rec.Messages[len(rec.Messages)-1], text)
		return
	}
	// The turn already ran in an earlier process, so it must end here: otherwise the turn that answers would take
	// over its messages, and this turn would stay in the store.
	e := preview.Ending{Text: text}
	a.decide(rec.ID, e, chat.Growth{Usage: a.shown(rec).Usage})
	a.conclusion(rec, e, preview.Outcome{})
}

// takeUpSteps restores a turn from the journal of earlier processes.
func (a *actor) takeUpSteps(t *turn, steps []chat.Step) {
	var err error
	t.earlier, err = history.Read(steps)
	if err = errors.Join(err, t.approvals.Replay(steps)); err != nil {
		panic(err) // guard logs it and tells the person
	}
	t.approvals.Resume(time.Now())
	if cut := t.earlier.CutOff(); len(cut) > 0 {
		a.log.Warn("a tool was running when the process died: its outcome is unknown, and it is not run again",
			slog.String("turn", t.id), slog.Any("calls", cut))
	}
}

// think reads the attachments and runs the model.
func (a *actor) think(ctx context.Context, t *turn, stream bool) (agent.Result, error) {
	if t.question.Role == "" {
		question, line := a.read(ctx, t)
		if ctx.Err() != nil { // the actions of earlier processes must still be recorded
			t.question = a.words(t.messages...)
			return agent.Result{Stop: agent.StopCancelled, Append: agent.Mended(t.earlier.Said, t.earlier.Started)},
				&agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
		}
		if line != "" {
			t.fixed = true
			return agent.Result{Text: line, Stop: agent.StopDone}, nil
		}
		t.question = question
	}
	now := a.g.current()
	s := a.settings(now, t.history.Session, t.in.Sender.ID)
	return now.Runner.Run(ctx, agent.Turn{
		ID: t.id, Stream: stream, Model: s.model.Name, System: s.system, Context: a.context(t.in), Summary: t.history.Summary, Tools: s.tools,
		Person: a.person(t.in).String(), Conversation: a.conversation.String(), Shared: t.in.To.Kind != chat.Private,
		Messages: append(slices.Clip(t.history.Messages), t.question),
		More:     func(ctx context.Context) []agent.Message { return a.more(ctx, t) },
		Journal:  t.journal, Approver: t.approvals,
		Steps: t.earlier.Said, StartedCalls: t.earlier.Started, ProposedCalls: t.approvals.Calls(), Files: t.earlier.Files,
		EarlierUsage: t.earlier.Usage,
	}, t.fold)
}

// read returns the question for the model. If nothing in the messages can be read, it returns a text for the
// person instead.
func (a *actor) read(ctx context.Context, t *turn) (agent.Message, string) {
	from := attachment.Sources{Hear: a.g.current().Hear, Reading: a.reading(), Messages: t.history.Unquoted(t.messages), Thread: a.thread(ctx, t), Log: a.log}
	if a.endpoint.account().fetcher != nil {
		from.Fetch = a.endpoint.account().fetcher.Fetch
	}
	q := a.g.reader.Read(ctx, from)
	switch {
	case q.Message.Role != "":
		return q.Message, ""
	case q.Unheard && len(q.Failed) == 1:
		return q.Message, a.g.texts()[TextNoVoice]
	case len(q.Failed) > 0:
		return q.Message, a.g.texts().fill(TextUnreadable, "files", strings.Join(q.Failed, ", "))
	default:
		return q.Message, a.g.texts()[TextUnsupported]
	}
}

// more gives the running turn the messages offered to it, which the turn then answers too.
func (a *actor) more(ctx context.Context, t *turn) []agent.Message {
	if ctx.Err() != nil {
		return nil
	}
	messages, err := t.offers.Take(a.words, func(ids []chat.MessageID) error {
		return a.g.store.turns.Join(context.WithoutCancel(ctx), t.id, ids...) // taken messages must be stored
	})
	if err != nil {
		a.log.Error("messages were not passed to the running turn; they wait for the next one", slog.String("turn", t.id), slog.Any("error", err))
	}
	return messages
}

// answered returns all messages that the turn answers.
func (t *turn) answered() []chat.Inbound { return slices.Concat(t.messages, t.offers.Joined()) }

// guarded runs a turn's work and returns a panic in it as an error.
func guarded(work func() (agent.Result, error)) (res agent.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res.Stop = ""
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// fold applies an event to the preview.
func (t *turn) fold(e agent.Event) {
	switch e := e.(type) {
	case agent.Text:
		t.slot.Append(e.Delta, agent.EstimateTokens(e.Delta))
	case agent.Reset:
		t.slot.Reset()
		if t.thinksAloud {
			t.slot.SetStatus(t.progress.rethink())
		}
	case agent.Tool:
		if status, changed := t.progress.tell(e, time.Now()); changed {
			t.slot.SetStatus(status)
		}
	case agent.Reasoning:
		if !t.thinksAloud {
			return
		}
		if status, changed := t.progress.think(e.Delta, time.Now()); changed {
			t.slot.SetStatus(status)
		}
	}
}

// interrupt ends the running turn now: it closes the connection to the model, and the visible messages stay as they
// are. Of several reasons the first one counts, so that an edited question is answered before a message that came
// after the edit. Only errStopped replaces an earlier reason: a question that a person stopped is not asked again.
func (a *actor) interrupt(why error) {
	if a.turn.why == nil || errors.Is(why, errStopped) {
		a.turn.why = why
	}
	edited := errors.Is(why, errEdited) // then the next run takes the messages over as they are
	a.turn.slot.Finish(preview.Ending{Keep: true, Stand: edited, Stopped: !edited})
	if errors.Is(why, errStopped) {
		a.turn.slot.Cut() // stop even a final that is being delivered
		if a.turn.stored.Load() {
			a.cut(a.turn.id, a.turn.slot.Ending())
		}
	}
	a.turn.cancel(why)
}
