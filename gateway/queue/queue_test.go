package queue_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// message returns a message that the named person sent.
func message(from, text string, change ...func(*queue.Message)) queue.Message {
	m := queue.Message{Accepted: time.Now()}
	m.Sender.ID, m.ID, m.Text, m.Kind = chat.UserID(from), chat.MessageID(text), text, chat.Text
	for _, f := range change {
		f(&m)
	}
	return m
}

func more(m *queue.Message)    { m.More = true }
func picture(m *queue.Message) { m.Attachments = []chat.Attachment{{ID: "1"}} }
func alone(m *queue.Message)   { m.Kind = chat.Command }

func after(d time.Duration) func(*queue.Message) {
	return func(m *queue.Message) { m.Accepted = m.Accepted.Add(d) }
}

func rules() queue.Rules {
	return queue.Rules{Max: 3, MaxMerge: 100, Alone: func(in chat.Inbound) bool { return in.Kind == chat.Command }}
}

func merging() queue.Rules {
	r := rules()
	r.Merge = true
	return r
}

// questions empties the queue, and returns the text of each question.
func questions(q *queue.Queue) (all []string) {
	for q.Len() > 0 {
		messages, _ := q.Next()
		all = append(all, strings.ReplaceAll(queue.Text(messages), "\n\n", "+"))
	}
	return all
}

func TestMessagesThatFormOneQuestion(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct {
		name     string
		rules    queue.Rules
		messages []queue.Message
		want     []string
	}{
		{"each message", rules(), []queue.Message{message("1", "a"), message("1", "b")}, []string{"a", "b"}},
		{"merged of one person", merging(), []queue.Message{message("1", "a"), message("1", "b"), message("2", "c")}, []string{"a+b", "c"}},
		{"merged until too long", merging(), []queue.Message{message("1", long), message("1", long)}, []string{long, long}},
		{"never merged", merging(), []queue.Message{message("1", "a"), message("1", "b", alone), message("1", "c")}, []string{"a", "b", "c"}},
		{"pieces", rules(), []queue.Message{message("1", "a", more), message("1", "b", more), message("1", "c"), message("1", "d")}, []string{"a+b+c", "d"}},
		{"a picture and its words", rules(), []queue.Message{message("1", "", picture), message("1", "a", after(time.Second))}, []string{"a"}},
		{"a picture and later words", rules(), []queue.Message{message("1", "", picture), message("1", "a", after(2*time.Second))}, []string{"", "a"}},
		{"pieces of two people", rules(), []queue.Message{message("1", "a", more), message("2", "b")}, []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := queue.New(c.rules)
			for _, m := range c.messages {
				if !q.Add(m, 0) {
					t.Fatalf("%q was not added", m.Text)
				}
			}
			if got := questions(&q); !slices.Equal(got, c.want) {
				t.Errorf("questions %q, want %q", got, c.want)
			}
		})
	}
}

func TestQueueIsLimited(t *testing.T) {
	for _, c := range []struct {
		name    string
		offered int
		piece   bool
		send    int
		want    int // number of messages that the queue accepts
	}{
		{"messages", 0, false, 5, 3},
		{"with what is offered to the turn", 2, false, 5, 1},
		{"pieces count once", 2, true, 50, 50},
		{"pieces have a limit of their own", 0, true, 100, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := queue.New(rules())
			for i := range c.send {
				q.Add(message("1", strconv.Itoa(i), func(m *queue.Message) { m.More = c.piece }), c.offered)
			}
			if q.Len() != c.want {
				t.Errorf("%d wait, want %d", q.Len(), c.want)
			}
		})
	}
}

func TestQuestionIsReadyAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(rules())
		q.Add(message("1", "a", more), 0)
		time.Sleep(time.Second)
		if got, want := q.Ripens(), queue.PieceWindow-time.Second; got != want {
			t.Errorf("ripens in %v, want %v", got, want)
		}
		q.Add(message("1", "b"), 0) // the last piece of the message
		if got := q.Ripens(); got > 0 {
			t.Errorf("ripens in %v, want at once", got)
		}
		q.PutBack([]chat.Inbound{message("1", "c", more).Inbound})
		if got := q.Ripens(); got > 0 {
			t.Errorf("what waited before ripens in %v, want at once", got)
		}
		q = queue.New(rules())
		q.Add(message("1", "from tomorrow", more, after(24*time.Hour)), 0)
		if got := q.Ripens(); got != queue.PieceWindow {
			t.Errorf("after the clock was set back a question ripens in %v, want %v", got, queue.PieceWindow)
		}
	})
}

func TestRequeuedMessagesComeFirstAndTogether(t *testing.T) {
	q := queue.New(rules())
	q.Add(message("1", "c"), 0)
	q.PutBack([]chat.Inbound{message("1", "a").Inbound, message("2", "b").Inbound})
	messages, requeued := q.Next()
	if got := queue.Text(messages); got != "a\n\nb" || !requeued {
		t.Errorf("first %q, requeued %t; want both messages that were put back", got, requeued)
	}
	if messages, requeued = q.Next(); queue.Text(messages) != "c" || requeued {
		t.Errorf("then %q, requeued %t; want c", queue.Text(messages), requeued)
	}
}

func TestRemove(t *testing.T) {
	q := queue.New(rules())
	for _, who := range []string{"1", "2", "1"} {
		q.Add(message(who, "of "+who), 0)
	}
	removed := q.Remove(func(m chat.Inbound) bool { return m.Sender.ID == "1" })
	if left := questions(&q); len(removed) != 2 || !slices.Equal(left, []string{"of 2"}) {
		t.Errorf("removed %d, left %q; want 2 and the one of 2", len(removed), left)
	}
}

func TestOffers(t *testing.T) {
	read := func(messages ...chat.Inbound) agent.Message {
		return agent.Message{Text: "read " + queue.Text(messages)}
	}
	stored := func([]chat.MessageID) error { return nil }
	for _, c := range []struct {
		name  string
		do    func(*queue.Queue, *queue.Offers) (offered bool)
		want  bool
		taken int
		left  []string
	}{
		{"taken", func(q *queue.Queue, o *queue.Offers) bool { return q.Offer(message("1", "a"), o) }, true, 1, nil},
		{"not while one of the sender waits", func(q *queue.Queue, o *queue.Offers) bool {
			q.Add(message("1", "a"), 0)
			return q.Offer(message("1", "b"), o)
		}, false, 0, []string{"a"}},
		{"not when too many wait", func(q *queue.Queue, o *queue.Offers) bool {
			q.Offer(message("1", "a"), o)
			q.Offer(message("1", "b"), o)
			q.Add(message("2", "c"), o.Len())
			return q.Offer(message("1", "d"), o)
		}, false, 2, []string{"c"}},
		{"not when the turn has ended", func(q *queue.Queue, o *queue.Offers) bool {
			q.Reclaim(o)
			return q.Offer(message("1", "a"), o)
		}, false, 0, nil},
		{"reclaimed in order", func(q *queue.Queue, o *queue.Offers) bool {
			q.Offer(message("1", "a"), o)
			q.Add(message("2", "b"), o.Len())
			offered := q.Offer(message("1", "c"), o)
			q.PutBack([]chat.Inbound{message("3", "before").Inbound})
			q.Reclaim(o)
			return offered
		}, true, 0, []string{"before", "a", "b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, o := queue.New(rules()), new(queue.Offers)
			if got := c.do(&q, o); got != c.want {
				t.Errorf("offered: %t, want %t", got, c.want)
			}
			messages, err := o.Take(read, stored)
			if err != nil || len(messages) != c.taken || len(o.Messages()) != c.taken || len(o.Joined()) != c.taken {
				t.Errorf("took %d, taken %d, joined %d, error %v; want %d each", len(messages), len(o.Messages()), len(o.Joined()), err, c.taken)
			}
			if left := questions(&q); !slices.Equal(left, c.left) {
				t.Errorf("left %q, want %q", left, c.left)
			}
		})
	}
}

func TestOnlyStoredMessagesAreTaken(t *testing.T) {
	q, o := queue.New(rules()), new(queue.Offers)
	q.Offer(message("1", "a"), o)
	var asked []chat.MessageID
	messages, err := o.Take(
		func(...chat.Inbound) agent.Message { return agent.Message{} },
		func(ids []chat.MessageID) error { asked = ids; return errors.New("disk full") })
	if err == nil || len(messages) > 0 || len(o.Messages()) > 0 || !slices.Equal(asked, []chat.MessageID{"a"}) {
		t.Errorf("took %d messages with error %v after %q was to be stored; want none", len(messages), err, asked)
	}
	if q.Reclaim(o); q.Len() != 1 {
		t.Errorf("%d wait, want the message that was not taken", q.Len())
	}
}

// While the store records taken messages, the conversation continues: the actor can count and offer messages. Only
// Reclaim waits for the store.
func TestStoringTakenMessagesHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, o := queue.New(rules()), new(queue.Offers)
		q.Offer(message("1", "a"), o)
		go func() {
			if _, err := o.Take(
				func(...chat.Inbound) agent.Message { return agent.Message{} },
				func([]chat.MessageID) error { time.Sleep(time.Minute); return nil }); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		time.Sleep(time.Second)
		if n, offered := o.Len(), q.Offer(message("1", "b"), o); n != 1 || !offered || time.Since(began) > time.Second {
			t.Errorf("%d wait, another is offered: %t, after %v; want 1, at once", n, offered, time.Since(began))
		}
		q.Reclaim(o)
		if left := questions(&q); !slices.Equal(left, []string{"b"}) || len(o.Joined()) != 1 || time.Since(began) < time.Minute {
			t.Errorf("after %v, left %q, taken %d; want b and 1 after a minute", time.Since(began), left, len(o.Joined()))
		}
	})
}

func TestWaitsSince(t *testing.T) {
	accepted := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		missed bool
		at     time.Time
		want   time.Time
	}{
		{"live", false, accepted.Add(-time.Hour), accepted},
		{"missed", true, accepted.Add(-time.Hour), accepted.Add(-time.Hour)},
		{"missed, at an unknown time", true, time.Time{}, accepted},
		{"missed, by a clock that is ahead", true, accepted.Add(time.Hour), accepted},
	} {
		m := queue.Message{Accepted: accepted, Inbound: chat.Inbound{Missed: c.missed, At: c.at}}
		if got := m.WaitsSince(); !got.Equal(c.want) {
			t.Errorf("%s: waits since %v, want %v", c.name, got, c.want)
		}
	}
}
