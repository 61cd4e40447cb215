package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// narrow is a Model that counts tokens in its own way and refuses requests that exceed its window. The summaries of narrow keep
// those lines that ask the model to remember something, up to the length limit.
type narrow struct {
	window, output int
	factor         float64 // the model's token count divided by the agent's estimate
	quiet          bool    // the model reports no usage
	last           Request
	refusals       int
	summaries      int
	answer         func(Request) string
	calls          func(Request) []ToolCall
}

func (n *narrow) Name() string { return "narrow" }

func (n *narrow) Stream(_ context.Context, r Request, _ func(Delta)) (Completion, error) {
	output := n.output
	if r.MaxOutput > 0 {
		output = min(output, r.MaxOutput)
	}
	prompt := int(float64(r.tokens()) * n.factor)
	if prompt+output > n.window {
		n.refusals++
		return Completion{}, &ModelError{Kind: ContextLength, Status: 400, Err: errors.New("maximum context length")}
	}
	c := Completion{Text: "ok, " + strings.Repeat("sure ", 20)}
	if n.answer != nil {
		c.Text = n.answer(r)
	}
	if isSummaryRequest(r) {
		n.summaries++
		c.Text = remembered(r)
	} else {
		n.last = r
		if n.calls != nil {
			c.ToolCalls = n.calls(r)
		}
	}
	if !n.quiet {
		c.Usage = &Usage{Prompt: prompt, Completion: int(float64(EstimateTokens(c.Text)) * n.factor)}
	}
	return c, nil
}

func isSummaryRequest(r Request) bool {
	return len(r.Messages) > 0 && strings.HasPrefix(r.Messages[len(r.Messages)-1].Text, "Summarize the conversation above")
}

var remember = regexp.MustCompile(`(?m)remember that .*$`)

// remembered returns what a good summary of a request's messages must contain: the lines to remember, from its messages and
// from the earlier summary.
func remembered(r Request) string {
	_, before, _ := strings.Cut(r.System, summaryMark)
	lines := remember.FindAllString(before, -1)
	for _, m := range r.Messages {
		lines = append(lines, remember.FindAllString(m.Text, -1)...)
	}
	return strings.Join(append(lines, "They talked."), "\n")
}

// said returns all text in a request.
func (r Request) said() string {
	var all strings.Builder
	all.WriteString(r.System)
	for _, m := range r.Messages {
		all.WriteString("\n" + m.Text)
	}
	return all.String()
}

// conversation keeps the history as the gateway does.
type conversation struct {
	summary  string
	messages []Message
}

func (c *conversation) turn(question string) Turn {
	return Turn{Stream: true, Summary: c.summary, Messages: append(c.messages, Message{Role: User, Text: question})}
}

func (c *conversation) grow(t Turn, r Result) {
	c.messages = append(t.Messages, r.Append...)
	if r.Compaction != nil {
		c.summary, c.messages = r.Compaction.Summary, c.messages[r.Compaction.Messages:]
	}
}

func newNarrow(t *testing.T, n *narrow, o Options) *Agent {
	t.Helper()
	o.Models = []ModelOptions{{Model: n, Window: n.window, MaxOutput: n.output}}
	o.Log = slog.New(slog.DiscardHandler)
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A conversation has 500 turns and a small window. The provider may count more or fewer tokens than telex estimates. None of
// the 500 turns may fail. The last request must still contain the fact that the model was asked to remember in the third turn.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	for _, factor := range []float64{0.6, 0.8, 1, 1.3, 1.8} {
		for _, quiet := range []bool{false, true} {
			t.Run(fmt.Sprintf("factor=%v/quiet=%v", factor, quiet), func(t *testing.T) {
				t.Parallel()
				n := &narrow{window: 4000, output: 500, factor: factor, quiet: quiet}
				a := newNarrow(t, n, Options{System: "Be brief.", Limits: Limits{ModelCalls: 16}})
				var c conversation
				for i := range 500 {
					question := fmt.Sprintf("Turn %d: %s", i+1, strings.Repeat("what about this, ", 1+i*7%40))
					if i == 2 {
						question = "Please remember that the cat is called Pangur.\nThanks."
					}
					turn := c.turn(question)
					result, err := a.Run(t.Context(), turn, func(Event) {})
					if err != nil || result.Stop != StopDone {
						t.Fatalf("turn %d: %s, error %v", i+1, result.Stop, err)
					}
					if result.Context == 0 || result.Window != 4000 {
						t.Fatalf("turn %d: context %d of %d", i+1, result.Context, result.Window)
					}
					c.grow(turn, result)
				}
				if said := n.last.said(); !strings.Contains(said, "Pangur") || !strings.Contains(said, "Turn 500") {
					t.Errorf("the last request lacks what matters:\n%s", said)
				}
				if n.summaries < 10 || n.summaries > 250 {
					t.Errorf("%d summaries in 500 turns", n.summaries)
				}
				if !quiet && n.refusals > 10 {
					t.Errorf("%d refusals: nothing was learned from the usage", n.refusals)
				}
			})
		}
	}
}

// The test gives a turn a random history. The request of a turn must fit into the window and contain the question. The caller's
// messages must stay unchanged.
func TestAnyConversationFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := &narrow{
			window: rapid.IntRange(600, 6000).Draw(rt, "window"),
			factor: rapid.Float64Range(0.6, 1.8).Draw(rt, "factor"),
			quiet:  rapid.Bool().Draw(rt, "quiet"),
		}
		n.output = n.window / rapid.IntRange(4, 10).Draw(rt, "output")
		o := Options{System: strings.Repeat("rule ", rapid.IntRange(0, 20).Draw(rt, "system"))}
		if rapid.Bool().Draw(rt, "limited") {
			o.Limits.ModelCalls = rapid.IntRange(8, 16).Draw(rt, "calls") // the limit includes refused attempts
		}
		a := newNarrow(t, n, o)
		turn := Turn{
			Stream: rapid.Bool().Draw(rt, "stream"), Summary: strings.Repeat("fact ", rapid.IntRange(0, 1000).Draw(rt, "summary")),
			Messages: append(drawHistory(rt), Message{Role: User, Text: "the question"}),
		}
		before := fmt.Sprint(turn.Messages)
		result, err := a.Run(t.Context(), turn, func(Event) {})
		if err != nil || result.Stop != StopDone {
			rt.Fatalf("%s, error %v", result.Stop, err)
		}
		if last := n.last.Messages[len(n.last.Messages)-1]; last.Text != "the question" {
			rt.Errorf("the last message is %.60q", last.Text)
		}
		if after := fmt.Sprint(turn.Messages); after != before {
			rt.Error("the caller's messages were changed")
		}
		if c := result.Compaction; c != nil && (c.Messages <= 0 || c.Messages >= len(turn.Messages) || c.Summary == "") {
			rt.Errorf("compaction %+v of %d messages", c, len(turn.Messages))
		}
		for i, m := range n.last.Messages {
			if m.Role == ToolRole && (i == 0 || n.last.Messages[i-1].Role != Assistant) {
				rt.Errorf("message %d is the result of a call that is not there", i)
			}
		}
	})
}

// drawHistory draws random questions and answers, some with a tool call between question and answer.
func drawHistory(t *rapid.T) []Message {
	text := func(name string) string {
		return strings.Repeat("wörd 42, ", rapid.IntRange(1, 300).Draw(t, name))
	}
	var out []Message
	for range rapid.IntRange(0, 30).Draw(t, "exchanges") {
		out = append(out, Message{Role: User, Text: text("asked")})
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			out = append(out, Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "1", Name: "fetch", Arguments: "{}"}}},
				Message{Role: ToolRole, ToolCallID: "1", Text: text("fetched") + text("more")})
		}
		out = append(out, Message{Role: Assistant, Text: text("answered")})
	}
	return out
}

// chat returns the given number of exchanges, each with about the given number of tokens.
func chat(exchanges, tokens int) []Message {
	var out []Message
	for i := range exchanges {
		out = append(out, Message{Role: User, Text: fmt.Sprintf("question %d", i)},
			Message{Role: Assistant, Text: strings.Repeat("word", tokens-10)})
	}
	return out
}

func windowed(window, output int) Options {
	return Options{Models: []ModelOptions{{Window: window, MaxOutput: output}}}
}

func ask(messages []Message, question string) Turn {
	return Turn{Stream: true, Messages: append(slices.Clip(messages), Message{Role: User, Text: question})}
}

func TestSummaryIsRequested(t *testing.T) {
	t.Parallel()
	turn := ask(chat(20, 100), "and now?")
	turn.System, turn.Summary = "Be brief.", "Once upon a time."
	got := runTurn(t, t.Context(), windowed(2000, 200), turn,
		answer{c: Completion{Text: "<think>hm</think>A summary.", Usage: &Usage{Prompt: 1700, Completion: 5}}},
		answer{deltas: texts("Hello."), c: Completion{Usage: &Usage{Prompt: 900, Completion: 2}}})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	if got.Usage != (Usage{Prompt: 2600, Completion: 7}) || got.ModelCalls != 2 || got.EstimatedPrompt != 0 || got.Context != 900 || got.Window != 2000 {
		t.Errorf("usage %+v, %d calls, estimated %d, context %d of %d", got.Usage, got.ModelCalls, got.EstimatedPrompt, got.Context, got.Window)
	}
	summary, asked := got.model.requests[0], got.model.requests[1]
	if !isSummaryRequest(summary) || summary.MaxOutput != 0 ||
		!strings.Contains(summary.System, "You keep the record") || !strings.HasSuffix(summary.System, "Once upon a time.") {
		t.Errorf("summary asked with output %d: %s", summary.MaxOutput, summary.System)
	}
	c := got.Compaction
	if c == nil || !strings.HasSuffix(c.Summary, "A summary.") {
		t.Fatalf("compaction %+v", c)
	}
	if !strings.HasPrefix(asked.System, "Be brief.\n\n") || !strings.HasSuffix(asked.System, "Summary of the conversation so far: "+c.Summary) {
		t.Errorf("asked with %q", asked.System)
	}
	if n := len(asked.Messages); n != len(turn.Messages)-c.Messages || asked.Messages[0].Role != User || asked.Messages[n-1].Text != "and now?" {
		t.Errorf("asked with %d messages, %d were summarized of %d", n, c.Messages, len(turn.Messages))
	}
	if kept := asked.tokens(); kept > 1000 || kept < 500 {
		t.Errorf("kept %d tokens, want about half of the room", kept)
	}
	if got := len(summary.Messages); got != c.Messages+1 {
		t.Errorf("the summary was asked for with %d messages, want %d", got, c.Messages+1)
	}
}

// If the model can't summarize the older messages, the request leaves out the oldest messages.
func TestWithoutSummaryTheOldestAreDropped(t *testing.T) {
	failed := answer{err: &ModelError{Kind: BadRequest, Status: 400, Err: errors.New("no")}}
	hello := answer{deltas: texts("Hello."), c: Completion{Usage: &Usage{Prompt: 900}}}
	for _, tt := range []struct {
		name    string
		calls   int
		answers []answer
		asked   int
	}{
		{"error", 0, []answer{failed, hello}, 2},
		{"empty", 0, []answer{{c: Completion{Text: " \n"}}, hello}, 2},
		{"only thinking", 0, []answer{{c: Completion{Text: "<think>hm</think>"}}, hello}, 2},
		{"filtered", 0, []answer{{c: Completion{Text: "A", Finish: FinishFiltered}}, hello}, 2},
		{"the last call is the answer's", 1, []answer{hello}, 1},
		{"nothing but thinking up to its length", 0, []answer{{c: Completion{Finish: FinishLength}}, hello}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := windowed(2000, 200)
			o.ThinkTags, o.Limits.ModelCalls = []string{"think"}, tt.calls
			got := runTurn(t, t.Context(), o, ask(chat(20, 100), "and now?"), tt.answers...)
			got.check(t, StopDone, "Hello.", `text:"Hello."`)
			if got.Compaction != nil || len(got.model.requests) != tt.asked || !strings.Contains(got.log, "leaving them out") {
				t.Errorf("compaction %+v, %d requests, log:\n%s", got.Compaction, len(got.model.requests), got.log)
			}
			last := got.model.requests[tt.asked-1]
			if n := last.tokens(); n > 1710 || n < 1400 || last.Messages[0].Role != User {
				t.Errorf("asked with %d tokens, from %s", n, last.Messages[0].Role)
			}
		})
	}
}

// A summary takes several model calls. If a later call fails, the summary that the earlier calls made is kept.
func TestSummaryInSteps(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), windowed(2000, 200), ask(chat(60, 100), "and now?"),
		answer{c: Completion{Text: "First."}}, answer{c: Completion{Text: "Second."}},
		answer{err: &ModelError{Kind: Auth, Err: errors.New("no")}}, answer{deltas: texts("Hello.")})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	if c := got.Compaction; c == nil || c.Summary != "Second." || c.Messages < 40 || c.Messages > 70 {
		t.Errorf("compaction %+v", c)
	}
	if !strings.HasSuffix(got.model.requests[1].System, "so far: First.") {
		t.Errorf("the second step was asked with %q", got.model.requests[1].System)
	}
}

func TestRefusedForLength(t *testing.T) {
	long := answer{err: &ModelError{Kind: ContextLength, Status: 400, Err: errors.New("too long")}}
	summary := answer{c: Completion{Text: "A summary."}}
	hello := answer{deltas: texts("Hello.")}
	too := DefaultLines()[StopTooLong]
	history := chat(20, 200)
	for _, tt := range []struct {
		name    string
		history []Message
		answers []answer
		stop    StopReason
		text    string
		last    int // number of messages in the last request
		calls   int
	}{
		{"summarized", history, []answer{long, summary, hello}, StopDone, "Hello.", 15, 3},
		{"no summary", history, []answer{long, {c: Completion{}}, hello}, StopDone, "Hello.", 31, 3},
		{"the summary is refused once", history, []answer{long, long, summary, summary, hello}, StopDone, "Hello.", 15, 5},
		{"refused again", history, []answer{long, summary, long, hello}, StopDone, "Hello.", 1, 4},
		{"and again", history, []answer{long, summary, long, long}, StopTooLong, too, 1, 4},
		{"question alone", nil, []answer{long}, StopTooLong, too, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := runTurn(t, t.Context(), Options{}, ask(tt.history, "and now?"), tt.answers...)
			if got.err != nil || got.Stop != tt.stop || got.Text != tt.text || len(got.model.answers) != 0 {
				t.Errorf("got %s %q, error %v, %d answers left\n%s", got.Stop, got.Text, got.err, len(got.model.answers), got.log)
			}
			last := got.model.requests[len(got.model.requests)-1]
			if len(last.Messages) != tt.last || got.ModelCalls != tt.calls {
				t.Errorf("%d messages in the last request, want %d; %d calls, want %d", len(last.Messages), tt.last, got.ModelCalls, tt.calls)
			}
		})
	}
}

func TestQuestionTooLong(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), windowed(1000, 100), ask(chat(20, 100), strings.Repeat("word ", 1000)))
	got.check(t, StopTooLong, DefaultLines()[StopTooLong], "")
	if got.err != nil || len(got.model.requests) != 0 || got.Append != nil || got.Partial {
		t.Errorf("error %v, %d requests, appended %v", got.err, len(got.model.requests), got.Append)
	}
}

// If an answer fills the model's window, the answer ends there, and a line says so.
func TestAnswerFillsTheWindow(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("Hello"), err: &ModelError{Kind: ContextLength, Err: errors.New("full")}})
	got.check(t, StopLength, "Hello\n\n"+DefaultLines()[StopLength], `text:"Hello"`)
	if got.err != nil || got.EstimatedPrompt == 0 {
		t.Errorf("error %v, estimated prompt %d", got.err, got.EstimatedPrompt)
	}
}

func TestResultsOfToolsAreDroppedFirst(t *testing.T) {
	t.Parallel()
	call := Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "1", Name: "fetch", Arguments: "{}"}}}
	page := Message{Role: ToolRole, ToolCallID: "1", Text: "begin " + strings.Repeat("page ", 2000) + "the end"}
	turn := ask([]Message{{Role: User, Text: "fetch it"}, call, page, {Role: Assistant, Text: "done"}}, "and now?")
	got := runTurn(t, t.Context(), windowed(2000, 200), turn, answer{deltas: texts("Hello.")})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	text := got.model.requests[0].Messages[2].Text
	if EstimateTokens(text) > 110 || !strings.HasPrefix(text, "begin page") || !strings.HasSuffix(text, "the end") ||
		!regexp.MustCompile(`\[… 9,?\d+ characters left out …\]`).MatchString(text) {
		t.Errorf("result became %q", text)
	}
	if turn.Messages[2].Text != page.Text || got.Compaction != nil {
		t.Errorf("the caller's message was changed, compaction %+v", got.Compaction)
	}
}

func TestCancelDuringTheSummary(t *testing.T) {
	why := errors.New("the user wrote again")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		got := runTurn(t, ctx, windowed(2000, 200), ask(chat(60, 100), "and now?"),
			answer{c: Completion{Text: "First.", Usage: &Usage{Prompt: 1000, Completion: 3}}}, answer{hang: true})
		got.check(t, StopCancelled, "", "")
		if !errors.Is(got.err, why) || got.Elapsed != time.Second || len(got.model.requests) != 2 || strings.Contains(got.log, "level=WARN") {
			t.Errorf("error %v after %v, %d requests, log:\n%s", got.err, got.Elapsed, len(got.model.requests), got.log)
		}
		if got.Usage.Prompt != 1000 || got.EstimatedPrompt < 1000 || got.EstimatedPrompt > 2000 {
			t.Errorf("usage %+v, estimated prompt %d", got.Usage, got.EstimatedPrompt)
		}
		if got.Compaction == nil || got.Compaction.Summary != "First." {
			t.Errorf("compaction %+v, want the step that was done", got.Compaction)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the context ends during the wait before a second attempt
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		limited := answer{err: &ModelError{Kind: RateLimited, RetryAfter: time.Minute, Err: errors.New("slow down")}}
		got := runTurn(t, ctx, windowed(2000, 200), ask(chat(60, 100), "and now?"), limited)
		got.check(t, StopCancelled, "", "")
		if !errors.Is(got.err, why) || got.Elapsed != time.Second {
			t.Errorf("error %v after %v", got.err, got.Elapsed)
		}
	})
}
