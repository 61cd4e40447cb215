package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// The model calls two tools in parallel and then answers. The bot must show the tool calls and the answer in one
// message, whose final text does not mention the calls.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "tools: {enabled: [time, fetch]}"})
	w.ask("call: time {\"zones\":[\"Asia/Tokyo\"]}\ncall: time {\"zones\":[\"Mars/Olympus\"]}")
	ended := p.awaitLog("turn ended", 1)[0]
	texts := w.texts(ada)
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "The tools answered:") || !strings.Contains(texts[0], "Asia/Tokyo") ||
		strings.Contains(texts[0], "⚙") || strings.Count(texts[0], "time: ") != 2 {
		t.Errorf("ada sees %q", texts)
	}
	requests := w.model.Requests()
	if len(requests) != 2 || ended.text("stop") != "done" {
		t.Fatalf("the model was asked %d times, the turn ended with %q", len(requests), ended.text("stop"))
	}
	var asked struct {
		Tools []struct {
			Function struct{ Name string }
		}
	}
	if err := json.Unmarshal(requests[0].Body, &asked); err != nil || len(asked.Tools) != 2 {
		t.Errorf("the model was offered %+v, %v", asked.Tools, err)
	}
	// The request for the next question contains the earlier calls and their results.
	w.ask("words: 3")
	p.awaitLog("turn ended", 2)
	if body := string(w.model.Requests()[2].Body); !strings.Contains(body, "Mars/Olympus") || !strings.Contains(body, `"tool_call_id"`) {
		t.Errorf("the model was told %s", body)
	}
}

// The tool fetch must never read a private address. If nobody typed an address, the tool fetch must read it only after
// a person has approved the call.
func TestFetchIsGuarded(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an address inside was read") }))
	t.Cleanup(inside.Close)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "tools: {enabled: [fetch]}"})
	for i, question := range []string{
		fmt.Sprintf("call: fetch {\"url\":%q}", inside.URL),
		"call: fetch {\"url\":\"http://169.254.169.254/latest/meta-data/\"}",
		"call: fetch {\"url\":\"https://exa\\u006dple.org/stolen\"}", // nobody typed the address with exactly these characters
	} {
		w.ask(question)
		if i == 2 {
			w.await("the question", func() bool { return len(w.texts(ada)) == 3 && strings.Contains(w.texts(ada)[2], mayI) })
			w.ask("No!")
		}
		p.awaitLog("turn ended", i+1)
		texts := w.texts(ada)
		if got := texts[len(texts)-1]; !strings.HasPrefix(got, "The tools answered:") || strings.Contains(got, "meta-data/\n") {
			t.Errorf("%s: ada sees %q", question, got)
		}
		t.Logf("%s\n%s", question, texts[len(texts)-1])
	}
}

// The bot remembers a fact about a person. This fact must survive a kill of the daemon, be invisible to other people,
// and be deleted together with the person.
func TestMemoryOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	const bob = 1002
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := sections{access: `{allow: ["telegram:*"]}`, more: "tools: {enabled: [memory]}"}
	env := []string{"STATE_DIRECTORY=" + t.TempDir()}
	p := w.daemon(s, env...)
	says := func(user int64, text, want string) {
		t.Helper()
		before := len(w.texts(user))
		w.telegram.Say(telegram.Incoming{User: user, Text: text})
		w.await(want, func() bool {
			texts := w.texts(user)
			return len(texts) > before && strings.Contains(texts[len(texts)-1], want)
		})
	}
	says(ada, `call: remember {"fact":"Ada likes tides."}`, "Remembered, with the id 1.")
	p.signal(syscall.SIGKILL)
	p.exit(patience)
	w.daemon(s, env...)
	says(ada, "call: recall {}", "1: Ada likes tides.")
	says(bob, "call: recall {}", "Nothing is remembered about this person.")
	says(bob, `call: forget {"fact":"Ada likes tides."}`, "No fact with this text is remembered.")
	says(ada, `call: forget {"fact":"Ada likes tides."}`, "Forgotten.")
	says(ada, `call: remember {"fact":"Ada has a boat."}`, "Remembered, with the id 2.")
	deleted := launch{env: env}.start(t, "sessions", "delete", "--person", "telegram:user:1001")
	if code := deleted.exit(patience); code != exitDone {
		t.Fatalf("exit %d: %s", code, deleted.stderr)
	}
	says(ada, "call: recall {}", "Nothing is remembered about this person.")
}

// If a tool server can't be started, the bot must still answer questions.
func TestMCPServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: `mcp_servers: [{name: gone, command: /nonexistent/server, args: [--x]}]`})
	w.ask("words: 5")
	p.awaitLog("turn ended", 1)
	w.wantTexts(ada, openai.Answer("words: 5"))
}
