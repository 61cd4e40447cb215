package gateway_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

const undone = "I have forgotten the last question and its answer."

// A person sends /undo twice during an answer. The first /undo must end the running answer, and the second /undo must
// remove the turn before it.
func TestUndoTwiceDuringAnAnswerRemovesTwoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.answers["b"] = long
		h.say(t, ask("b"))
		later(500 * time.Millisecond)
		for range 3 { // the third /undo finds no turn
			h.say(t, command("undo"))
		}
		later(5 * time.Second)
		h.say(t, ask("c"))
		later(3 * time.Second)
		equal(t, "the turn after them", h.told(2), []string{"user: c"})
		got := h.sees()
		if len(got) != 6 {
			t.Fatalf("people see %q, want two answers, three lines and an answer", got)
		}
		slices.Sort(got[2:5]) // the lines are sent concurrently, so their order varies
		equal(t, "lines", got[2:5], []string{undone, undone, "There is nothing to undo."})
	})
}

// A person sends /new during an answer, and /undo right after it. /undo must find nothing, although the answer that
// /new has ended is still being made final.
func TestUndoRightAfterNewFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(500 * time.Millisecond)
		h.say(t, command("new"))
		h.say(t, command("undo"))
		later(5 * time.Second)
		got := h.sees()[1:]
		slices.Sort(got)
		equal(t, "lines", got, []string{gateway.DefaultTexts()[gateway.TextNew], "There is nothing to undo."})
	})
}

// After a restart, turns of the earlier process wait to be resumed. Each /undo must remove exactly one turn.
func TestUndoTwiceAfterARestartRemovesTwoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.say(t, ask("a"))
		later(1200 * time.Millisecond)
		l.kill()
		l.begin(t, nil)
		l.say(t, command("undo"))
		l.say(t, command("undo"))
		later(5 * time.Second)
		l.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "the turn after them", l.told(len(l.turns)-1), []string{"user: c"})
	})
}

// After a restart, the bot delivers a line that answers no message, such as the list of an interrupted answer's tool
// calls. A retry, which replaces an earlier answer, waits until this line is delivered. /undo must end the retry, and
// the history must keep nothing of the answer.
func TestUndoDuringAFixedLineEndsTheWaitingRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.kill()
		c, retry := chat.Conversation{Endpoint: "tg", Chat: "7"}, command("retry")
		retry.ID = "r"
		ending, err := json.Marshal(preview.Ending{Text: "done before"})
		if err != nil {
			t.Fatal(err)
		}
		_, entries, _ := l.store.Session(t.Context(), c)
		_, _ = l.store.Accept(t.Context(), c, retry)
		for _, turn := range []chat.Turn{
			{ID: "line", Conversation: c, To: retry.To, Ending: ending},
			{ID: "retry", Conversation: c, To: retry.To, Messages: []chat.Inbound{retry}, Replaces: entries[0].Turn},
		} {
			if err := l.store.Begin(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		l.begin(t, nil)
		later(10 * time.Millisecond)
		l.say(t, command("undo"))
		later(10 * time.Second)
		equal(t, "people see", l.sees(), []string{"re: b", "done before", undone})
		equal(t, "questions to the model", l.questions(), nil)
		l.nothingLeft(t)
	})
}

// After a restart, the bot delivers a line that says why a message is not answered. A question waits until this line is
// delivered. /undo must end the waiting question, and must not change the history.
func TestUndoDuringARefusalEndsTheWaitingQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.kill()
		c := chat.Conversation{Endpoint: "tg", Chat: "7"}
		ending, err := json.Marshal(preview.Ending{Note: "too long"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"refused", "waits"} {
			q, e := ask(id), ending
			if id == "waits" {
				e = nil
			}
			q.ID = chat.MessageID(id)
			_, _ = l.store.Accept(t.Context(), c, q)
			if err := l.store.Begin(t.Context(), chat.Turn{ID: id, Conversation: c, To: q.To, Messages: []chat.Inbound{q}, User: q.Sender.ID, Ending: e}); err != nil {
				t.Fatal(err)
			}
			later(time.Second)
		}
		l.begin(t, nil)
		later(10 * time.Millisecond)
		l.say(t, command("undo"))
		later(10 * time.Second)
		l.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "the turn after them", l.told(len(l.turns)-1), []string{"user: b", "assistant: re: b", "user: c"})
		equal(t, "people see", l.sees(), []string{"re: b", "too long", undone, "re: c"})
		l.nothingLeft(t)
	})
}

// After a restart, a retry finds that its question was deleted. The retry must end with a line that says that there is
// no question, and the history must keep nothing of the retry.
func TestRetryOfADeletedQuestionEndsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		c, retry := chat.Conversation{Endpoint: "tg", Chat: "7"}, command("retry")
		retry.ID = "r"
		_, _ = l.store.Accept(t.Context(), c, retry)
		turn := chat.Turn{ID: "retry", Conversation: c, To: retry.To, Messages: []chat.Inbound{retry}, Replaces: "gone"}
		if err := l.store.Begin(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		l.begin(t, nil)
		later(5 * time.Second)
		equal(t, "people see", l.sees(), []string{gateway.DefaultTexts()[gateway.TextNothingToRetry]})
		l.nothingLeft(t)
	})
}
