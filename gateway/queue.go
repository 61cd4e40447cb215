package gateway

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// moreWindow is how long a question waits for the rest of what a client splits: the pictures of
// an album, the pieces of a long paste. They follow each other within a few hundred milliseconds.
const moreWindow = 1200 * time.Millisecond

// mostPieces is how many pieces of one question may wait beyond the messages that may. An album has
// ten, and so many pieces of a paste are more than any question may hold.
const mostPieces = 64

// enqueue lets a message wait for its turn, and reports false when too many do. The pieces of one
// question count once.
func (a *actor) enqueue(m message) bool {
	waiting, n := 0, len(a.queue)
	for i, before := range a.queue {
		if i == 0 || !before.follows(a.queue[i-1]) {
			waiting++
		}
	}
	if a.turn != nil {
		waiting += a.turn.offered()
	}
	piece := n > 0 && m.follows(a.queue[n-1]) && n < a.g.MaxQueued+mostPieces
	if waiting >= a.g.MaxQueued && !piece {
		return false
	}
	a.queue = append(a.queue, m)
	return true
}

// returns puts what a turn did not take into the queue, where it would stand had it never been offered.
func (a *actor) returns(leftover []message) {
	a.queue = append(a.queue, leftover...)
	slices.SortStableFunc(a.queue, func(m, n message) int { return cmp.Compare(m.nth, n.nth) })
}

// waits says that something of a person waits in the queue.
func (a *actor) waits(u chat.UserID) bool {
	return slices.ContainsFunc(a.queue, func(m message) bool { return m.Sender.ID == u })
}

// window is how long more of the same may follow a message: the rest of what was split, or the
// words on pictures that came without any. Nothing else waits, since everybody would feel that.
func (m message) window() time.Duration {
	split := m.More || m.Text == "" && len(m.Attachments) > 0
	if !split || m.again {
		return 0
	}
	return moreWindow
}

// follows says that a message is the rest of the one before it.
func (m message) follows(before message) bool {
	w := before.window()
	return m.joins || w > 0 && before.Sender.ID == m.Sender.ID && m.accepted.Sub(before.accepted).Abs() <= w
}

// ripens says how long the question at the head of the queue must still wait for the rest of it.
func (a *actor) ripens() time.Duration {
	last := a.queue[a.question()-1]
	window := last.window()
	return min(window, window-time.Since(last.accepted)) // whatever was done to the clock meanwhile
}

// question is how many messages at the head of the queue are one question: those that came
// together, and where a new message interrupts, what one person sent in a row, as far as that is not
// too much for one.
func (a *actor) question() int {
	size := len(a.queue[0].Text)
	for i, m := range a.queue[1:] {
		size += len(m.Text)
		joined := a.g.Busy == Interrupt && m.Sender.ID == a.queue[0].Sender.ID && size <= a.g.mostJoined()
		if !m.follows(a.queue[i]) && !joined || m.asksAgain() || a.queue[0].asksAgain() {
			return i + 1
		}
	}
	return len(a.queue)
}

// mostJoined is how long messages may be, in bytes, that become one question although each is one:
// what would not fit the smallest window would be answered by nobody.
func (g *Gateway) mostJoined() int {
	most := mostText
	for _, m := range g.Models {
		if m.Window > 0 {
			most = min(most, m.Window) // a token has several bytes, and half of the window is for the rest
		}
	}
	return most
}

// pop takes what the next turn answers from the queue.
func (a *actor) pop() []chat.Inbound {
	n := a.question()
	messages := inbounds(a.queue[:n])
	a.queue = slices.Delete(a.queue, 0, n)
	return messages
}

// putBack lets the messages of one question wait again, before all others.
func (a *actor) putBack(messages []chat.Inbound) {
	var again []message
	for i, m := range messages {
		again = append(again, message{Inbound: m, accepted: time.Now(), joins: i > 0, again: true})
	}
	a.queue = slices.Insert(a.queue, 0, again...)
}

func inbounds(messages []message) []chat.Inbound {
	var out []chat.Inbound
	for _, m := range messages {
		out = append(out, m.Inbound)
	}
	return out
}

// join is the text of the question that several messages are.
func join(messages []chat.Inbound) string {
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
