package gateway

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// actor is the one owner of a conversation. Its fields belong to its goroutine, but for
// inbox, which the gateway's mutex guards.
type actor struct {
	g            *Gateway
	endpoint     *endpoint
	conversation chat.Conversation
	log          *slog.Logger

	inbox []chat.Inbound
	news  chan struct{} // capacity 1: that the inbox or the gateway changed

	queue   []chat.Inbound // waits for its turn
	full    bool           // the queue was full and that was said
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

// run handles messages until there is nothing left to do.
func (a *actor) run() {
	defer a.answers.Wait()
	for {
		for _, in := range a.g.take(a) {
			a.guard(in, func() { a.sort(in) })
		}
		switch {
		case a.turn == nil && len(a.queue) > 0:
			in := a.pop()
			a.guard(in, func() { a.begin(in) })
		case a.turn == nil:
			if a.g.retire(a) {
				return
			}
		default:
			select {
			case <-a.news:
			case <-a.turn.done:
				t := a.turn
				a.turn = nil
				a.guard(t.in, func() { a.conclude(t) })
			}
		}
	}
}

// guard keeps a panic inside the conversation, and tells the person who caused it.
func (a *actor) guard(in chat.Inbound, f func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		id := newID()
		a.log.Error("panic in a conversation", slog.String("turn", id), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		a.say(in, a.g.Texts.line(TextFailed, id))
	}()
	f()
}

// sort decides what a new message does now: commands act at once, text waits for its turn
// and may end the one before.
func (a *actor) sort(in chat.Inbound) {
	if a.command(in) {
		return
	}
	if len(a.queue) >= a.g.MaxQueued && a.turn != nil {
		if !a.full {
			a.full = true
			a.say(in, a.g.Texts[TextQueueFull])
		}
		return
	}
	a.queue = append(a.queue, in)
	if a.turn != nil && a.g.Busy == Interrupt && a.interrupts(in) {
		a.turn.interrupt(errNewMessage)
	}
}

// pop takes the next message from the queue. Where a new message interrupts, those that one
// person sent in a row are one question.
func (a *actor) pop() chat.Inbound {
	in := a.queue[0]
	n := 1
	for ; a.g.Busy == Interrupt && n < len(a.queue) && a.queue[n].Sender.ID == in.Sender.ID; n++ {
		earlier := in.Text
		in = a.queue[n]
		in.Text = strings.TrimSpace(earlier + "\n\n" + in.Text)
	}
	a.queue, a.full = slices.Delete(a.queue, 0, n), false
	return in
}

// interrupts says whether a message ends the running turn: in a group only the asker's does,
// so that nobody loses an answer to somebody else's question.
func (a *actor) interrupts(in chat.Inbound) bool {
	return in.To.Kind == chat.Private || in.Sender.ID == a.turn.in.Sender.ID
}

// begin starts the turn that answers in.
func (a *actor) begin(in chat.Inbound) {
	switch {
	case a.g.isStopping():
		a.say(in, a.g.Texts[TextRestarting])
	case in.Text == "":
		a.say(in, a.g.Texts[TextUnsupported])
	default:
		history, err := a.g.Store.History(a.g.turns, a.conversation)
		if err != nil {
			panic(fmt.Errorf("read history: %w", err)) // guard tells both sides
		}
		a.turn = a.start(in, history)
	}
}

// say sends a fixed line as an answer to in, beside whatever else goes on.
func (a *actor) say(in chat.Inbound, text string) {
	slot := preview.NewSlot()
	slot.Finish(preview.Ending{Text: text})
	if a.saying.Add(1) > mostSaid {
		a.saying.Add(-1)
		a.log.Debug("answer was left out: too many are under way")
		return
	}
	options := a.replyOptions(in, newID(), slot, preview.Config{})
	a.answers.Go(func() {
		defer a.saying.Add(-1)
		if o := show(a.g.deliveries, options); !o.Delivered {
			a.log.Warn("answer was not delivered", slog.Any("error", o.Err))
		}
	})
}

func (a *actor) replyOptions(in chat.Inbound, key string, slot *preview.Slot, c preview.Config) preview.Options {
	o := preview.Options{
		Endpoint: a.endpoint.out, Config: c, To: in.To, Key: key, Slot: slot,
		Log: a.log.With(slog.String("turn", key)),
	}
	if in.Reply {
		o.ReplyTo = in.ID
	}
	return o
}
