package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"telex/platforms/terminal/screentest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// numbered returns an answer of n different words.
func numbered(n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("**word%03d**", i))
	}
	return strings.Join(words, " ")
}

// checkNumbered checks that each word of the answer that numbered returned appears once, and in order.
func checkNumbered(t *testing.T, lines []string, n int) {
	t.Helper()
	var got []string
	for w := range strings.FieldsSeq(strings.Join(lines, "\n")) {
		if strings.HasPrefix(w, "word") || strings.HasPrefix(w, "**word") {
			got = append(got, w)
		}
	}
	var want []string
	for w := range strings.FieldsSeq(numbered(n)) {
		want = append(want, strings.Trim(w, "*"))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there stands\n%s\nwant the answer once", strings.Join(lines, "\n"))
	}
}

// A daemon ends while a person talks to it at a terminal. The next daemon must complete the answer in the place where
// the answer began. Text that the person typed while no daemon ran must be neither lost nor sent twice. A terminal that
// connects later must show the answer as an earlier terminal showed it.
func TestChatOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	const words = 60
	for _, tt := range []struct {
		name string
		end  func(p *process)
		runs int // minimum number of times that the model is asked the question
	}{
		{"killed", (*process).kill, 2},
		{"killed once all was said", func(p *process) { p.awaitLog("turn ended", 1); p.kill() }, 1},
		{"stopped", func(p *process) { p.signal(syscall.SIGTERM); p.exit(patience) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
			if err := w.model.Rule(openai.Rule{Match: "count", Do: fmt.Sprintf("say=%q", numbered(words))}); err != nil {
				t.Fatal(err)
			}
			env := []string{"STATE_DIRECTORY=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir()}
			daemon := w.daemon(sections{streaming: "{cli: true}", more: "shutdown_grace: 2s"}, env...)
			screen, keyboard, cmd := atTerminal(t, env, "chat")
			press := func(s string) {
				t.Helper()
				if _, err := io.WriteString(keyboard, s); err != nil {
					t.Fatal(err)
				}
			}
			idle := screentest.Has("Ctrl-D leaves")
			screen.Await(t, "the prompt", idle)
			press("count\r")
			screen.Await(t, "a growing answer", screentest.Has("word009"))
			tt.end(daemon)
			screen.Await(t, "that telex is away", func(l []string) bool {
				return screentest.Has("telex is away · trying again")(l) && screentest.Count(l, strings.TrimSpace(cursor)) == 0
			})
			press("say: next\r")
			screen.Await(t, "that this stays", screentest.Has("this stays here"))
			daemon = daemon.again()
			screen.Await(t, "the whole answer", func(l []string) bool {
				return screentest.Count(l, fmt.Sprintf("word%03d", words-1)) == 1 && idle(l)
			})
			press("\r")
			screen.Await(t, "the next answer", func(l []string) bool { return slices.Contains(l, "next") && idle(l) })
			press("\x04")
			if code := exits(t, cmd); code != exitDone {
				t.Errorf("exit %d, want %d", code, exitDone)
			}
			end := screen.Await(t, "the end", func(l []string) bool { return screentest.Count(l, "Ctrl-") == 0 })
			checkNumbered(t, end, words)
			if screentest.Count(end, "> count") != 1 || screentest.Count(end, strings.TrimSpace(cursor)) != 0 || !screen.CursorShown() {
				t.Errorf("at the end there stands\n%s", strings.Join(end, "\n"))
			}
			asked := make(map[string]int)
			for _, r := range w.model.Requests() {
				asked[r.Question]++
			}
			if asked["count"] < tt.runs || asked["say: next"] != 1 {
				t.Errorf("the model was asked %v", asked)
			}

			screen, keyboard, cmd = atTerminal(t, env, "chat")
			again := screen.Await(t, "what was said before", func(l []string) bool { return slices.Contains(l, "next") && idle(l) })
			checkNumbered(t, again, words)
			if _, err := io.WriteString(keyboard, "\x04"); err != nil {
				t.Fatal(err)
			}
			if code := exits(t, cmd); code != exitDone {
				t.Errorf("exit %d, want %d", code, exitDone)
			}
			daemon.stop()
		})
	}
}
