package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"telex/agent"
	"telex/gateway/history"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// maxRuns is the maximum number of attempts to run a turn: the first attempt, and one more after each of two crashes.
// So a turn that crashes every process is not repeated forever. An attempt that a shutdown or a lost lease interrupted
// does not count. An attempt that was interrupted because the asker edited the question does count.
const maxRuns = 3

// leftover is the unfinished work of an earlier process in one conversation.
type leftover struct {
	turns    []chat.Turn
	messages []queue.Message
}

// leftovers is the unfinished work of earlier processes in all conversations. The field order is the order in which
// the conversations resume.
type leftovers struct {
	of    map[chat.Conversation]*leftover
	order []chat.Conversation
}

func (l *leftovers) in(c chat.Conversation) *leftover {
	if l.of[c] == nil {
		l.of[c] = &leftover{}
		l.order = append(l.order, c)
	}
	return l.of[c]
}

// takeUp reads the unfinished work of earlier processes from the store, and passes it to the actors.
func (g *Gateway) takeUp(ctx context.Context) error {
	if err := g.policy.Load(ctx); err != nil {
		return err
	}
	g.adviseMoves()
	if err := g.restoreBlocks(ctx, g.current().endpoints); err != nil {
		return err
	}
	left, err := g.leftovers(ctx, func(chat.EndpointID) bool { return true })
	if err != nil {
		return err
	}
	g.resumeAll(left)
	return nil
}

// restoreBlocks passes the stored rate-limit blocks of endpoints to the endpoints' budgets.
func (g *Gateway) restoreBlocks(ctx context.Context, endpoints map[chat.EndpointID]*endpoint) error {
	for id, e := range endpoints {
		blocks, err := g.store.blocks.Blocks(ctx, id)
		if err != nil {
			return fmt.Errorf("read blocks: %w", err)
		}
		for _, b := range blocks {
			e.budget.Restore(b)
		}
	}
	return nil
}

// The method leftovers reads from the store the unfinished work of earlier processes at the endpoints for which the parameter
// of returns true.
func (g *Gateway) leftovers(ctx context.Context, of func(chat.EndpointID) bool) (leftovers, error) {
	left := leftovers{of: make(map[chat.Conversation]*leftover)}
	turns, err := g.store.turns.Unfinished(ctx)
	if err != nil {
		return left, fmt.Errorf("read unfinished turns: %w", err)
	}
	pending, err := g.store.inbox.Pending(ctx)
	if err != nil {
		return left, fmt.Errorf("read accepted messages: %w", err)
	}
	for _, rec := range turns {
		if of(rec.Conversation.Endpoint) {
			l := left.in(rec.Conversation)
			l.turns = append(l.turns, rec)
		}
	}
	for _, p := range pending {
		if of(p.Conversation.Endpoint) {
			l := left.in(p.Conversation)
			l.messages = append(l.messages, queue.Message{Inbound: p.Message, Accepted: p.Accepted, Runs: p.Begun})
		}
	}
	return left, nil
}

// resumeAll passes the unfinished work to all actors before any of them begins, because a waiting command may be about
// a running turn. Once the actors have the work, only a few of them resume at the same time. Conversations with
// unfinished turns resume first, the oldest turn first, because people can see that the replies are unfinished.
// Conversations with waiting messages but without an unfinished turn resume last.
func (g *Gateway) resumeAll(left leftovers) {
	turns, messages, found := 0, 0, time.Now()
	for _, c := range left.order {
		l, e := left.of[c], g.current().endpoints[c.Endpoint]
		turns, messages = turns+len(l.turns), messages+len(l.messages)
		for _, rec := range l.turns {
			g.assume(e, rec.To)
			for i, in := range rec.Messages {
				rec.Messages[i] = g.adopt(in, c.Endpoint)
			}
		}
		for i, m := range l.messages {
			l.messages[i].Inbound = g.adopt(m.Inbound, c.Endpoint)
			if g.shared != nil { // another replica may have called the platform for this chat just before
				g.assume(e, m.To)
			}
		}
		for _, m := range l.messages {
			if m.Kind == chat.AccessRequest { // open the request now, so that a further message gets no second code
				g.policy.NeedsCode(chat.Person{Endpoint: c.Endpoint, User: m.Sender.ID}, m.Sender.Name)
			}
		}
	}
	for _, c := range left.order {
		l := left.of[c]
		g.wake(c, func(a *actor) {
			if a.started { // the actor already runs, because this chat was merged with another chat
				a.orders = append(a.orders, func() {
					a.left, a.found, a.merged = append(a.left, l.turns...), found, append(a.merged, l.messages...)
					a.takesOver(l.turns)
				})
				return
			}
			a.left, a.found, a.inbox, a.ticket = l.turns, found, l.messages, a.endpoint.restored.Enter(a.poke)
			a.takesOver(l.turns)
			for _, m := range l.messages {
				a.inherit(m.Inbound)
			}
			for _, rec := range l.turns { // the messages of a turn no longer wait
				for _, in := range rec.Messages {
					a.inherit(in)
				}
				a.unmark(rec.Messages...)
			}
		})
	}
	if turns+messages > 0 {
		g.Log.Info("continuing where the last process ended", slog.Int("turns", turns), slog.Int("messages", messages))
	}
}

// takesOver records when this replica took over turns from another replica. The other replica may still be running, and
// its last call may change the reply after this replica has taken over the turn.
func (a *actor) takesOver(turns []chat.Turn) {
	for _, rec := range turns {
		if a.g.shared != nil {
			a.taken[rec.ID] = a.found
		}
	}
}

// assume lets the budget count the calls that another process may have made in a chat before this process took over.
func (g *Gateway) assume(e *endpoint, to chat.Target) {
	switch {
	case e == nil:
	case g.shared != nil:
		e.budget.AssumeChat(chat.Call{To: to, Limits: e.account().Platform.Profile(to).Limits})
	default:
		e.budget.Assume(chat.Call{To: to, Limits: e.account().Platform.Profile(to).Limits})
	}
}

// resume continues a turn that an earlier process began: it delivers the stored ending, ends the turn, or runs the turn again.
func (a *actor) resume(rec chat.Turn) {
	log := a.log.With(slog.String("turn", rec.ID))
	if e, known := a.known(rec); known {
		log.Info("delivering the ending of an earlier process")
		a.endpoint.resumed()
		a.conclusion(rec, e, preview.Outcome{})
		return
	}
	if rec.User != "" && !a.g.policy.Allows(a.conversation, rec.User) { // older versions stored no User
		log.Info("turn of an earlier process is left as it is: the asker no longer has access")
		a.leave(rec, a.shown(rec))
		return
	}
	asked := a.approvals(rec.ID, rec.User)
	r, err := history.Read(rec.Steps)
	if err = errors.Join(err, asked.Replay(rec.Steps)); err != nil {
		panic(err) // guard logs the panic and tells the person
	}
	a.endpoint.resumed()
	crashes := rec.Runs - r.HandedOver - a.g.excusedRuns(rec, r.Through)
	// A turn that waits for a person's decision runs again, however old it is and however often a process crashed.
	if (crashes >= maxRuns || a.found.Sub(rec.Began) > a.g.current().MaxAge) && !asked.Pending(a.found, r.Ran) {
		log.Warn("closing a turn of an earlier process", slog.Int("runs", rec.Runs), slog.Int("crashes", crashes), slog.Time("began", rec.Began))
		key := TextInterrupted
		if crashes >= maxRuns {
			key = TextFailed
		}
		e := preview.Ending{Text: history.Shown(rec.Parts), Cut: true, Note: lined(a.g.texts().line(key, rec.ID), a.g.texts().carriedOut(asked, history.Changes(r.Said, r.Changing)))}
		a.decide(rec.ID, e, a.shown(rec))
		a.conclusion(rec, e, preview.Outcome{})
		return
	}
	log.Info("running a turn of an earlier process again", slog.Int("runs", rec.Runs))
	a.start(rec)
}

// The method shown returns what a turn of an earlier process adds to the history if the turn does not run again: the question
// and the part of the answer that people saw.
func (a *actor) shown(rec chat.Turn) (g chat.Growth) {
	r, err := history.Read(rec.Steps)
	if err != nil {
		a.log.Error("tool results were not stored", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	g.Usage = history.Usage(a.earlierUsage(rec, r))
	question, kept := a.words(rec.Messages...), r.Kept(rec.Parts)
	if rec.Replaces != "" {
		p, err := a.past()
		if err != nil {
			a.log.Error("history was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
			return g
		}
		_, question, _ = p.Without(rec.Replaces)
		question = history.Join(question, a.words(rec.Messages[1:]...))
	}
	if question.Text == "" || len(kept) == 0 {
		return g
	}
	if g.History, err = history.Encode(append([]agent.Message{question}, kept...)); err != nil {
		a.log.Error("history was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	return g
}

// The method known returns the ending of a turn that an earlier process began. The method known returns false if the turn must
// run again, because its ending is not stored.
func (a *actor) known(rec chat.Turn) (preview.Ending, bool) {
	if rec.State != chat.TurnDecided {
		return preview.Ending{Keep: true, Stopped: true}, rec.Void
	}
	e, err := decodeEnding(rec.Ending)
	if err != nil {
		panic(fmt.Errorf("read ending of turn %s: %w", rec.ID, err)) // guard logs the panic and tells the person
	}
	return e, true
}

// conclusion shows the stored ending of a turn that an earlier process began. While the ending is delivered, the turn
// counts as the actor's running turn, so that the next answer comes below the turn's reply.
func (a *actor) conclusion(rec chat.Turn, e preview.Ending, after preview.Outcome) {
	a.turn = a.redeliver(rec, e, after)
}

// redeliver starts to show the known ending of a turn. The parameter after is the outcome of the last attempt to show
// the turn's reply, if this process made that attempt.
func (a *actor) redeliver(rec chat.Turn, e preview.Ending, after preview.Outcome) *turn {
	in := chat.Inbound{To: rec.To}
	if n := len(rec.Messages); n > 0 {
		in = rec.Messages[n-1]
	}
	t := &turn{
		id: rec.ID, in: in, messages: rec.Messages, approvals: a.approvals(rec.ID, rec.User), recovered: true,
		slot: preview.NewSlot(), cancel: func(error) {}, done: make(chan struct{}), began: time.Now(),
		delivery: delivery{decided: make(chan struct{}), growth: chat.Growth{Undecided: a.unstoredUsage(rec)}},
	}
	close(t.delivery.decided)
	t.stored.Store(true)
	t.slot.Finish(e)
	opts := a.replyTo(rec, t.slot, a.endpoint.streaming())
	opts.Before, opts.Troubled, opts.After, opts.Taken = a.earlier(), a.inTrouble(t), after, a.taken[rec.ID]
	go func() {
		defer a.poke() // the actor must collect the turn if it is parked
		defer close(t.done)
		t.outcome = show(a.g.deliveries, opts)
		a.suggestAfter(rec.Messages)
		a.rest(rec.To)
	}()
	return t
}

// The method late checks whether a message has waited too long, or whether maxRuns earlier processes died while they answered
// it. The method late answers such a message with a note instead of an answer, and returns true.
func (a *actor) late(m queue.Message) bool {
	switch {
	case m.Runs >= maxRuns:
		a.owe(TextFailed, newID(), m.Inbound)
	case m.Kind != chat.Command && m.Kind != chat.Button && m.Kind != chat.AccessRequest && m.Kind != chat.Opened && time.Since(m.WaitsSince()) > a.g.current().MaxAge:
		a.owe(TextLate, "", m.Inbound)
	default:
		return false
	}
	return true
}

// handOver stores the usage of a turn that a shutdown ended, and leaves the turn to the next process.
func (a *actor) handOver(t *turn) {
	a.storeUsage(t, t.journal.HandOver)
	a.handed = append(a.handed, t.id)
}

// recall reads from the store the turns that this process has left to the next process. Before this process ends, a message
// such as /stop or the press of a button may still arrive for a turn that is left to the next process. recall returns false if
// it can't read the turns.
func (a *actor) recall() bool {
	if len(a.handed) == 0 {
		return true
	}
	turns, err := a.g.store.turns.Unfinished(a.g.deliveries)
	if err != nil {
		a.log.Error("turns that the next process continues were not read", slog.Any("error", err))
		return false
	}
	for _, rec := range turns {
		if slices.Contains(a.handed, rec.ID) {
			a.left = append(a.left, rec)
		}
	}
	a.handed = nil
	return true
}
