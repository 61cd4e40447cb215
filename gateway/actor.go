package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"telex/gateway/access"
	"telex/gateway/attachment"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// actor handles the messages of one conversation, in a goroutine of its own. The gateway's mutex guards the fields
// inbox, orders, started, given and aliases. Only the actor's goroutine uses the other fields of the actor, unless
// their types are safe for concurrent use.
type actor struct {
	g            *Gateway
	endpoint     *endpoint
	conversation chat.Conversation
	aliases      []chat.Conversation // newer ids of the conversation, after its chat's id changed; guarded by the gateway's mutex
	log          *slog.Logger

	inbox   []queue.Message
	orders  []func()      // functions that other goroutines let the actor run, for example for an operator
	started bool          // the actor's goroutine runs, so only it may use the field left; guarded like inbox
	given   time.Time     // when the oldest entry of inbox and orders arrived; zero: both are empty; guarded like inbox
	news    chan struct{} // capacity 1: signals that the inbox or the gateway has changed, or that an answer has ended

	left    []chat.Turn                      // turns of an earlier process, which are resumed first
	handed  []string                         // ids of turns that a shutdown left to the next process
	merged  []queue.Message                  // messages that came under another id of the chat; they wait until the turn ends
	found   time.Time                        // when the fields left and merged were read; decides which of the turns are too old
	taken   map[string]time.Time             // when each turn was taken over from another replica, by turn id
	ticket  *queue.Ticket                    // place in the queue of conversations that resume after a restart; nil: no wait
	queue   queue.Queue                      // messages that wait for their turn
	owed    []note                           // lines with a fixed text that the actor still has to send; see the method pay
	turn    *turn                            // the running turn; nil if no turn runs
	parked  []*turn                          // earlier turns whose replies are still being delivered
	writes  writes                           // writes that the store has not accepted yet
	marked  map[chat.MessageID]chan struct{} // messages on which the bot shows a sign that they wait; see mark and inherit
	answers sync.WaitGroup                   // goroutines that send command answers, or that show and remove signs
	saying  atomic.Int32                     // number of command answers being sent
	stalled atomic.Int32                     // number of command answers that can't be shown now; not counted in saying
	seen    atomic.Pointer[glimpse]          // the actor's state, as Overview shows it; nil: nothing yet
	arrived atomic.Bool                      // another answer has removed the running turn's draft, which must be sent again
}

// maxFixedLines is the maximum number of lines with a fixed text, such as answers to commands, that are being sent in
// one conversation at the same time. Without this limit, a person who repeats a command quickly could start any number
// of calls to the platform.
const maxFixedLines = 5

func newActor(g *Gateway, e *endpoint, c chat.Conversation) *actor {
	return &actor{
		g: g, endpoint: e, conversation: c, news: make(chan struct{}, 1), queue: queue.New(g.queueRules()),
		marked: make(map[chat.MessageID]chan struct{}), taken: make(map[string]time.Time),
		log: g.Log.With(slog.String("conversation", c.String())),
	}
}

// poke wakes the actor. poke never blocks.
func (a *actor) poke() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// run handles messages until nothing is left to do. run first resumes the turns that an earlier process began,
// because their questions are older than the new messages.
func (a *actor) run() {
	defer a.answers.Wait()
	defer func() { // remove the signs of waiting messages, because the chat's next owner does not know the signs
		for _, over := range a.marked {
			if over != nil {
				close(over)
			}
		}
	}()
	defer a.ticket.Leave()
	for {
		a.queue.SetRules(a.g.queueRules())
		a.publish()
		a.takeIn()
		a.collect()
		a.retryWrites()
		if a.ticket.Waits() && a.hasWork() && !a.g.isStopping() {
			<-a.news
			continue
		}
		a.pay()
		switch {
		case a.turn != nil && a.parkable(a.turn):
			a.park()
		case a.turn != nil:
			if a.turn.approvals.Waiting() && a.g.isStopping() {
				a.turn.cancel(errShutdown) // the turn only waits for a person's decision, for which the next process can wait too
			}
			select {
			case <-a.news:
			case <-a.turn.done:
				t := a.turn
				a.turn = nil
				a.tellPanic(t.messages, a.conclude(t))
				// If the turn must start over, the turn does so before the actor reads new messages. An edit of the question that
				// has arrived meanwhile is then applied to the restarted turn.
				if len(a.left) > 0 && a.left[0].ID == t.id && !a.unstored() {
					a.resumeFirst()
				}
			}
		case a.unstored():
			select {
			case <-a.news:
			case <-a.g.deliveries.Done():
			}
		case len(a.left) > 0 && !a.g.isStopping():
			a.resumeFirst()
		case a.queue.Len() > 0 && !a.g.isStopping():
			if wait := a.queue.Ripens(); wait > 0 {
				a.idle(wait)
				continue
			}
			messages, requeued := a.queue.Next()
			a.guard(nil, a.storeOwed)
			a.guard(messages, func() { a.begin(messages, requeued) })
		case a.saying.Load()+a.stalled.Load() > 0, len(a.parked) > 0: // the actor must not end during these deliveries
			<-a.news
		case len(a.owed) > 0 && !a.g.isStopping(): // the last command answer ended just now: the next iteration sends the next line
		default:
			if a.g.retire(a) {
				return
			}
		}
	}
}

// takeIn handles the messages and orders that arrived since the last call of takeIn.
func (a *actor) takeIn() {
	messages, orders := a.g.take(a)
	a.guard(nil, func() {
		if len(messages)+len(orders) > 0 && !a.recall() {
			messages = nil // the store still has the messages, so the next process handles them
		}
	})
	a.sortAll(messages)
	for _, order := range orders {
		a.guard(nil, order)
	}
	if a.turn == nil {
		messages, a.merged = a.merged, nil
		a.sortAll(messages)
	}
}

// resumeFirst resumes the first turn that an earlier process began, unless the daemon is stopping.
func (a *actor) resumeFirst() {
	if a.g.isStopping() {
		return
	}
	rec := a.left[0]
	a.left = a.left[1:]
	a.guard(rec.Messages, func() { a.resume(rec) })
}

// hasWork reports whether turns, messages or lines with a fixed text wait. Commands never wait, because the actor runs
// them at once.
func (a *actor) hasWork() bool { return len(a.left)+a.queue.Len()+len(a.owed) > 0 }

// idle waits until the duration d has passed or poke wakes the actor.
func (a *actor) idle(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.news:
	}
}

// guard runs f. If f panics, only this conversation is affected. After a panic in f, guard logs the panic and answers
// the given messages with one error line, because no turn will answer them.
func (a *actor) guard(messages []chat.Inbound, f func()) { a.tellPanic(messages, caught(f)) }

// tellPanic logs a caught panic and answers the messages with an error line.
func (a *actor) tellPanic(messages []chat.Inbound, err error) {
	if err == nil {
		return
	}
	id := newID()
	a.log.Error("panic in a conversation", slog.String("turn", id), slog.Any("error", err))
	if len(messages) > 0 {
		a.owe(TextFailed, id, messages...)
	}
}

// sortAll handles new messages in the order in which they arrived.
func (a *actor) sortAll(messages []queue.Message) {
	for _, m := range messages {
		a.guard([]chat.Inbound{m.Inbound}, func() { a.sort(m) })
	}
}

// sort handles a new message. sort runs a command at once. sort queues other text for a turn, and the text may
// interrupt the running turn.
func (a *actor) sort(m queue.Message) {
	switch {
	case m.Kind == chat.Edited, m.Kind == chat.Deleted:
		a.revise(m.Inbound)
	case m.Kind == chat.Forgotten, m.Kind == chat.Erased:
		a.obey(m.Inbound)
	case a.late(m):
	case m.Kind == chat.AccessRequest:
		a.sendCode(m.Inbound)
	case m.Kind == chat.Opened:
		a.greet(m.Inbound)
	case m.Kind == chat.Oversized:
		a.owe(TextTooLong, "", m.Inbound)
	case m.Kind == chat.Button:
		a.press(m)
	case a.command(m):
	case a.saysYesOrNo(m):
	default:
		a.ask(m)
	}
}

// ask queues a message for a turn. Depending on the configured busy mode, the message interrupts the running turn, or
// is offered to the turn, which may then answer it too.
func (a *actor) ask(m queue.Message) {
	if v := a.g.meter.Look(a.conversation, a.person(m.Inbound)); v != access.Fine {
		a.refuse(v, m.Inbound)
		return
	}
	asked := a.seenQuestion(m)
	asker := a.turn != nil && (m.To.Kind == chat.Private || m.Sender.ID == a.turn.in.Sender.ID)
	switch {
	case a.g.current().Busy == Steer && asker && !a.turn.recovered && m.Text != "" && !attachment.Any([]chat.Inbound{m.Inbound}) && a.queue.Offer(m, &a.turn.offers):
	case !a.enqueue(m):
		a.tooMany(m.Inbound)
		return
	case a.g.current().Busy == Interrupt && asker: // other people must not interrupt an answer that the asker waits for
		a.interrupt(errNewMessage)
	case a.turn != nil:
		a.mark(m.Inbound)
	}
	if asked != nil {
		a.inTheWay(m, asked, a.g.current().Busy == Interrupt)
	}
}

// enqueue queues a message. enqueue returns false if too many messages are queued.
func (a *actor) enqueue(m queue.Message) bool {
	offered := 0
	if a.turn != nil {
		offered = a.turn.offers.Len()
	}
	return a.queue.Add(m, offered)
}

// tooMany tells the sender of a message that too many messages wait. A throttle limits how often this line is sent in
// one conversation.
func (a *actor) tooMany(in chat.Inbound) {
	if !a.g.refused.Allow(a.conversation.String() + " " + string(TextQueueFull)) {
		a.drop(in)
		return
	}
	a.say(in, a.g.texts()[TextQueueFull])
}

// begin starts a turn that answers the messages. If the parameter requeued is true, an interrupted turn put the
// messages back into the queue. The limits per minute have already counted requeued messages, so these limits do not
// refuse them.
func (a *actor) begin(messages []chat.Inbound, requeued bool) {
	a.unmark(messages...)
	last := messages[len(messages)-1]
	if len(queue.Text(messages)) > maxText {
		a.owe(TextTooLong, "", messages...)
		return
	}
	if saysNothing(messages) {
		key := TextUnsupported
		if last.To.Kind == chat.Group {
			key = TextMentioned
		}
		a.owe(key, "", messages...)
		return
	}
	v, err := a.g.meter.Begin(a.g.deliveries, a.conversation, a.person(last))
	switch {
	case a.g.CheckLease(err):
		return
	case err != nil: // people still get answers if the limits can't be checked
		a.log.Error("limits of people could not be checked", slog.Any("error", err))
	case v != access.Fine && !(requeued && (v == access.TooFast || v == access.TooMany)):
		a.refuse(v, messages...)
		return
	}
	a.start(a.record(messages...))
}

// saysNothing reports whether messages contain nothing that a model could answer, for example only the bot's name.
func saysNothing(messages []chat.Inbound) bool {
	return !slices.ContainsFunc(messages, func(m chat.Inbound) bool {
		quotes := slices.ContainsFunc(m.Quotes, func(q chat.Quote) bool { return !q.Hidden })
		return m.Text != "" || len(m.Attachments) > 0 || quotes || asksAgain(m)
	})
}

// refuse tells the sender which limit keeps the bot from answering the messages. A throttle limits how often a sender
// gets the line about the limit.
func (a *actor) refuse(v access.Verdict, messages ...chat.Inbound) {
	key := map[access.Verdict]TextKey{
		access.TooFast: TextTooFast, access.TooMany: TextTooMany, access.DaySpent: TextDaySpent, access.AllSpent: TextAllSpent,
	}[v]
	who := a.person(messages[0])
	a.log.Info("messages are not answered: a limit is reached",
		slog.String("limit", string(key)), slog.String("person", who.String()), slog.Int("messages", len(messages)))
	about := who.String() + " " + string(key)
	if a.g.refused.Recent(about) {
		a.drop(messages...)
		return
	}
	a.oweNote(note{key: key, messages: messages, about: about})
}

// sendCode sends a pairing code to a person without access.
func (a *actor) sendCode(in chat.Inbound) {
	if a.g.shared != nil && a.g.coded.Recent(a.person(in).String()) {
		a.drop(in)
		return
	}
	code, err := a.g.policy.Code(a.g.deliveries, a.person(in), in.Sender.Name)
	if errors.Is(err, chat.ErrManyRequests) { // other replicas have just issued the last codes that are allowed
		a.log.Info("message refused: too many people wait for access", slog.String("person", a.person(in).String()))
		a.drop(in)
		return
	}
	if a.g.CheckLease(err) {
		return
	}
	if err != nil {
		id := newID()
		a.log.Error("pairing code could not be issued", slog.String("turn", id), slog.Any("error", err))
		a.owe(TextFailed, id, in)
		return
	}
	a.g.coded.Mark(a.person(in).String())
	a.say(in, a.g.texts().fill(TextPair, "code", code))
}

func (a *actor) person(in chat.Inbound) chat.Person {
	return chat.Person{Endpoint: a.conversation.Endpoint, User: in.Sender.ID}
}

// The method drop records in the store that these messages get no answer.
func (a *actor) drop(messages ...chat.Inbound) {
	a.unmark(messages...)
	var ids []chat.MessageID
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	a.write("messages that are not answered", "", func(ctx context.Context) error {
		return a.g.store.inbox.Drop(ctx, a.conversation, ids...)
	})
	a.concluded(false, messages...)
}
