package gateway

import (
	"slices"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// note is a fixed line that answers messages. It is always sent: maxFixedLines does not limit notes.
type note struct {
	key      TextKey
	id       string // error id, for lines that have one
	messages []chat.Inbound
	deliver  func() // sends the line; nil until it is stored
	about    string // throttle key, for lines that are not repeated for a while; empty: always sent
}

// owe queues a line that answers messages of one person. Messages of the same person that get the same line
// share it, so that after a backlog each person gets one line and not one per message.
func (a *actor) owe(key TextKey, id string, messages ...chat.Inbound) {
	a.oweNote(note{key: key, id: id, messages: messages})
}

func (a *actor) oweNote(owed note) {
	for i := range a.owed {
		if n := &a.owed[i]; n.deliver == nil && n.key == owed.key && n.messages[0].Sender.ID == owed.messages[0].Sender.ID {
			n.id, n.messages = owed.id, append(n.messages, owed.messages...)
			return
		}
	}
	a.owed = append(a.owed, owed)
}

// forgive drops queued lines for some people and the messages that they answer. The messages must go with the
// lines: otherwise the next process would not know that they were refused, and would answer them.
func (a *actor) forgive(who func(chat.UserID) bool) {
	a.owed = slices.DeleteFunc(a.owed, func(n note) bool {
		theirs := n.deliver == nil && who(n.messages[0].Sender.ID)
		if theirs {
			a.drop(n.messages...)
		}
		return theirs
	})
}

// pay sends the next queued line, one at a time: a backlog must not crowd out the answers to commands, nor be
// dropped by the limit on concurrent lines. While the gateway is stopping, none is sent: the next process
// answers the stored messages.
func (a *actor) pay() {
	if len(a.owed) == 0 || a.saying.Load() > 0 || a.g.isStopping() {
		return
	}
	n := a.owed[0]
	a.owed = a.owed[1:]
	if n.deliver == nil {
		n.deliver = a.prepareNote(n)
	}
	n.deliver()
}

// storeOwed stores the queued lines before a later message is answered. Otherwise the next process would take
// the unanswered messages for questions, and answer them below the later one.
func (a *actor) storeOwed() {
	for i := range a.owed {
		if n := &a.owed[i]; n.deliver == nil {
			n.deliver = a.prepareNote(*n)
		}
	}
}

// prepareNote stores the line that tells why there is no answer, and returns the function that sends it. The
// throttle counts the line only now, since a line that is not stored may still be dropped or lost.
func (a *actor) prepareNote(n note) (deliver func()) {
	deliver = a.prepareAnswer(preview.Ending{Note: a.g.texts().line(n.key, n.id)}, n.messages[len(n.messages)-1].To, n.messages...)
	if n.about != "" {
		a.g.refused.Mark(n.about)
	}
	return deliver
}
