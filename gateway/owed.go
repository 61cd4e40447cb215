package gateway

import (
	"slices"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// note is a line that messages must be answered with, however many others are under way.
type note struct {
	key      TextKey
	id       string // for the lines that have one
	messages []chat.Inbound
	deliver  func() // nil until the line is stored
	about    string // what the line is about, if it is not to be repeated for a while; empty: it always is
}

// owe answers messages of one person with a line when it is their turn. Those of the same
// person that wait for the same line share it: a backlog costs each who wrote one message, not
// one for each of theirs.
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

// forgive drops the messages of some people that are still owed a line. What forgets what they asked forgets these too: the
// next process, which does not know that they were turned away, would answer them.
func (a *actor) forgive(who func(chat.UserID) bool) {
	a.owed = slices.DeleteFunc(a.owed, func(n note) bool {
		theirs := n.deliver == nil && who(n.messages[0].Sender.ID)
		if theirs {
			a.drop(n.messages...)
		}
		return theirs
	})
}

// pay sends the next line that is owed, one after the other, so that a backlog neither crowds
// out the answers to commands nor is crowded out by its own bound. While the gateway is
// stopping none begins: the messages are in the store, and the next process answers them.
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

// storeOwed stores the lines that are owed, before a later message is answered: the next process would take messages
// without an answer for questions, and answer them below that one.
func (a *actor) storeOwed() {
	for i := range a.owed {
		if n := &a.owed[i]; n.deliver == nil {
			n.deliver = a.prepareNote(*n)
		}
	}
}

// prepareNote stores the line that says why there is no answer. From then on it counts as said: a line that is only owed may be
// forgotten, or lost with the process.
func (a *actor) prepareNote(n note) (deliver func()) {
	deliver = a.prepareAnswer(preview.Ending{Note: a.g.Texts.line(n.key, n.id)}, n.messages[len(n.messages)-1].To, n.messages...)
	if n.about != "" {
		a.g.refused.Mark(n.about)
	}
	return deliver
}
