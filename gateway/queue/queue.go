package queue

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// PieceWindow is how long a question waits for the rest of what a client splits: the pictures of
// an album, the pieces of a long paste. They follow each other within a few hundred milliseconds.
const PieceWindow = 1200 * time.Millisecond

// maxPieces is how many pieces of one question may wait. An album has ten, and so many pieces of a paste are more than
// any question may hold.
const maxPieces = 64

// Message is an accepted message on its way to a turn.
type Message struct {
	chat.Inbound
	Accepted time.Time
	Runs     int // how often earlier processes began a turn with it

	number   int  // in the order in which the queue got them; 0: before all others
	joins    bool // it belongs to the message before it
	requeued bool // it waited before, and nothing of it was answered
}

// WaitsSince is when its sender's wait began. A message's age is judged by nothing else. What the adapter says it
// missed has waited with the platform since it was written. Everything else came while we listened, so that its wait
// began when it was accepted: that the platform's clock says otherwise only means that one of the clocks is wrong.
func (m Message) WaitsSince() time.Time {
	if m.Missed && !m.At.IsZero() && m.At.Before(m.Accepted) {
		return m.At
	}
	return m.Accepted
}

// window is how long more of the same may follow a message: the rest of what was split, or the
// words on pictures that came without any. Nothing else waits, since everybody would feel that.
func (m Message) window() time.Duration {
	split := m.More || m.Text == "" && len(m.Attachments) > 0
	if !split || m.requeued {
		return 0
	}
	return PieceWindow
}

// continues reports whether a message is the rest of the one before it.
func (m Message) continues(before Message) bool {
	w := before.window()
	return m.joins || w > 0 && before.Sender.ID == m.Sender.ID && m.Accepted.Sub(before.Accepted).Abs() <= w
}

// Rules are how much may wait, and what is one question.
type Rules struct {
	Max      int                     // questions that may wait
	Merge    bool                    // several messages of one person in a row are one question
	MaxMerge int                     // bytes that such messages may have together
	Alone    func(chat.Inbound) bool // a message that is never merged with others
}

// Queue is the messages that wait, oldest first.
type Queue struct {
	rules   Rules
	waiting []Message
	added   int
}

// New returns an empty queue.
func New(r Rules) Queue { return Queue{rules: r} }

// Len is how many messages wait.
func (q *Queue) Len() int { return len(q.waiting) }

// Add lets a message wait for its turn, and reports false when too many do. Those that are offered to the running turn
// wait too. The pieces of one question count once.
func (q *Queue) Add(m Message, offered int) bool {
	questions, pieces := offered, 0 // pieces: of the last question
	for i, before := range q.waiting {
		if pieces++; i == 0 || !before.continues(q.waiting[i-1]) {
			questions, pieces = questions+1, 1
		}
	}
	if pieces > 0 && m.continues(q.waiting[len(q.waiting)-1]) {
		if pieces >= maxPieces {
			return false
		}
	} else if questions >= q.rules.Max {
		return false
	}
	q.waiting = append(q.waiting, q.numbered(m))
	return true
}

// Offer offers a message to a running turn. It reports false when the turn takes nothing more, when too many messages
// wait, and when one of its sender waits: that must not be overtaken.
func (q *Queue) Offer(m Message, to *Offers) bool {
	waits := slices.ContainsFunc(q.waiting, func(w Message) bool { return w.Sender.ID == m.Sender.ID })
	return !waits && len(q.waiting)+to.Len() < q.rules.Max && to.add(q.numbered(m))
}

// Reclaim ends the offers to a turn. What it did not take waits where it would had it never been offered.
func (q *Queue) Reclaim(o *Offers) {
	q.waiting = append(q.waiting, o.close()...)
	slices.SortStableFunc(q.waiting, func(m, n Message) int { return cmp.Compare(m.number, n.number) })
}

func (q *Queue) numbered(m Message) Message {
	q.added++
	m.number = q.added
	return m
}

// Ripens returns how long the question at the head of the queue must still wait for the rest of it.
func (q *Queue) Ripens() time.Duration {
	last := q.waiting[q.question()-1]
	window := last.window()
	return min(window, window-time.Since(last.Accepted)) // whatever was done to the clock meanwhile
}

// question is how many messages at the head of the queue are one question: the pieces of one, and where messages are
// merged, what one person sent in a row, as far as that is not too much for one.
func (q *Queue) question() int {
	first := q.waiting[0]
	size := len(first.Text)
	for i, m := range q.waiting[1:] {
		size += len(m.Text)
		merged := q.rules.Merge && m.Sender.ID == first.Sender.ID && size <= q.rules.MaxMerge
		if !m.continues(q.waiting[i]) && !merged || q.rules.Alone(m.Inbound) || q.rules.Alone(first.Inbound) {
			return i + 1
		}
	}
	return len(q.waiting)
}

// Next takes the messages of the next question from the queue. requeued says that they were put back before.
func (q *Queue) Next() (messages []chat.Inbound, requeued bool) {
	n := q.question()
	messages, requeued = inbounds(q.waiting[:n]), q.waiting[0].requeued
	q.waiting = slices.Delete(q.waiting, 0, n)
	return messages, requeued
}

// PutBack lets the messages of one question wait again, before all others.
func (q *Queue) PutBack(messages []chat.Inbound) {
	var again []Message
	for i, m := range messages {
		again = append(again, Message{Inbound: m, Accepted: time.Now(), joins: i > 0, requeued: true})
	}
	q.waiting = slices.Insert(q.waiting, 0, again...)
}

// Remove takes some messages from the queue and returns them.
func (q *Queue) Remove(which func(chat.Inbound) bool) (removed []chat.Inbound) {
	q.waiting = slices.DeleteFunc(q.waiting, func(m Message) bool {
		remove := which(m.Inbound)
		if remove {
			removed = append(removed, m.Inbound)
		}
		return remove
	})
	return removed
}

func inbounds(messages []Message) []chat.Inbound {
	var out []chat.Inbound
	for _, m := range messages {
		out = append(out, m.Inbound)
	}
	return out
}

// Text is the text of the question that several messages are.
func Text(messages []chat.Inbound) string {
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
