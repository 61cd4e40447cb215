//go:build postgres

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/store/pgtest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// answersIn returns the chats in which the replica r is writing an answer.
func (r *replica) answersIn(t *testing.T) (list []int64) {
	t.Helper()
	var status struct {
		Conversations []struct{ Conversation, Turn string }
	}
	if err := json.Unmarshal([]byte(r.tell(t, exitDone, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	for _, c := range status.Conversations {
		var chat int64
		if _, err := fmt.Sscanf(c.Conversation, "telegram:%d", &chat); err == nil && c.Turn != "" {
			list = append(list, chat)
		}
	}
	slices.Sort(list)
	return list
}

// asked returns the newest request for a question that the model received.
func (w *world) asked(question string) (newest openai.Request, ok bool) {
	for _, r := range w.model.Requests() {
		if r.Question == question {
			newest, ok = r, true
		}
	}
	return newest, ok
}

// wantSoon compares how long an action of a person takes to reach the model or the tool. The parameter directly
// contains times from chats of the replica that receives messages. The parameter forwarded contains times from chats of
// the other replica. The median of the times in forwarded may be at most 200 ms longer than that of the times in
// directly. wantSoon compares medians, because a busy machine may slow down a few actions.
func wantSoon(t *testing.T, what string, forwarded, directly []time.Duration) {
	t.Helper()
	slices.Sort(forwarded)
	slices.Sort(directly)
	t.Logf("%s: %v, without a forward %v", what, forwarded, directly)
	if more := forwarded[len(forwarded)/2] - directly[len(directly)/2]; more > 200*time.Millisecond {
		t.Errorf("%s needed %v to reach the owner of the chat, want 200ms", what, more)
	}
}

// If one replica receives an action of a person, and another replica owns the chat, the owner must learn of the action
// at once. The test tries an edited question, /stop, and an approval with a button.
//
//nolint:paralleltest // it measures times that other tests beside it would change
func TestPostgreSQLReplicasForwardAtOnce(t *testing.T) {
	const chats, atLeast = 8, 3
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w, bench := newWorld(t, telegram.Options{}, openai.Options{}), newWorkbench(t)
	list := w.replicas(2, dsn, sections{more: bench.section()}) // the first replica receives the messages
	for _, r := range list {
		r.awaitLog("MCP server listed its tools", 1)
	}

	question := func(chat int64) string { return fmt.Sprintf("words: %d", 10*chat) }
	edited := func(chat int64) string { return fmt.Sprintf("words: %d", 10*chat+1) }
	messages := make(map[int64]int)
	for chat := int64(ada); chat < ada+chats; chat++ {
		messages[chat] = w.telegram.Say(telegram.Incoming{User: chat, FirstName: "Ada", Text: question(chat)})
	}
	w.await("answers that grow", func() bool {
		for chat := range messages {
			if len(w.texts(chat)) == 0 {
				return false
			}
		}
		return true
	})
	var edits, stops [2][]time.Duration // index 0: chats of the replica that receives; index 1: chats of the other replica
	for i, r := range list {
		owned := r.answersIn(t)
		if len(owned) < atLeast {
			t.Fatalf("replica %d owns %d of %d chats", i, len(owned), chats)
		}
		for _, chat := range owned {
			began := time.Now()
			w.telegram.Say(telegram.Incoming{User: chat, EditOf: messages[chat], Text: edited(chat)})
			poll(t, "an answer to the edited question", func() bool {
				r, ok := w.asked(edited(chat))
				return ok && !r.FirstToken.IsZero()
			})
			r, _ := w.asked(edited(chat))
			edits[i] = append(edits[i], r.Time.Sub(began))

			began = time.Now()
			w.says(chat, "/stop")
			poll(t, "the end of the answer", func() bool {
				r, _ = w.asked(edited(chat))
				return r.End != ""
			})
			stops[i] = append(stops[i], max(0, r.LastToken.Sub(began)))
		}
	}
	wantSoon(t, "an edit", edits[1], edits[0])
	wantSoon(t, "/stop", stops[1], stops[0])
	w.await("the end of all answers", func() bool {
		for chat := range messages {
			if !complete(w.texts(chat), 1) {
				return false
			}
		}
		return true
	})

	names := make(map[int64]string)
	for chat := range messages {
		names[chat] = fmt.Sprint("guest", chat)
		bench.letGo("stock", names[chat])
		bench.letGo("prices", names[chat])
		bench.letGo("order", names[chat])
		question, rules := party(names[chat])
		for _, r := range rules {
			if err := w.model.Rule(r); err != nil {
				t.Fatal(err)
			}
		}
		w.says(chat, question)
	}
	pending := func(chat int64) (m telegram.Message, ok bool) {
		posts := w.replies(chat)
		m = posts[len(posts)-1]
		return m, len(m.Last().Keyboard) > 0 && strings.Contains(m.Text(), mayI)
	}
	w.await("questions for approval", func() bool {
		for chat := range messages {
			if _, ok := pending(chat); !ok {
				return false
			}
		}
		return true
	})
	var presses [2][]time.Duration
	for i, r := range list {
		owned := r.answersIn(t)
		if len(owned) < atLeast {
			t.Fatalf("replica %d owns %d of %d chats", i, len(owned), chats)
		}
		for _, chat := range owned {
			m, _ := pending(chat)
			began := time.Now()
			if w.telegram.Press(chat, chat, m.ID, telegramPost(m).last().button(t, "Approve")) == "" {
				t.Fatal("the button can't be pressed")
			}
			bench.awaitCall("order", names[chat])
			presses[i] = append(presses[i], time.Since(began))
		}
	}
	wantSoon(t, "an approval", presses[1], presses[0])
	w.await("the answers", func() bool {
		for chat := range messages {
			if texts := w.texts(chat); texts[len(texts)-1] != saysAll {
				return false
			}
		}
		return true
	})
	for _, r := range list {
		r.stop()
	}
}
