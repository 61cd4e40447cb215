package queue

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// PieceWindow is how long a question waits for further pieces of a message that a chat app split. A chat app splits
// an album into its pictures, and a long pasted text into several messages. The pieces of a split message usually
// arrive within a few hundred milliseconds.
const PieceWindow = 1200 * time.Millisecond

// maxPieces is the maximum number of queued pieces of one question. An album has at most ten pictures, and 64 pieces
// of a pasted text are longer than any question may be.
const maxPieces = 64

// Message is an accepted message that waits for a turn.
type Message struct {
	chat.Inbound
	Accepted time.Time
	Runs     int // number of earlier processes that began a turn with this message

	number   int  // position in the order of arrival; 0: before all other messages
	joins    bool // the message belongs to the same question as the message before it
	requeued bool // PutBack put the message back into the queue
}

// WaitsSince returns the time from which the message has waited for its answer. If the adapter was not connected when a
// person wrote the message, the message has waited since it was written, by the platform's clock. Any other message has
// waited since the gateway accepted it. For any other message, the platform's time is not used, because the platform's clock
// may differ from the local clock.
func (m Message) WaitsSince() time.Time {
	if m.Missed && !m.At.IsZero() && m.At.Before(m.Accepted) {
		return m.At
	}
	return m.Accepted
}

// window returns how long the queue waits for a message that continues m: a further piece of a split message, or the text
// that belongs to pictures. If m is a complete message, the method window returns 0, because people would notice the delay.
func (m Message) window() time.Duration {
	split := m.More || m.Text == "" && len(m.Attachments) > 0
	if !split || m.requeued {
		return 0
	}
	return PieceWindow
}

// The method continues reports whether a message is a further piece of the message before it.
func (m Message) continues(before Message) bool {
	w := before.window()
	return m.joins || w > 0 && before.Sender.ID == m.Sender.ID && m.Accepted.Sub(before.Accepted).Abs() <= w
}

// Rules limit the queue, and decide which messages form one question.
type Rules struct {
	Max      int                     // maximum number of queued questions
	Merge    bool                    // consecutive messages of one person form one question
	MaxMerge int                     // maximum total size of merged messages, in bytes
	Alone    func(chat.Inbound) bool // reports whether a message is never merged with others
}

// Queue holds the waiting messages, oldest first.
type Queue struct {
	rules   Rules
	waiting []Message
	added   int
}

// New returns an empty queue.
func New(r Rules) Queue { return Queue{rules: r} }

// SetRules changes the rules. Messages that already wait stay in the queue, even if the new rules would refuse them.
func (q *Queue) SetRules(r Rules) { q.rules = r }

// Len returns the number of waiting messages.
func (q *Queue) Len() int { return len(q.waiting) }

// Add queues a message. Add returns false if too many questions are queued. The messages that are offered to the running
// turn count as questions; the parameter offered is their number. All pieces of one question count as one question.
func (q *Queue) Add(m Message, offered int) bool {
	questions, pieces := offered, 0 // pieces counts the pieces of the last question
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

// Offer offers a message to a running turn. Offer returns false if the turn takes no more messages, or if too many messages
// wait. Offer also returns false if an earlier message of the sender is queued, because that message must be answered first.
func (q *Queue) Offer(m Message, to *Offers) bool {
	waits := slices.ContainsFunc(q.waiting, func(w Message) bool { return w.Sender.ID == m.Sender.ID })
	return !waits && len(q.waiting)+to.Len() < q.rules.Max && to.add(q.numbered(m))
}

// Reclaim ends the offers to a turn. The messages that the turn has not taken return to their original places in the
// queue.
func (q *Queue) Reclaim(o *Offers) {
	q.waiting = append(q.waiting, o.close()...)
	slices.SortStableFunc(q.waiting, func(m, n Message) int { return cmp.Compare(m.number, n.number) })
}

func (q *Queue) numbered(m Message) Message {
	q.added++
	m.number = q.added
	return m
}

// Ripens returns how long the first question in the queue must still wait for further pieces of a split message.
func (q *Queue) Ripens() time.Duration {
	last := q.waiting[q.question()-1]
	window := last.window()
	return min(window, window-time.Since(last.Accepted)) // never longer than window, even if the clock was set back
}

// question returns how many messages at the head of the queue form one question. A question consists of the pieces of one
// message. If Rules.Merge is set, further messages of the same person belong to the question too, up to the maximum size.
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

// Next removes the next question's messages from the queue and returns them. requeued reports whether PutBack had put
// these messages back into the queue.
func (q *Queue) Next() (messages []chat.Inbound, requeued bool) {
	n := q.question()
	messages, requeued = inbounds(q.waiting[:n]), q.waiting[0].requeued
	q.waiting = slices.Delete(q.waiting, 0, n)
	return messages, requeued
}

// PutBack puts the messages of one question at the head of the queue.
func (q *Queue) PutBack(messages []chat.Inbound) {
	var again []Message
	for i, m := range messages {
		again = append(again, Message{Inbound: m, Accepted: time.Now(), joins: i > 0, requeued: true})
	}
	q.waiting = slices.Insert(q.waiting, 0, again...)
}

// Revise calls the parameter change for each waiting message. The function change may modify the message, and returns true
// if it did. Revise reports whether any message was modified.
func (q *Queue) Revise(change func(*Message) bool) (changed bool) {
	for i := range q.waiting {
		changed = change(&q.waiting[i]) || changed
	}
	return changed
}

// Waiting returns the waiting messages for which the parameter which returns true, oldest first.
func (q *Queue) Waiting(which func(chat.Inbound) bool) (found []chat.Inbound) {
	for _, m := range q.waiting {
		if which(m.Inbound) {
			found = append(found, m.Inbound)
		}
	}
	return found
}

// Remove removes from the queue the messages for which the parameter which returns true, and returns these messages.
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

// Text joins the texts of the messages that form one question.
func Text(messages []chat.Inbound) string {
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
