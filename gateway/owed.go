package gateway

import (
	"slices"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// note is a line with a fixed text, such as an error line, that answers messages. The limit maxFixedLines does not
// apply to notes, so every note is sent.
type note struct {
	key      TextKey
	id       string // error id in the line; empty: the line has none
	messages []chat.Inbound
	deliver  func() // sends the line; nil until the line is stored
	about    string // throttle key of a line that must not be repeated soon; empty: the line is always sent
}

// The method owe queues a line with a fixed text that answers messages of one person. If the same line for this person is
// already queued, the method owe only adds the messages to that line. So a person with many waiting messages gets one line for
// all these messages.
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

// forgive drops the queued lines for the people for whom the parameter who returns true, together with the messages that these
// lines answer. If the method forgive dropped only the lines, the next process would not know that the messages were refused,
// and would answer them.
func (a *actor) forgive(who func(chat.UserID) bool) {
	a.owed = slices.DeleteFunc(a.owed, func(n note) bool {
		theirs := n.deliver == nil && who(n.messages[0].Sender.ID)
		if theirs {
			a.drop(n.messages...)
		}
		return theirs
	})
}

// The method pay sends the next queued line, unless another line with a fixed text is already being sent. Because this method
// sends the lines one after the other, many queued lines do not delay the answers to commands. While the gateway is stopping,
// the method pay sends no line, because the next process answers the stored messages.
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

// storeOwed stores the queued lines. The actor calls storeOwed before it answers a later message. If the process died
// before the lines were stored, the next process would take their messages for new questions, and answer them below the
// later message.
func (a *actor) storeOwed() {
	for i := range a.owed {
		if n := &a.owed[i]; n.deliver == nil {
			n.deliver = a.prepareNote(*n)
		}
	}
}

// prepareNote stores a line that tells people why their messages get no answer, and returns the function that sends the line.
// The throttle counts a line only when the line is stored, because a line that is not stored yet may still be dropped or lost.
func (a *actor) prepareNote(n note) (deliver func()) {
	deliver = a.prepareAnswer(preview.Ending{Note: a.g.texts().line(n.key, n.id)}, n.messages[len(n.messages)-1].To, n.messages...)
	if n.about != "" {
		a.g.refused.Mark(n.about)
	}
	return deliver
}
