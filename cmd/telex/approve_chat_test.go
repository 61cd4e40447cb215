package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"telex/platforms/terminal/screentest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// chatParty starts a daemon whose model, when it is asked the returned question, calls a tool that orders something.
// The returned env lets a client connect to the daemon.
func chatParty(t *testing.T, bench *workbench, name string) (question string, env []string, w *world, daemon *process) {
	t.Helper()
	w = newWorld(t, telegram.Options{}, openai.Options{})
	bench.letGo("stock", name)
	bench.letGo("prices", name)
	bench.letGo("order", name)
	question, rules := party(name)
	for _, r := range rules {
		if err := w.model.Rule(r); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{"STATE_DIRECTORY=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir()}
	daemon = w.daemon(sections{streaming: "{cli: true}", more: bench.section()}, env...)
	daemon.awaitLog("MCP server listed its tools", 1)
	return question, env, w, daemon
}

// At a terminal, the question about a tool call is shown below the answer. The person answers the question with a word
// or a command.
func TestApprovalAtATerminal(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	for _, tt := range []struct {
		name, typed string
		runs        int
	}{{"a yes", "yes", 1}, {"a no", "no", 0}, {"approve", "/approve", 1}, {"deny", "/deny", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			question, env, w, _ := chatParty(t, bench, tt.name)
			screen, keyboard, cmd := atTerminal(t, env, "chat")
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

// If an answer goes to a pipe, telex can't ask anybody for approval. In a pipe, telex therefore refuses a call that
// needs approval at once, and reports the refusal on stderr and by the exit code.
func TestApprovalInAPipe(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	question, env, w, daemon := chatParty(t, bench, "pipe")
	began := time.Now()
	out, trouble, _, code := feed(t, env, "", "chat", question)
	took := time.Since(began)
	t.Logf("after %v: exit %d, stdout %q, stderr %q", took.Round(time.Millisecond), code, out, trouble)
	if out != saysAll+"\n" || code != exitFailed || !strings.Contains(trouble, "because I can't ask anybody here") || took > patience {
		t.Errorf("after %v: exit %d, stdout %q, stderr %q", took, code, out, trouble)
	}
	if list := daemon.logged("a tool call was decided"); len(list) != 1 || list[0].text("decision") != "denied: nobody can be asked" {
		t.Errorf("the log says %v", list)
	}
	requests := w.model.Requests()
	if told := string(requests[len(requests)-1].Body); bench.runs("order", "pipe") != 0 || !strings.Contains(told, "nobody could be asked") {
		t.Errorf("the tool ran %d times, the model was told %s", bench.runs("order", "pipe"), told)
	}
}
