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

// actor owns a conversation. Its fields belong to its goroutine, except inbox, orders and given, which the
// gateway's mutex guards.
type actor struct {
	g            *Gateway
	endpoint     *endpoint
	conversation chat.Conversation
	aliases      []chat.Conversation // other ids of the conversation after its chat got a new id; guarded by the gateway's mutex
	log          *slog.Logger

	inbox   []queue.Message
	orders  []func()      // functions that the actor runs, for example for an operator
	started bool          // the actor's goroutine runs, and only this goroutine may use left; guarded like inbox
	given   time.Time     // when the oldest entry of inbox and orders arrived; zero if both are empty; guarded like them
	news    chan struct{} // capacity 1: signals a change of the inbox or the gateway, or the end of an answer

	left    []chat.Turn                      // turns of an earlier process, which are resumed first
	handed  []string                         // ids of turns that a shutdown left to the next process
	merged  []queue.Message                  // messages that came under another id of the chat; they are not about the running turn, so they wait for its end
	found   time.Time                        // when the entries of left and merged were read; the age of a turn is its age at this time, since it may wait for long
	taken   map[string]time.Time             // when each turn was taken over from another replica, by turn id
	ticket  *queue.Ticket                    // place in the queue of conversations that resume after a restart; nil: an earlier process left nothing here
	queue   queue.Queue                      // messages that wait for their turn
	owed    []note                           // fixed lines that wait until earlier replies are delivered
	turn    *turn                            // the running turn; nil if no turn runs
	parked  []*turn                          // earlier turns that are still being delivered
	writes  writes                           // writes that the store has not accepted yet
	marked  map[chat.MessageID]chan struct{} // messages that show a sign that they wait; closing the channel removes the sign; nil: an earlier process may have left it
	answers sync.WaitGroup                   // goroutines that send command answers, or that show and remove signs
	saying  atomic.Int32                     // number of command answers being sent
	stalled atomic.Int32                     // number of further command answers that can't be shown at the moment
	seen    atomic.Pointer[glimpse]          // what Overview shows of the actor; nil: nothing yet
	arrived atomic.Bool                      // another answer was sent, so the running turn's draft has vanished and must be drawn again
}

// maxFixedLines is the maximum number of fixed lines being sent in one conversation, so that somebody who repeats a
// command quickly has to wait.
const maxFixedLines = 5

func newActor(g *Gateway, e *endpoint, c chat.Conversation) *actor {
	return &actor{
		g: g, endpoint: e, conversation: c, news: make(chan struct{}, 1), queue: queue.New(g.queueRules()),
		marked: make(map[chat.MessageID]chan struct{}), taken: make(map[string]time.Time),
		log: g.Log.With(slog.String("conversation", c.String())),
	}
}

// poke wakes the actor. It never blocks.
func (a *actor) poke() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// run handles messages until nothing is left to do. Turns of an earlier process come first, to keep the order of
// the conversation.
func (a *actor) run() {
	defer a.answers.Wait()
	defer func() { // removes the remaining signs, since the next owner of the chat gets the messages but not this map
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
				a.turn.cancel(errShutdown) // the turn only waits for a person, and the next process can do that too
			}
			select {
			case <-a.news:
			case <-a.turn.done:
				t := a.turn
				a.turn = nil
				a.tellPanic(t.messages, a.conclude(t))
				if len(a.left) > 0 && a.left[0].ID == t.id && !a.unstored() { // the turn starts over before new messages are read: edits that arrived meanwhile are about its new run
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
		case a.saying.Load()+a.stalled.Load() > 0, len(a.parked) > 0: // a new actor would not know of these deliveries
			<-a.news
		case len(a.owed) > 0 && !a.g.isStopping(): // the last command answer ended just now: the next iteration sends the next line
		default:
			if a.g.retire(a) {
				return
			}
		}
	}
}

// takeIn handles the messages and orders that arrived since its last call.
func (a *actor) takeIn() {
	messages, orders := a.g.take(a)
	a.guard(nil, func() {
		if len(messages)+len(orders) > 0 && !a.recall() {
			messages = nil // they are still in the store, and the next process handles them
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

// resumeFirst continues the first turn of left, unless the daemon is stopping.
func (a *actor) resumeFirst() {
	if a.g.isStopping() {
		return
	}
	rec := a.left[0]
	a.left = a.left[1:]
	a.guard(rec.Messages, func() { a.resume(rec) })
}

// hasWork reports whether anything but commands waits; commands run at once.
func (a *actor) hasWork() bool { return len(a.left)+a.queue.Len()+len(a.owed) > 0 }

// idle waits for d or for a wake-up.
func (a *actor) idle(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.news:
	}
}

// guard runs f. A panic in f affects only this conversation: guard logs it and answers the messages, which belong
// to no other turn, with one error line.
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

// sortAll handles new messages in order.
func (a *actor) sortAll(messages []queue.Message) {
	for _, m := range messages {
		a.guard([]chat.Inbound{m.Inbound}, func() { a.sort(m) })
	}
}

// sort handles a new message: commands run at once, other text is queued for a turn and may interrupt the
// running one.
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

// ask queues a message for a turn. Depending on the configuration, the message interrupts the running turn or is
// offered to it.
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
	case a.g.current().Busy == Interrupt && asker: // others must not interrupt an answer that the asker waits for
		a.interrupt(errNewMessage)
	case a.turn != nil:
		a.mark(m.Inbound)
	}
	if asked != nil {
		a.inTheWay(m, asked, a.g.current().Busy == Interrupt)
	}
}

// enqueue queues a message. It returns false if too many messages are queued.
func (a *actor) enqueue(m queue.Message) bool {
	offered := 0
	if a.turn != nil {
		offered = a.turn.offers.Len()
	}
	return a.queue.Add(m, offered)
}

// tooMany tells the sender, at a limited rate, that too many messages wait.
func (a *actor) tooMany(in chat.Inbound) {
	if !a.g.refused.Allow(a.conversation.String() + " " + string(TextQueueFull)) {
		a.drop(in)
		return
	}
	a.say(in, a.g.texts()[TextQueueFull])
}

// begin starts a turn that answers the messages. Requeued messages already count in the limits per minute.
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
	case err != nil: // an error in the accounting must not block people
		a.log.Error("limits could not be checked", slog.Any("error", err))
	case v != access.Fine && !(requeued && (v == access.TooFast || v == access.TooMany)):
		a.refuse(v, messages...)
		return
	}
	a.start(a.record(messages...))
}

// saysNothing reports whether messages only mention the bot.
func saysNothing(messages []chat.Inbound) bool {
	return !slices.ContainsFunc(messages, func(m chat.Inbound) bool {
		quotes := slices.ContainsFunc(m.Quotes, func(q chat.Quote) bool { return !q.Hidden })
		return m.Text != "" || len(m.Attachments) > 0 || quotes || asksAgain(m)
	})
}

// refuse tells the sender, at a limited rate, why messages are not answered.
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

// sendCode answers a person without access with a pairing code.
func (a *actor) sendCode(in chat.Inbound) {
	if a.g.shared != nil && a.g.coded.Recent(a.person(in).String()) {
		a.drop(in)
		return
	}
	code, err := a.g.policy.Code(a.g.deliveries, a.person(in), in.Sender.Name)
	if errors.Is(err, chat.ErrManyRequests) { // people who asked other replicas at the same time got the last codes
		a.log.Info("message refused: too many people wait to be let in", slog.String("person", a.person(in).String()))
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

// drop marks messages as not to be answered.
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
