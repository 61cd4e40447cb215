package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/fault"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// answerInWords is a question whose answer is plain text and takes about two seconds.
const answerInWords = "words: 200"

// F05, F08, F12, F13: some calls to the platform fail. In the end, the person must see the whole answer exactly once.
func TestPlatformFaults(t *testing.T) {
	t.Parallel()
	inject := func(f telegram.Fault) func(*world) { return func(w *world) { w.telegram.Fault(f) } }
	for _, c := range []struct {
		name   string
		before func(*world) // prepares the platform
		during func(*world) // called when the answer has begun to grow
	}{
		{
			name:   "cut after the send took effect",
			before: inject(telegram.Fault{Method: "sendMessage", Nth: 1, Action: fault.CutAfter}),
		},
		{
			name:   "cut before the send took effect",
			before: inject(telegram.Fault{Method: "sendMessage", Nth: 1, Action: fault.CutBefore}),
		},
		{
			name:   "malformed answer to the send",
			before: inject(telegram.Fault{Method: "sendMessage", Nth: 1, Action: fault.Malformed}),
		},
		{
			name:   "page of a proxy instead of a send",
			before: inject(telegram.Fault{Method: "sendMessage", Nth: 1, Action: fault.Status, Status: http.StatusBadGateway}),
		},
		{
			name:   "cut after edits took effect",
			before: inject(telegram.Fault{Method: "editMessageText", Times: 2, Action: fault.CutAfter}),
		},
		{
			name:   "cut before edits took effect",
			before: inject(telegram.Fault{Method: "editMessageText", Times: 2, Action: fault.CutBefore}),
		},
		{
			name:   "page of a proxy instead of edits",
			before: inject(telegram.Fault{Method: "editMessageText", Times: 3, Action: fault.Status, Status: http.StatusBadGateway}),
		},
		{name: "API down for 3 s", during: func(w *world) { w.telegram.Restart(3 * time.Second) }},
		{name: "message too old to find once", before: inject(telegram.Fault{
			Method: "editMessageText", Nth: 2, Action: fault.Status, Status: http.StatusInternalServerError, AfterEffect: true,
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			p := w.daemon(sections{})
			if c.before != nil {
				c.before(w)
			}
			w.ask(answerInWords)
			if c.during != nil {
				w.awaitGrowth(1)
				c.during(w)
			}
			p.awaitLog("turn ended", 1)
			texts := w.texts(ada)
			if len(texts) != 1 || texts[0] != openai.Answer(answerInWords) {
				t.Errorf("ada sees %d messages, want the whole answer: %q", len(texts), texts)
			}
			if lines := p.logged("may stand beside the reply"); len(lines) > 0 {
				t.Errorf("the log says that a message may stand beside the reply: %v", lines)
			}
			if v := w.telegram.Stats().Violations; v.Total() != 0 {
				t.Errorf("violations: %+v", v)
			}
		})
	}
}

// F47, D6: a person deletes a preview. After the deletion, no message may appear before the final answer.
func TestDeletedPreview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{})
	w.ask(answerInWords)
	m := w.awaitGrowth(1)
	w.telegram.Delete(ada, m.ID)
	p.awaitLog("turn ended", 1)
	w.wantTexts(ada, openai.Answer(answerInWords))
	if n := len(w.replies(ada)[0].Versions); n != 1 {
		t.Errorf("the final was shown in %d versions, want 1", n)
	}
}

// F09, F10: if a failure of the model is temporary, the person must see the whole answer and no error.
func TestModelFaultsThatMend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, do   string
		times      int
		requests   int
		askedPlain bool // the last model request asked for no stream
	}{
		{name: "stream is cut in the middle", do: "cut=100 on=stream", times: 1, requests: 2},
		{name: "stream ends early", do: "eof=100 on=stream", times: 1, requests: 2},
		{name: "stream ends with an error", do: "fail=100 on=stream", times: 1, requests: 2},
		{name: "cannot stream", do: "refuse=stream", requests: 2, askedPlain: true},
		{name: "overloaded at first", do: "status=503", times: 1, requests: 2},
		{name: "rate limit at first", do: "status=429 retry_after=1", times: 1, requests: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			if err := w.model.Rule(openai.Rule{Do: c.do, Times: c.times}); err != nil {
				t.Fatal(err)
			}
			p := w.daemon(sections{})
			w.ask(answerInWords)
			p.awaitLog("turn ended", 1)
			w.wantTexts(ada, openai.Answer(answerInWords))
			requests := w.model.Requests()
			if len(requests) != c.requests || requests[len(requests)-1].Stream == c.askedPlain {
				t.Errorf("%d requests, the last one streaming: %t; want %d and %t",
					len(requests), requests[len(requests)-1].Stream, c.requests, !c.askedPlain)
			}
		})
	}
}

// D9: if a failure of the model lasts, the person sees one line with a fixed text. The line in the chat and the log
// line about the failure must contain the same id.
func TestModelFaultsThatStay(t *testing.T) {
	t.Parallel()
	const (
		unreachable = "⚠️ The model isn't available right now. (error "
		late        = "⚠️ The model did not start to answer in time. (error "
		silent      = "⚠️ The model stopped answering. (error "
		tooLong     = "⚠️ This took too long, so I stopped. (error "
	)
	for _, c := range []struct {
		name, do, line string
		shown          bool // a part of the answer was shown before the failure
		logged         string
		requests       int
		limits         string
	}{
		{name: "hangs in the middle", do: "hang=200", line: silent, shown: true, logged: "silent for too long", requests: 2, limits: "silence: 4s"},
		{name: "hangs from the start", do: "hang=start", line: late, logged: "did not begin its answer in time", requests: 2, limits: "first_token: 4s"},
		{name: "always 500", do: "status=500", line: unreachable, logged: "after 4 attempts", requests: 4},
		{name: "wrong key", do: "status=401", line: unreachable, logged: "invalid_api_key", requests: 1},
		{name: "broken both ways", do: "cut=200", line: unreachable, shown: true, logged: "ask once more after", requests: 2},
		{name: "never ends", do: "rate=50", line: tooLong, shown: true, logged: "took too long", requests: 1, limits: "turn: 8s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			if err := w.model.Rule(openai.Rule{Do: c.do}); err != nil {
				t.Fatal(err)
			}
			p := w.daemon(sections{more: "agent: {limits: {" + c.limits + "}}"})
			const question = "words: 1000"
			w.ask(question)
			failed := p.awaitLog("turn failed", 1)[0]
			texts := w.texts(ada)
			if len(texts) != 1 {
				t.Fatalf("ada sees %d messages, want 1: %q", len(texts), texts)
			}
			shown, line, found := strings.Cut(texts[0], "⚠️")
			id, isLine := strings.CutPrefix("⚠️"+line, c.line)
			id = strings.TrimSuffix(id, ")")
			if !found || !isLine || failed.text("turn")[:8] != id || len(id) != 8 {
				t.Errorf("the line is %q, want %q and the id of the log line %v", "⚠️"+line, c.line, failed)
			}
			if c.shown {
				checkPrefix(t, strings.TrimSuffix(shown, "\n\n"), openai.Answer(question))
			} else if shown != "" {
				t.Errorf("ada sees %q before the line", shown)
			}
			if !strings.Contains(failed.text("error"), c.logged) {
				t.Errorf("the log says %q, want %q", failed.text("error"), c.logged)
			}
			if n := len(w.model.Requests()); n != c.requests {
				t.Errorf("the model was asked %d times, want %d", n, c.requests)
			}
		})
	}
}

// If a provider refuses a key, the person sees neither the key nor a part of it.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Key: "sk-another-key-than-the-configured"})
	p := w.daemon(sections{})
	w.ask("hello")
	failed := p.awaitLog("turn failed", 1)[0]
	if got := failed.text("error"); !strings.Contains(got, "401") && !strings.Contains(got, "key") {
		t.Errorf("the log says %q, want that the key is wrong", got)
	}
	if texts := w.texts(ada); len(texts) != 1 || strings.Contains(texts[0], "key") || strings.Contains(texts[0], "sk-") {
		t.Errorf("ada sees %q, want one line that does not speak of keys", texts)
	}
	levels := []string{}
	for _, e := range p.log() {
		levels = append(levels, e.text("level"))
	}
	if !slices.Contains(levels, "ERROR") {
		t.Errorf("the operator sees the levels %q, want an ERROR", levels)
	}
}
