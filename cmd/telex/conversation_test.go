package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

func TestHistoryReachesTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "agent: {system_prompt: Be brief., context: false}"})
	w.ask("say: *hello*")
	p.awaitLog("turn ended", 1)
	w.ask("history:")
	p.awaitLog("turn ended", 2)
	w.ask("/new")
	w.await("the fixed line", func() bool { return len(w.texts(ada)) == 3 })
	w.ask("history:")
	p.awaitLog("turn ended", 3)
	w.wantTexts(ada,
		"hello",
		"1. system: Be brief.\n2. user: say: hello\n3. assistant: hello\n4. user: history:",
		"New conversation. I've forgotten the previous one.",
		"1. system: Be brief.\n2. user: history:",
	)
}

// The model must not see the history of another conversation.
func TestConversationsAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "agent: {system_prompt: Be brief., context: false}"})
	w.ask("say: a secret")
	p.awaitLog("turn ended", 1)
	w.telegram.Say(telegram.Incoming{User: 1002, Text: "history:"})
	p.awaitLog("turn ended", 2)
	w.wantTexts(1002, "1. system: Be brief.\n2. user: history:")
}

// D9, F11, F39: a new message interrupts an answer. The visible text of the answer must stay, without its cursor, and
// the bot must answer the new message.
func TestNewMessageInterrupts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{})
	var took []time.Duration
	for i := range 3 { // try three times, because a busy machine may once be too slow
		w.ask(slowAnswer)
		w.await("the answer to grow", func() bool {
			r := w.replies(ada)
			return len(r) == 2*i+1 && len(r[2*i].Versions) > 2
		})
		came := time.Now()
		w.ask("recall: 1")
		p.awaitLog("turn ended", 2*i+2)

		texts := w.texts(ada)
		if len(texts) != 2*i+2 || texts[2*i+1] != "words: 5000" {
			t.Fatalf("ada sees %q, want the answer's beginning, then what she asked first", texts)
		}
		checkStopped(t, texts[2*i], openai.Answer(slowAnswer))
		first := w.model.Requests()[2*i]
		if first.End != openai.EndClientClosed {
			t.Fatalf("the request ended with %q, want %q", first.End, openai.EndClientClosed)
		}
		took = append(took, first.Ended.Sub(came))
	}
	t.Logf("the model's connection was closed %v after the new message", took)
	if slices.Sort(took); took[1] > 200*time.Millisecond {
		t.Errorf("the model's connection was closed %v after the new message, want within 200ms", took)
	}
}

// A person sends a second message before any text of the answer is visible. The two messages must become one question.
func TestNewMessageBeforeAnythingWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	if err := w.model.Rule(openai.Rule{Do: "hang=start", Times: 1}); err != nil {
		t.Fatal(err)
	}
	p := w.daemon(sections{})
	w.ask("say: one")
	if !w.model.Wait(t.Context(), func(s openai.Stats) bool { return s.Active == 1 }) {
		t.Fatal("the model was not asked")
	}
	w.ask("and two")
	p.awaitLog("turn ended", 2)
	w.wantTexts(ada, "one\n\nand two")
}

func TestQueueKeepsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "conversations: {busy: queue, max_queued: 3}"})
	w.ask("words: 150")
	w.awaitGrowth(1)
	for i := range 5 { // two more messages than the queue can hold; the bot must say so once
		w.ask(fmt.Sprintf("say: number %d", i))
	}
	p.awaitLog("turn ended", 4)
	const full = "Too many messages are waiting. Please send this again later."
	w.wantTexts(ada, openai.Answer("words: 150"), full, "number 0", "number 1", "number 2")
	if n := w.model.Stats().MaxActive; n != 1 {
		t.Errorf("the model wrote %d answers at once, want 1", n)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "texts: {nothing_to_stop: Nichts läuft.}"})
	lines := func(n int) {
		t.Helper()
		w.await("a fixed line", func() bool { return len(w.texts(ada)) == n })
	}
	w.ask("/stop")
	lines(1)
	w.ask("/help")
	lines(2)
	w.ask("/start")
	lines(3)
	w.ask("/etc/hosts is a file") // this message is not a command, although it begins with a slash
	p.awaitLog("turn ended", 1)
	texts := w.texts(ada)
	if texts[0] != "Nichts läuft." || !strings.Contains(texts[1], "/new") || texts[2] != texts[1] {
		t.Errorf("the fixed lines are %q", texts[:3])
	}
	if r := w.model.Requests(); len(r) != 1 || r[0].Question != "/etc/hosts is a file" {
		t.Errorf("the model was asked %+v, want the last message alone", r)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{})
	w.ask(slowAnswer)
	w.awaitGrowth(1)
	w.ask("/stop")
	p.awaitLog("turn ended", 1)
	texts := w.texts(ada)
	if len(texts) != 1 {
		t.Fatalf("ada sees %q, want what was shown and nothing else", texts)
	}
	checkStopped(t, texts[0], openai.Answer(slowAnswer))

	// The history must contain the visible text of an interrupted answer.
	w.ask("history:")
	p.awaitLog("turn ended", 2)
	if got := w.texts(ada)[1]; !strings.Contains(got, "assistant: one two three") || strings.Contains(got, cursor) {
		t.Errorf("the history is %q, want what was shown in it", got)
	}
}

func TestStopBeforeAnythingWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{})
	w.ask("{{standin hang=start}} words: 5")
	if !w.model.Wait(t.Context(), func(s openai.Stats) bool { return s.Active == 1 }) {
		t.Fatal("the model was not asked")
	}
	w.ask("/stop")
	p.awaitLog("turn ended", 1)
	w.await("the fixed line", func() bool { return len(w.texts(ada)) == 1 })
	w.wantTexts(ada, "Stopped.")
}

// F37: after /new, no text of the old conversation may appear.
func TestNewEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "agent: {system_prompt: Be brief., context: false}"})
	w.ask(slowAnswer)
	w.awaitGrowth(1)
	w.ask("/new")
	p.awaitLog("turn ended", 1)
	w.await("the fixed line", func() bool { return len(w.texts(ada)) == 2 })
	w.ask("history:")
	p.awaitLog("turn ended", 2)
	texts := w.texts(ada)
	checkStopped(t, texts[0], openai.Answer(slowAnswer))
	w.wantTexts(ada, texts[0], "New conversation. I've forgotten the previous one.", "1. system: Be brief.\n2. user: history:")
}

func TestEditedMessageIsIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{})
	id := w.ask("say: first")
	p.awaitLog("turn ended", 1)
	w.telegram.Say(telegram.Incoming{User: ada, EditOf: id, Text: "say: changed"})
	w.ask("say: second")
	p.awaitLog("turn ended", 2)
	w.wantTexts(ada, "first", "second")
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

func TestMessageWithoutText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	w.daemon(sections{})
	w.telegram.Say(telegram.Incoming{User: ada, Attachment: telegram.Attachment{Media: "photo"}})
	w.await("the fixed line", func() bool { return len(w.texts(ada)) == 1 })
	w.wantTexts(ada, "I could not read photo.jpg (it could not be fetched). I can read text and pictures.")
}

// F43, F44: people send messages while no daemon runs. The next daemon must answer these messages.
func TestMessagesWaitForTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	w.ask("say: early")
	p := w.daemon(sections{})
	p.awaitLog("turn ended", 1)
	w.wantTexts(ada, "early")
}
