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

// These errors are reasons for interrupting a turn.
var (
	errNewMessage = errors.New("a new message came")
	errStopped    = errors.New("stopped by command")
	errUnseen     = errors.New("nobody can see the reply any more")
)

// Turns stores the unfinished turns, so that the next process can resume them.
type Turns interface {
	// Begin stores a new turn as running. If the turn is already stored, Begin counts one more attempt to run the turn. If
	// the record has an Ending, Begin stores the turn as decided (chat.TurnDecided), because no model has to answer.
	Begin(ctx context.Context, t chat.Turn) error
	// Join assigns waiting messages to the running turn that has taken them, so that the turn answers them too. Join
	// ignores messages that no longer wait.
	Join(ctx context.Context, turn string, ids ...chat.MessageID) error
	// Release ends a turn that has answered nothing. The messages of a released turn wait again, as if the turn had
	// not begun. The usage of a released turn still counts.
	Release(ctx context.Context, turn string, used ...chat.Usage) error
	// Unfinished returns the turns that have begun and have not ended, oldest first.
	Unfinished(ctx context.Context) ([]chat.Turn, error)
}

// turn is a question and the reply to it. The actor owns the turn. The actor may read a turn's result, err and
// outcome once done is closed.
type turn struct {
	id          string
	began       time.Time
	in          chat.Inbound // newest message that the turn answers
	messages    []chat.Inbound
	question    agent.Message
	history     history.History // the history that the model reads
	offers      queue.Offers    // messages that arrive during the turn
	slot        *preview.Slot
	progress    progress // state of the tool calls; used by the goroutine that runs the model
	thinksAloud bool     // people see the model's thoughts
	journal     *history.Journal
	approvals   *approval.Approvals // proposals of the turn, open and decided
	mentioned   string              // id of the proposal for which inTheWay has already told the asker what happens
	earlier     history.Replay      // state that earlier processes stored in the journal
	cancel      context.CancelCauseFunc
	done        chan struct{}
	stored      atomic.Bool // the store has the turn

	why       error          // reason for the interruption; nil if not interrupted
	runs      int            // number of attempts to run the turn, including this one
	edited    []chat.Inbound // messages that the asker edited; the turn runs again with the new texts
	unseen    bool           // the turn ended because nobody could see the reply
	void      bool           // the turn was undone, or its conversation deleted, before the turn ended
	fixed     bool           // the answer is a fixed text, and no model was asked
	stoppedBy *chat.Inbound  // the /stop command that ended the turn
	then      []func()       // functions to run after the turn's end

	replaces  string           // id of the turn whose question this turn asks again
	retries   []chat.MessageID // ids of queued messages that ask this turn's question again
	recovered bool             // the ending was known from the start: an earlier process or attempt decided it

	delivery delivery

	result  agent.Result
	err     error
	broken  error // a panic while the ending was being stored
	outcome preview.Outcome
}

// newID returns a random id for a turn. A turn's id must be unique, because the store keeps the id for a week. The
// idempotency keys of the calls that create the reply's messages contain the id.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// shortID returns the beginning of a turn's id. A short id is easy to read out, and long enough to find the turn in the log.
func shortID(id string) string { return id[:min(len(id), 8)] }

// start begins a turn: it runs the model and the preview concurrently. The channel done is closed when the model and
// the preview have ended.
func (a *actor) start(rec chat.Turn) {
	t := a.prepare(&rec)
	if t == nil {
		return
	}
	log := a.log.With(slog.String("turn", t.id))
	// If the turn runs again, it is already stored, and the store only counts the attempt.
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
		defer a.poke() // the actor must collect the turn if it is parked
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
			t.cancel(errUnseen) // has no effect if the model has already finished
		})
		t.result, t.err = guarded(func() (agent.Result, error) { return a.think(ctx, t, streaming.Enabled) })
		if t.result.UsageByModel == nil { // no model was asked, or a panic prevented the result
			t.result.UsageByModel = t.journal.LastUsage()
		}
		t.unseen = errors.Is(context.Cause(ctx), errUnseen)
		a.finish(ctx, t)
		close(t.delivery.decided)
		a.poke() // the actor may have to park the turn now
		showing.Wait()
		a.rest(rec.To)
	}()
}

// prepare creates a turn from its record. If the history can't be read, the method prepare returns nil, and tells the person
// unless the process is ending. If a /retry finds no question to repeat, the method prepare tells the person and returns
// nil.
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
	if rec.Runs > t.earlier.Through { // stored so that the next process does not estimate this usage again
		if err := t.journal.StoreUsage(a.g.deliveries, t.earlier.Usage); err != nil {
			a.log.Error("the turn's usage was not stored", slog.String("turn", t.id), slog.Any("error", err))
		}
	}
	a.g.forgetExcuse(rec.ID)
	var err error
	if t.history, err = a.past(); err != nil {
		if a.g.deliveries.Err() == nil { // after the context deliveries has ended, the next process or another replica answers
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
	t.question = history.Join(t.question, a.words(rec.Messages[1:]...)) // messages that joined the turn before a restart
	return t
}

// nothingToRetry answers a /retry command that finds no question to repeat. nothingToRetry stores the answer at once,
// because after a restart the history may contain a question.
func (a *actor) nothingToRetry(rec chat.Turn) {
	text := a.g.texts()[TextNothingToRetry]
	if rec.Runs == 0 {
		a.say(rec.Messages[len(rec.Messages)-1], text)
		return
	}
	// The turn already ran in an earlier process, so the turn itself must give the answer that there is no question. If a new
	// turn gave the answer, the new turn would take over the messages, and the old turn would stay in the store forever.
	e := preview.Ending{Text: text}
	a.decide(rec.ID, e, chat.Growth{Usage: a.shown(rec).Usage})
	a.conclusion(rec, e, preview.Outcome{})
}

// takeUpSteps restores the state of a turn from the journal that earlier processes stored.
func (a *actor) takeUpSteps(t *turn, steps []chat.Step) {
	var err error
	t.earlier, err = history.Read(steps)
	if err = errors.Join(err, t.approvals.Replay(steps)); err != nil {
		panic(err) // guard logs the panic and tells the person
	}
	t.approvals.Resume(time.Now())
	if cut := t.earlier.CutOff(); len(cut) > 0 {
		a.log.Warn("a tool was running when the process died: its outcome is unknown, and it is not run again",
			slog.String("turn", t.id), slog.Any("calls", cut))
	}
}

// think reads the attachments of the question and runs the model.
func (a *actor) think(ctx context.Context, t *turn, stream bool) (agent.Result, error) {
	if t.question.Role == "" {
		question, line := a.read(ctx, t)
		if ctx.Err() != nil { // the history must still record the tool calls of earlier processes
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

// The method read returns the question for the model. If no content of the messages can be read, the method read returns a
// text that tells the person this.
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

// The method more returns the messages that were offered to the running turn. The turn passes the returned messages to the
// model and answers them too.
func (a *actor) more(ctx context.Context, t *turn) []agent.Message {
	if ctx.Err() != nil {
		return nil
	}
	messages, err := t.offers.Take(a.words, func(ids []chat.MessageID) error {
		return a.g.store.turns.Join(context.WithoutCancel(ctx), t.id, ids...) // WithoutCancel: taken messages must be stored
	})
	if err != nil {
		a.log.Error("messages were not passed to the running turn; they wait for the next one", slog.String("turn", t.id), slog.Any("error", err))
	}
	return messages
}

// The method answered returns all messages that the turn answers, including those that arrived while it ran.
func (t *turn) answered() []chat.Inbound { return slices.Concat(t.messages, t.offers.Joined()) }

// guarded runs the function work. If the function work panics, guarded returns the panic as an error.
func guarded(work func() (agent.Result, error)) (res agent.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res.Stop = ""
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// fold applies an event of the agent to the preview of the reply.
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

// interrupt ends the running turn at once. interrupt closes the connection to the model, and the visible messages stay. If
// the method interrupt is called again with another reason, the first reason counts, so that an edited question is answered
// before a message that came after the edit. Only errStopped replaces an earlier reason, because a question that a person
// stopped must not be asked again.
func (a *actor) interrupt(why error) {
	if a.turn.why == nil || errors.Is(why, errStopped) {
		a.turn.why = why
	}
	edited := errors.Is(why, errEdited) // if so, the turn runs again and continues in the visible messages
	a.turn.slot.Finish(preview.Ending{Keep: true, Stand: edited, Stopped: !edited})
	if errors.Is(why, errStopped) {
		a.turn.slot.Cut() // stops the delivery even if it is showing the final
		if a.turn.stored.Load() {
			a.cut(a.turn.id, a.turn.slot.Ending())
		}
	}
	a.turn.cancel(why)
}
