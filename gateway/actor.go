package gateway

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"telex/internal/chat"
)

// actor is the one owner of a conversation. Its fields belong to its goroutine, but for
// inbox, which the gateway's mutex guards.
type actor struct {
	g            *Gateway
	endpoint     *endpoint
	conversation chat.Conversation
	log          *slog.Logger

	inbox []message
	news  chan struct{} // capacity 1: that the inbox or the gateway changed, or an answer ended

	left    []chat.Turn    // by an earlier process, to be taken up first
	queue   []message      // waits for its turn
	full    bool           // the queue was full and that was said
	owed    []note         // lines that wait until those before were delivered
	turn    *turn          // the running one
	answers sync.WaitGroup // command answers under way
	saying  atomic.Int32   // how many
}

// mostSaid is how many fixed lines one conversation may have under way: somebody who sends the
// same command over and over waits like everybody else.
const mostSaid = 5

func newActor(g *Gateway, e *endpoint, c chat.Conversation) *actor {
	return &actor{
		g: g, endpoint: e, conversation: c, news: make(chan struct{}, 1),
		log: g.Log.With(slog.String("conversation", c.String())),
	}
}

// poke says that there may be news. It never blocks.
func (a *actor) poke() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// run handles messages until there is nothing left to do. What an earlier process left comes
// first, so that the order of the conversation is kept.
func (a *actor) run() {
	defer a.answers.Wait()
	for {
		for _, m := range a.g.take(a) {
			a.guard([]chat.Inbound{m.Inbound}, func() { a.sort(m) })
		}
		a.pay()
		switch {
		case a.turn != nil:
			select {
			case <-a.news:
			case <-a.turn.done:
				t := a.turn
				a.turn = nil
				a.guard(t.messages, func() { a.conclude(t) })
			}
		case len(a.left) > 0 && !a.g.isStopping():
			rec := a.left[0]
			a.left = a.left[1:]
			a.guard(rec.Messages, func() { a.resume(rec) })
		case len(a.queue) > 0 && !a.g.isStopping():
			messages := a.pop()
			a.guard(messages, func() { a.begin(messages) })
		case a.saying.Load() > 0: // whoever came next would not know of them
			<-a.news
		case len(a.owed) > 0 && !a.g.isStopping(): // the last answer ended just now
		default:
			if a.g.retire(a) {
				return
			}
		}
	}
}

// guard keeps a panic inside the conversation, and tells the person whose messages caused it.
// They are all answered by that line: nobody else has them any more.
func (a *actor) guard(messages []chat.Inbound, f func()) {
	err := caught(f)
	if err == nil {
		return
	}
	id := newID()
	a.log.Error("panic in a conversation", slog.String("turn", id), slog.Any("error", err))
	a.owe(TextFailed, id, messages...)
}

// sort decides what a new message does now: commands act at once, text waits for its turn
// and may end the one before.
func (a *actor) sort(m message) {
	if a.late(m) || a.command(m) {
		return
	}
	if len(a.queue) >= a.g.MaxQueued && a.turn != nil {
		if a.full {
			a.drop(m.Inbound)
			return
		}
		a.full = true
		a.say(m.Inbound, a.g.Texts[TextQueueFull])
		return
	}
	a.queue = append(a.queue, m)
	if a.turn != nil && a.g.Busy == Interrupt && a.interrupts(m.Inbound) {
		a.interrupt(errNewMessage)
	}
}

// pop takes what the next turn answers from the queue. Where a new message interrupts, those
// that one person sent in a row are one question.
func (a *actor) pop() []chat.Inbound {
	messages := []chat.Inbound{a.queue[0].Inbound}
	n := 1
	for ; a.g.Busy == Interrupt && n < len(a.queue) && a.queue[n].Sender.ID == messages[0].Sender.ID; n++ {
		messages = append(messages, a.queue[n].Inbound)
	}
	a.queue, a.full = slices.Delete(a.queue, 0, n), false
	return messages
}

// join is the question that several messages are.
func join(messages []chat.Inbound) string {
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// interrupts says whether a message ends the running turn: in a group only the asker's does,
// so that nobody loses an answer to somebody else's question.
func (a *actor) interrupts(in chat.Inbound) bool {
	return in.To.Kind == chat.Private || in.Sender.ID == a.turn.in.Sender.ID
}

// begin starts the turn that answers the messages.
func (a *actor) begin(messages []chat.Inbound) {
	question := join(messages)
	if question == "" {
		a.owe(TextUnsupported, "", messages...)
		return
	}
	a.start(a.record(messages...), question)
}

// drop says that messages will not be answered.
func (a *actor) drop(messages ...chat.Inbound) {
	var ids []chat.MessageID
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	if err := a.g.Store.Drop(a.g.deliveries, a.conversation, ids...); err != nil {
		a.log.Error("messages that are not answered stay stored", slog.Any("error", err))
	}
	a.concluded(false, messages...)
}
