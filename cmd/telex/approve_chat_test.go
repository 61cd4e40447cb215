package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"telex/platforms/terminal/screentest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// chatParty is a configuration for a conversation in a terminal in which the model wants to order something.
func chatParty(t *testing.T, bench *workbench, name, approvalTimeout string) (question, config string, w *world) {
	t.Helper()
	w = newWorld(t, telegram.Options{}, openai.Options{})
	bench.letGo("stock", name)
	bench.letGo("prices", name)
	question, rules := party(name)
	for _, r := range rules {
		if err := w.model.Rule(r); err != nil {
			t.Fatal(err)
		}
	}
	return question, writeConfig(t, fmt.Sprintf(
		"models: [{name: main, base_url: %q, api_key: %q, model: standin}]\nadmin: {listen: \"\"}\nstreaming: {cli: true}\n"+
			"tools: {approval_timeout: %s}\n%s", w.modelURL+"/v1", testKey, approvalTimeout, bench.section())), w
}

// At a terminal the question stands below the answer, and is answered by a word or a command.
func TestApprovalAtATerminal(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	for _, tt := range []struct {
		name, typed string
		runs        int
	}{{"a yes", "yes", 1}, {"a no", "no", 0}, {"approve", "/approve", 1}, {"deny", "/deny", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			question, config, w := chatParty(t, bench, tt.name, "1m")
			bench.letGo("order", tt.name)
			screen, keyboard, cmd := atTerminal(t, []string{"STATE_DIRECTORY=" + t.TempDir()}, "chat", "--config", config)
			idle := screentest.Has("Ctrl-D leaves")
			press := func(s string) {
				t.Helper()
				if _, err := io.WriteString(keyboard, s); err != nil {
					t.Fatal(err)
				}
			}
			screen.Await(t, "the prompt", idle)
			press(question + "\r")
			asked := screen.Await(t, "the question", screentest.Has("deny "))
			if screentest.Count(asked, mayI) != 1 || screentest.Count(asked, "desk_order") != 1 || bench.runs("order", tt.name) != 0 {
				t.Errorf("asked with\n%s", strings.Join(asked, "\n"))
			}
			t.Logf("asked:\n%s", strings.Join(asked, "\n"))
			press(tt.typed + "\r")
			end := screen.Await(t, "the answer", func(l []string) bool { return screentest.Count(l, "before the guests.") == 1 && idle(l) })
			if screentest.Count(end, mayI) != 0 || bench.runs("order", tt.name) != tt.runs {
				t.Errorf("the tool ran %d times, want %d, and on the screen is\n%s", bench.runs("order", tt.name), tt.runs, strings.Join(end, "\n"))
			}
			press("\x04")
			if code := exits(t, cmd); code != exitDone {
				t.Errorf("exit %d, want %d", code, exitDone)
			}
			if n := len(w.model.Requests()); n != 3 {
				t.Errorf("the model was asked %d times, want 3: what was typed was no question", n)
			}
		})
	}
}

// Where one answer goes to a pipe nobody can be asked: the call is refused at once, and stderr and the exit code say so.
func TestApprovalInAPipe(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	question, config, w := chatParty(t, bench, "pipe", "5m")
	began := time.Now()
	out, trouble, _, code := feed(t, []string{"STATE_DIRECTORY=" + t.TempDir()}, "", "chat", "--config", config, question)
	took := time.Since(began)
	t.Logf("after %v: exit %d, stdout %q, stderr %q", took.Round(time.Millisecond), code, out, trouble)
	if out != saysAll+"\n" || code != exitFailed || !strings.Contains(trouble, "nobody can be asked here") || took > patience {
		t.Errorf("after %v: exit %d, stdout %q, stderr %q", took, code, out, trouble)
	}
	requests := w.model.Requests()
	if told := string(requests[len(requests)-1].Body); bench.runs("order", "pipe") != 0 || !strings.Contains(told, "nobody could be asked") {
		t.Errorf("the tool ran %d times, the model was told %s", bench.runs("order", "pipe"), told)
	}
}
