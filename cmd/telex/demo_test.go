package main

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"telex/internal/app"
)

// shownLine matches a line of `telex demo --say` that reports a change of a message.
var shownLine = regexp.MustCompile(`^\+(\d+\.\d\d)s +(send|edit|delete) +#(\d+) +(\d+) characters  (.*)$`)

// summaryLine matches the line with the total numbers of messages, edits and calls.
var summaryLine = regexp.MustCompile(`^(\d+) message\(s\), (\d+) edit\(s\), (\d+) call\(s\) answered 429, final (-?\d+\.\d\d) s after the last token`)

// demoReport is what the demo printed.
type demoReport struct {
	verbs            []string
	texts            []string // the visible end of the text after each change
	final            string
	messages, edits  int
	limited          int
	afterLastTokenMS int
	exact            bool
}

func readReport(t *testing.T, out string) demoReport {
	t.Helper()
	var r demoReport
	head, rest, ok := strings.Cut(out, "\n\n")
	end := strings.LastIndex(rest, "\n\n")
	if !ok || end < 0 {
		t.Fatalf("the report has no three parts:\n%s", out)
	}
	r.final = rest[:end]
	for line := range strings.Lines(head) {
		if m := shownLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			r.verbs, r.texts = append(r.verbs, m[2]), append(r.texts, m[5])
		}
	}
	summary := strings.TrimSpace(rest[end:])
	m := summaryLine.FindStringSubmatch(summary)
	if m == nil {
		t.Fatalf("the summary is not readable: %q", summary)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(strings.Replace(s, ".", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.messages, r.edits, r.limited = number(m[1]), number(m[2]), number(m[3])
	r.afterLastTokenMS = number(m[4]) * 10
	r.exact = strings.Contains(summary, "\nexact: ")
	return r
}

func TestDemoSaysWhatThePersonSaw(t *testing.T) {
	t.Parallel()
	p := launch{env: []string{streamingVariable + "=true"}}.start(t, "demo", "--say", "Explain the tides", "--rate", "100")
	code := p.exit(patience)
	r := readReport(t, p.stdout.String())
	text, _ := tides(t)
	if code != exitDone || !r.exact || r.final != text {
		t.Errorf("exit %d, exact %t, final\ngot  %q\nwant %q", code, r.exact, r.final, text)
	}
	if r.messages != 1 || r.limited != 0 || r.afterLastTokenMS > 10_000 {
		t.Errorf("%d messages, %d calls answered 429, final %d ms after the last token; want 1, 0, at most 10 s (make bench has the bar)",
			r.messages, r.limited, r.afterLastTokenMS)
	}
	if growth := len(r.verbs) - 1; growth < 3 || r.edits != growth {
		t.Errorf("%d visible growth steps, %d edits, want as many and at least 3", growth, r.edits)
	}
	for i, text := range r.texts {
		if want := i < len(r.texts)-1; strings.HasSuffix(text, cursor) != want {
			t.Errorf("step %d of %d ends with a cursor: want %t: %q", i+1, len(r.texts), want, text)
		}
	}
	if got := p.stderr.String(); got != "" {
		t.Errorf("stderr = %q, want nothing", got)
	}
	t.Logf("final %d ms after the last token, steps %v", r.afterLastTokenMS, r.verbs)
}

func TestDemoWithoutStreaming(t *testing.T) {
	t.Parallel()
	p := launch{env: []string{"TELEX_STREAMING_ENABLED=false"}}.start(t, "demo", "--say", "Explain the tides", "--rate", "400")
	code := p.exit(patience)
	r := readReport(t, p.stdout.String())
	text, _ := tides(t)
	if code != exitDone || !r.exact || r.final != text {
		t.Errorf("exit %d, exact %t, final\ngot  %q\nwant %q", code, r.exact, r.final, text)
	}
	if len(r.verbs) != 1 || r.verbs[0] != "send" || r.edits != 0 || strings.Contains(p.stdout.String(), strings.TrimSpace(cursor)) {
		t.Errorf("the person saw %v with %d edits, want one send without a cursor:\n%s", r.verbs, r.edits, p.stdout)
	}
	if r.messages != 1 || r.limited != 0 || r.afterLastTokenMS > 10_000 {
		t.Errorf("%d messages, %d calls answered 429, final %d ms after the last token; want 1, 0, at most 10 s (make bench has the bar)",
			r.messages, r.limited, r.afterLastTokenMS)
	}
}

// The test compares the text and also the entities, because the text alone does not show which words are bold.
func TestDemoEntities(t *testing.T) {
	t.Parallel()
	for _, streaming := range []string{"true", "false"} {
		t.Run("streaming "+streaming, func(t *testing.T) {
			t.Parallel()
			env := func(name string) (string, bool) { return streaming, name == "TELEX_STREAMING_ENABLED" }
			o := app.DemoOptions{Rate: 400, Env: env, Log: slog.New(slog.DiscardHandler)}
			if err := app.RunDemo(t.Context(), o, func(ctx context.Context, d *app.Demo) error {
				if err := d.Say(ctx, io.Discard, "Explain the tides"); err != nil {
					return err
				}
				list := d.Telegram.History(ada)
				if len(list) != 2 {
					t.Fatalf("%d messages, want the question and the answer", len(list))
				}
				checkTides(t, list[1].Last())
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDemoServesThePageUntilInterrupted(t *testing.T) {
	t.Parallel()
	p := launch{}.start(t, "demo", "--rate", "400")
	r := remote{t: t, url: p.awaitAddress(regexp.MustCompile(`Open (http://\S+) in a browser`))}
	if page := r.get("/"); !strings.Contains(page, "<html") {
		t.Errorf("the page is no HTML: %.200q", page)
	}
	r.url += "/telegram" // the Telegram stand-in has a page of its own
	r.say("say: hello from the page")
	list := r.awaitReplies(ada, "the answer", func(texts []string) bool { return len(texts) == 1 && texts[0] == "hello from the page" })
	if len(list) != 1 {
		t.Errorf("%d messages, want 1", len(list))
	}
	p.signal(syscall.SIGINT)
	if code := p.exit(patience); code != exitDone {
		t.Errorf("exit %d after SIGINT, want %d", code, exitDone)
	}
}
