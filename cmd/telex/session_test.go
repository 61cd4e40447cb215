package main

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// After a restart, the model must get the whole conversation, no matter how the earlier process ended.
func TestRestartKeepsTheConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := sections{more: "agent: {system_prompt: Be brief., context: false}"}
	env := []string{"STATE_DIRECTORY=" + t.TempDir()}
	p := w.daemon(s, env...)
	w.ask("say: one")
	p.awaitLog("turn ended", 1)
	w.ask("/model")
	w.await("the models", func() bool { return len(w.texts(ada)) == 2 })
	w.ask(slowAnswer)
	w.awaitGrowth(1)
	w.ask("/stop")
	p.awaitLog("turn ended", 2)
	shown := checkStopped(t, w.texts(ada)[2], openai.Answer(slowAnswer))
	p.signal(syscall.SIGKILL)
	p.exit(patience)

	p = w.daemon(s, env...)
	w.ask("say: three")
	p.awaitLog("turn ended", 1)
	p.stop()
	p = w.daemon(s, env...)
	w.ask("history:")
	p.awaitLog("turn ended", 1)
	texts := w.texts(ada)
	want := strings.Join([]string{
		"1. system: Be brief.", "2. user: say: one", "3. assistant: one", "4. user: words: 5000", "5. assistant: " + shown,
		"6. user: say: three", "7. assistant: three", "8. user: history:",
	}, "\n")
	if got := texts[len(texts)-1]; got != want {
		t.Errorf("after the restart the model was told\n%s\nwant\n%s", got, want)
	}
}

// The command /stop must close the connection to the model at once, even between two tokens.
func TestStopClosesTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 50})
	p := w.daemon(sections{})
	var took []time.Duration
	for i := range 3 { // try three times, because a busy machine may once be too slow
		w.ask("words: 300")
		n := i + 1
		w.await("the answer to grow", func() bool {
			r := w.replies(ada)
			return len(r) == n && len(r[n-1].Text()) > 40
		})
		came := time.Now()
		w.ask("/stop")
		p.awaitLog("turn ended", n)
		requests := w.model.Requests()
		last := requests[len(requests)-1]
		if last.End != openai.EndClientClosed {
			t.Fatalf("the request ended with %q", last.End)
		}
		took = append(took, last.Ended.Sub(came))
		text := w.texts(ada)[i]
		checkStopped(t, text, openai.Answer("words: 300"))
	}
	t.Logf("the connection was closed after %v", took)
	if slices.Min(took) > 200*time.Millisecond {
		t.Errorf("the connection was closed after %v, want within 200ms", took)
	}
}

// A person without access gets one pairing code and nothing else. When an operator has let the person in, the bot must
// answer the person's messages.
func TestAnUnlistedPerson(t *testing.T) {
	t.Parallel()
	const eve = 1066
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{access: `{default: pair, admins: ["telegram:user:1001"]}`, more: "log: {level: debug}"})
	for range 50 {
		w.telegram.Say(telegram.Incoming{User: eve, FirstName: "Eve", Text: "say: let me in"})
	}
	w.await("the code", func() bool { return len(w.texts(eve)) == 1 })
	_, rest, found := strings.Cut(w.texts(eve)[0], "Your code is ")
	code, _, _ := strings.Cut(rest, ";")
	if !found || len(code) != 8 {
		t.Fatalf("she sees %q", w.texts(eve))
	}
	w.ask("/pair")
	w.await("the list", func() bool { return len(w.texts(ada)) == 1 })
	if got := w.texts(ada)[0]; !strings.Contains(got, code+" telegram:user:1066 Eve") {
		t.Errorf("the admin sees %q", got)
	}
	w.ask("/pair " + code)
	w.await("the admission", func() bool { return len(w.texts(ada)) == 2 })
	if n := len(w.model.Requests()); n != 0 || strings.Contains(p.stderr.String(), "let me in") {
		t.Errorf("the model was asked %d times, or the log holds what she wrote", n)
	}
	w.telegram.Say(telegram.Incoming{User: eve, Text: "say: thank you"})
	p.awaitLog("turn ended", 1)
	w.wantTexts(eve, w.texts(eve)[0], "thank you")
}

// The model must get the content of attachments: pictures, text files and speech.
func TestAttachments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "transcription: {model: standin}"})
	w.telegram.Say(telegram.Incoming{User: ada, Text: "images:", Attachment: telegram.Attachment{Media: "document", FileName: "a.png", Content: pngOf(t, 640, 480)}})
	p.awaitLog("turn ended", 1)
	if got := w.texts(ada)[0]; !strings.HasPrefix(got, "640x480 png, ") {
		t.Errorf("of the picture the model says %q", got)
	}
	w.telegram.Say(telegram.Incoming{User: ada, Attachment: telegram.Attachment{Media: "voice", Content: []byte("OggS\x00\x02\x00\x00\nsay: say: I heard you\n")}})
	p.awaitLog("turn ended", 2)
	w.telegram.Say(telegram.Incoming{
		User: ada, Text: "history:", Attachment: telegram.Attachment{Media: "document", FileName: "notes.txt", Content: []byte("milk and bread")},
	})
	p.awaitLog("turn ended", 3)
	w.telegram.Say(telegram.Incoming{User: ada, Attachment: telegram.Attachment{Media: "document", FileName: "a.zip", Content: []byte("PK\x03\x04\x00\x00")}})
	w.await("the sentence", func() bool { return len(w.texts(ada)) == 4 })
	texts := w.texts(ada)
	if texts[1] != "I heard you" || !strings.Contains(texts[2], "milk and bread") || !strings.Contains(texts[3], "I could not read a.zip") {
		t.Errorf("ada sees %q", texts[1:])
	}
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// While a daemon runs, telex chat needs no configuration of its own.
func TestChatThroughTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	env := []string{"STATE_DIRECTORY=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir()}
	w.daemon(sections{}, env...)
	for _, question := range []string{"say: hello", "recall: 1"} {
		p := launch{env: env}.start(t, "chat", question)
		if code := p.exit(patience); code != exitDone {
			t.Errorf("%s: exit %d, want %d", question, code, exitDone)
		}
		if question == "recall: 1" && p.stdout.String() != "say: hello\n" {
			t.Errorf("got %q, want what was asked first", p.stdout)
		}
	}
}
