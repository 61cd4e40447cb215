package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// toolbox is a Toolbox with fixed tools.
type toolbox []ToolDef

func (b toolbox) Tools() []ToolDef { return b }

// workshop returns four tools. "read" waits for the number of seconds in its arguments and returns the arguments. "write"
// does the same, but counts as a change. "fail" fails, and "draw" makes an image and a file.
func workshop() toolbox {
	work := func(ctx context.Context, in Input) (Output, error) {
		var arguments struct {
			Seconds int
			Tell    string
		}
		if err := json.Unmarshal([]byte(in.Arguments), &arguments); err != nil {
			return Output{}, err
		}
		if arguments.Tell != "" {
			in.Progress(arguments.Tell)
		}
		if err := Sleep(ctx, time.Duration(arguments.Seconds)*time.Second); err != nil {
			return Output{}, err
		}
		return Output{Text: "did " + in.Arguments}, nil
	}
	return toolbox{
		does("read", work),
		{Name: "write", Call: work, Propose: func(arguments string) string { return "will write " + arguments }},
		does("fail", func(context.Context, Input) (Output, error) { return Output{}, errors.New("no such host") }),
		does("draw", func(context.Context, Input) (Output, error) {
			return Output{
				Text: "drawn", Images: []Image{{MediaType: "image/png", Data: []byte("p")}},
				Files: []File{{Name: "plan.txt", Content: []byte("x")}},
			}, nil
		}),
	}
}

// called returns a model's answer with calls, each in the form "NAME ARGUMENTS". The ids of the calls are a, b, and so on.
func called(text string, calls ...string) answer {
	a := answer{}
	if text != "" {
		a.deltas = texts(text)
	}
	for i, call := range calls {
		name, arguments, _ := strings.Cut(call, " ")
		id := string(rune('a' + i))
		a.deltas = append(a.deltas, Delta{Call: &CallDelta{Position: i, ID: id, Name: name}})
		a.c.ToolCalls = append(a.c.ToolCalls, ToolCall{ID: id, Name: name, Arguments: arguments})
	}
	a.c.Usage = &Usage{Prompt: 10, Completion: 5}
	return a
}

// transcript formats messages with their calls.
func transcript(messages []Message) string {
	var out []string
	for _, m := range messages {
		s := string(m.Role) + ":" + m.Text
		for _, c := range m.ToolCalls {
			s += fmt.Sprintf("[%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		if m.ToolCallID != "" {
			s = string(m.Role) + " " + m.ToolCallID + ":" + m.Text
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

// checkAnswered checks a rule of providers: each call has exactly one result, right after its message.
func checkAnswered(t rapid.TB, messages []Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		if m.Role == ToolRole {
			at := slices.Index(open, m.ToolCallID)
			if at != 0 {
				t.Errorf("the answer to %q is out of place in\n%s", m.ToolCallID, transcript(messages))
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("no answer to %v in\n%s", open, transcript(messages))
	}
}

// person is an Approver with a fixed verdict.
type person struct {
	verdict   Verdict
	err       error
	takes     time.Duration
	proposals []Proposal
}

func (p *person) Approve(ctx context.Context, proposal Proposal) (Verdict, error) {
	p.proposals = append(p.proposals, proposal)
	if err := Sleep(ctx, p.takes); err != nil {
		return Denied, err
	}
	return p.verdict, p.err
}

// F07: text before and after tool calls is one reply.
func TestToolsWhileStreamingF07(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &person{verdict: Approved, takes: 7 * time.Second}
		turn := streamed
		turn.Approver = p
		o := Options{Tools: workshop(), Limits: Limits{Turn: 5 * time.Second, ModelCalls: 8, ToolCalls: 8}}
		got := runTurn(t, t.Context(), o, turn,
			called("Let me see.", `read {"seconds":2}`, `read {"seconds":1,"tell":"halfway"}`),
			called("Now I write.\n", `write {"x":1}`),
			answer{deltas: texts("\nDone", "."), c: Completion{Usage: &Usage{Prompt: 10, Completion: 5}}})
		got.check(t, StopDone, "Let me see.\n\nNow I write.\n\nDone.", strings.Join([]string{
			`text:"Let me see."`, `a:identified:"read"`, `b:identified:"read"`, `a:executing:"read"`, `b:executing:"read"`,
			`b:executing:"halfway"`, `b:completed:"halfway"`, `a:completed:"read"`,
			`text:"\n\nNow I write.\n"`, `a_2:identified:"write"`, `a_2:interrupted:"write"`, `a_2:executing:"write"`, `a_2:completed:"write"`,
			`text:"\nDone"`, `text:"."`,
		}, " "))
		if want := strings.Join([]string{
			`assistant:Let me see.[a read {"seconds":2}][b read {"seconds":1,"tell":"halfway"}]`,
			`tool a:did {"seconds":2}`, `tool b:did {"seconds":1,"tell":"halfway"}`,
			`assistant:Now I write.[a_2 write {"x":1}]`, `tool a_2:did {"x":1}`, `assistant:Done.`,
		}, "\n"); transcript(got.Append) != want {
			t.Errorf("grew by\n%s\nwant\n%s", transcript(got.Append), want)
		}
		if got.ToolCalls != 3 || got.ModelCalls != 3 || got.Usage != (Usage{Prompt: 30, Completion: 15}) || got.err != nil {
			t.Errorf("%d tool calls, %d model calls, usage %+v, error %v", got.ToolCalls, got.ModelCalls, got.Usage, got.err)
		}
		if got.Elapsed != 9*time.Second { // the turn's clock was paused while the person decided
			t.Errorf("took %v", got.Elapsed)
		}
		if len(p.proposals) != 1 || p.proposals[0].Text != `will write {"x":1}` || p.proposals[0].Call.ID != "a_2" {
			t.Errorf("proposed %+v", p.proposals)
		}
		last := got.model.requests[2]
		checkAnswered(t, last.Messages)
		if len(last.Tools) != 4 || len(last.Messages) != 6 {
			t.Errorf("asked last with %d tools and\n%s", len(last.Tools), transcript(last.Messages))
		}
	})
}

// The model is told why a call was not run: an error that it can correct, or a person's decision.
func TestCallsThatAreNotRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		call     string
		approver Approver
		want     string
	}{
		{"unknown", `fly {}`, nil, `Error: there is no tool named "fly". The tools are: read, write, fail, draw.`},
		{"invalid", `read {"a`, nil, `Error: the arguments are not valid JSON, so nothing was done. Call again with a JSON object. You wrote: {"a`},
		{"fails", `fail {}`, nil, `Error: no such host.`},
		{"nobody to ask", `write {}`, nil, `Error: this call needs a person's approval, and nobody could be asked.`},
		{"could not ask", `write {}`, &person{verdict: Approved, err: errors.New("store")}, `Error: this call needs a person's approval, and nobody could be asked.`},
		{"denied", `write {}`, &person{verdict: Denied}, `Not done: the person denied this call. Do not call it again unless you are asked to.`},
		{"timed out", `write {}`, &person{verdict: TimedOut}, `Not done: nobody approved this call in time. Do not call it again unless you are asked to.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			turn := streamed
			turn.Approver = tt.approver
			got := runTurn(t, t.Context(), Options{Tools: workshop()}, turn, called("", tt.call), answer{deltas: texts("I see.")})
			if got.Stop != StopDone || got.Text != "I see." || !strings.HasSuffix(transcript(got.Append), "tool a:"+tt.want+"\nassistant:I see.") {
				t.Errorf("%s %q, grew by\n%s", got.Stop, got.Text, transcript(got.Append))
			}
			if !strings.Contains(got.events, "a:failed:") {
				t.Errorf("events %s", got.events)
			}
			if tt.name == "could not ask" && !strings.Contains(got.log, "level=ERROR") {
				t.Errorf("log %s", got.log)
			}
			checkAnswered(t, got.Append)
		})
	}
}

// Calls of a read-only tool may need approval, too, depending on the conversation.
func TestToolMayAskForApproval(t *testing.T) {
	t.Parallel()
	tools := toolbox{{Name: "read", ReadOnly: true, Asks: func(c ToolCall, said CallContext) bool {
		return !strings.Contains(transcript(said.Messages), c.Arguments) && !strings.Contains(transcript(said.Messages), "read")
	}, Call: workshop()[0].Call}}
	for question, want := range map[string]int{"hi": 1, "{} please": 0} {
		p := &person{verdict: Approved}
		turn := Turn{Stream: true, Messages: []Message{{Role: User, Text: question}}, Approver: p}
		got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", "read {}"), answer{deltas: texts("Done.")})
		if got.Text != "Done." || len(p.proposals) != want {
			t.Errorf("%q: %d proposals, %q", question, len(p.proposals), got.Text)
		}
	}
	if !needsApproval(parsedCall{def: ToolDef{ReadOnly: true, Asks: func(ToolCall, CallContext) bool { panic("no") }}}, CallContext{}) {
		t.Error("a tool that fails at saying whether it needs approval got none")
	}
}

// If there are more tools than a provider accepts, the request contains only some of them, and the model still answers.
func TestTooManyTools(t *testing.T) {
	t.Parallel()
	var tools toolbox
	for i := range 200 {
		tools = append(tools, ToolDef{Name: fmt.Sprintf("tool%03d", i), ReadOnly: true, Call: workshop()[0].Call})
	}
	got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, called("", "tool000 {}", "tool150 {}"), answer{deltas: texts("Done.")})
	for _, r := range got.model.requests {
		if n := len(r.Tools); n != 128 || r.Tools[127].Name != "tool127" {
			t.Errorf("%d tools were offered", n)
		}
	}
	if got.Text != "Done." || strings.Count(got.log, "more tools than a model may be offered") != 1 {
		t.Errorf("%q, logged\n%s", got.Text, got.log)
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	c := parsedCall{ToolCall: ToolCall{Name: "write", Arguments: `{"a":1}`}}
	if got := propose(c).Text; got != "write {\n  \"a\": 1\n}" {
		t.Errorf("got %q", got)
	}
	c.def.Propose = func(string) string { panic("no") }
	c.Arguments = `{"a":"` + strings.Repeat("x", 5000) + `"}`
	if got := propose(c).Text; len(got) > maxProposal || !strings.HasSuffix(got, "xxx… (3067 more characters are not shown)") {
		t.Errorf("got …%s", got[len(got)-60:])
	}
	c.Arguments = "{}"
	if got := propose(c).Text; got != "write" {
		t.Errorf("got %q", got)
	}
}

func TestFilesAreInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, streamed, called("", "read {}", "draw {}"), called("", "draw {}"), answer{deltas: texts("Here.")})
	var names []string
	for _, f := range got.Files {
		names = append(names, f.Name)
	}
	if fmt.Sprint(names) != "[draw.png plan.txt draw.png plan.txt]" {
		t.Errorf("files %v", names)
	}
	if images := got.model.requests[1].Messages[3].Images; len(images) != 1 {
		t.Errorf("the model was shown %d images", len(images))
	}
}

// If a limit on calls is reached, Result.Stop and either a line or an error name the limit. The last request offers no tools,
// so that the model answers.
func TestToolLimits(t *testing.T) {
	lines := DefaultLines()
	many := called("", "read {}", "read {}", "read {}")
	for _, tt := range []struct {
		name     string
		limits   Limits
		answers  []answer
		stop     StopReason
		text     string
		calls    int
		offered  string // number of tools in each request
		failed   bool
		contains string
	}{
		{
			"tool calls",
			Limits{ToolCalls: 2},
			[]answer{many, {deltas: texts("Enough.")}},
			StopToolCalls,
			"Enough.\n\n" + lines[StopToolCalls], 2, "4 0", false, "tool c:Error: no more than 2 tools may be called",
		},
		{
			"tool calls, and it calls all the same",
			Limits{ToolCalls: 2},
			[]answer{many, called("Hm.", "read {}")},
			StopToolCalls,
			"Hm.\n\n" + lines[StopToolCalls], 2, "4 0", false, "assistant:Hm.",
		},
		{
			"model calls",
			Limits{ModelCalls: 2},
			[]answer{many, {deltas: texts("Enough.")}},
			StopCalls,
			"Enough.\n\n" + lines[StopCalls], 3, "4 0", false, "assistant:Enough.",
		},
		{"one model call", Limits{ModelCalls: 1}, []answer{{deltas: texts("Hello.")}}, StopDone, "Hello.", 0, "0", false, ""},
		{
			"model calls, with a broken stream",
			Limits{ModelCalls: 2},
			[]answer{many, {deltas: texts("He"), err: &ModelError{Kind: Broken, Err: errors.New("cut")}}},
			StopCalls,
			"He", 3, "4 0", true, "assistant:He",
		},
		{"room for one more", Limits{ToolCalls: 4, ModelCalls: 3}, []answer{many, {deltas: texts("Hello.")}}, StopDone, "Hello.", 3, "4 4", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := runTurn(t, t.Context(), Options{Tools: workshop(), Limits: tt.limits}, streamed, tt.answers...)
			var offered []string
			for _, r := range got.model.requests {
				offered = append(offered, fmt.Sprint(len(r.Tools)))
			}
			if got.Stop != tt.stop || got.Text != tt.text || got.ToolCalls != tt.calls || strings.Join(offered, " ") != tt.offered || (got.err != nil) != tt.failed {
				t.Errorf("got %s %q, %d calls, offered %v, error %v\nwant %+v", got.Stop, got.Text, got.ToolCalls, offered, got.err, tt)
			}
			if !strings.Contains(transcript(got.Append), tt.contains) {
				t.Errorf("grew by\n%s", transcript(got.Append))
			}
			if tt.stop != StopDone && !tt.failed && !strings.Contains(got.log, "reason="+string(tt.stop)) {
				t.Errorf("the log says\n%s", got.log)
			}
			checkAnswered(t, got.Append)
		})
	}
}

// However a turn is stopped, each of its calls has a result in the history.
func TestStoppedDuringCalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		after  time.Duration // 0: only the turn's own limit of 4 s applies
		calls  []string
		stop   StopReason
		append string
		events string
	}{
		{
			"while reading", time.Second,
			[]string{`read {"seconds":9}`, `read {}`, `write {}`},
			StopCancelled,
			"tool a:" + resultStopped + "\ntool b:did {}\ntool c:" + resultNotRun, "a:failed",
		},
		{"turn limit", 0, []string{`read {"seconds":9}`}, StopTimeLimit, "tool a:" + resultStopped, "a:failed"},
		{"while a person is asked", time.Second, []string{`read {}`, `write {}`}, StopCancelled, "tool a:did {}\ntool b:" + resultNotRun, "b:interrupted"},
		{"while writing", 6 * time.Second, []string{`write {"seconds":9}`}, StopCancelled, "tool a:" + resultUnknown, "a:executing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.after > 0 {
					time.AfterFunc(tt.after, cancel)
				}
				turn := streamed
				turn.Approver = &person{verdict: Approved, takes: 5 * time.Second}
				got := runTurn(t, ctx, Options{Tools: workshop(), Limits: Limits{Turn: 4 * time.Second}}, turn, called("Let me see.", tt.calls...))
				if got.Stop != tt.stop || got.Text != "Let me see." || !got.Partial || !strings.HasSuffix(transcript(got.Append), tt.append) {
					t.Errorf("got %s %q, grew by\n%s\nwant %s\n%s", got.Stop, got.Text, transcript(got.Append), tt.stop, tt.append)
				}
				if !strings.Contains(got.events, tt.events) {
					t.Errorf("events %s", got.events)
				}
				checkAnswered(t, got.Append)
			})
		})
	}
}

// A turn has run tool calls, and the stream of the next answer breaks off. The agent must request the answer again. The text of
// earlier answers stays, and incomplete calls are dropped.
func TestBrokenStreamAfterTools(t *testing.T) {
	t.Parallel()
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	whole := called("", "read {}")
	whole.deltas, whole.c.Text = nil, "Once more."
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, streamed, called("```\nx", "read {}"),
		answer{deltas: append(texts("On"), Delta{Call: &CallDelta{ID: "a", Name: "read"}}), err: broke}, whole, answer{deltas: texts("Done.")})
	got.check(t, StopDone, "```\nx\n```\n\nOnce more.\n\nDone.", strings.Join([]string{
		`text:"` + "```" + `\nx"`, `a:identified:"read"`, `a:executing:"read"`, `a:completed:"read"`,
		`text:"\n` + "```" + `\n\nOn"`, `a_2:identified:"read"`, `a_2:failed:"read"`,
		`reset`, `text:"` + "```" + `\nx"`, `text:"\n` + "```" + `\n\nOnce more."`,
		`a_3:identified:"read"`, `a_3:executing:"read"`, `a_3:completed:"read"`, `text:"\n\nDone."`,
	}, " "))
	checkAnswered(t, got.Append)
}

// A closing tag without an opening tag turns the text before it into thinking, but only the text of the same answer.
func TestLateThinkTagAfterTools(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{Tools: workshop(), ThinkTags: []string{"think"}}, streamed, called("First.", "read {}"),
		answer{deltas: texts("hm", "</think>Second.")})
	got.check(t, StopDone, "First.\n\nSecond.",
		`text:"First." a:identified:"read" a:executing:"read" a:completed:"read" text:"\n\nhm" reset text:"First." thought:"hm" text:"\n\nSecond."`)
}

func TestReasoningIsKeptWithCalls(t *testing.T) {
	t.Parallel()
	a := called("", "read {}")
	a.deltas = append([]Delta{{Reasoning: "I must "}, {Reasoning: "read."}}, a.deltas...)
	a.c.ToolCalls[0].Extra = json.RawMessage(`{"x":1}`)
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, streamed, a, answer{deltas: []Delta{{Reasoning: "Fine."}, {Text: "Done."}}})
	if m := got.model.requests[1].Messages[1]; m.Reasoning != "I must read." || string(m.ToolCalls[0].Extra) != `{"x":1}` {
		t.Errorf("the call came back as %+v", m)
	}
	if m := got.Append[2]; m.Reasoning != "" || m.Text != "Done." {
		t.Errorf("grew by %+v", m)
	}
}

// If a model gives several calls the same id, each call gets a unique id.
func TestCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	a := called("", "read {}", "read {}", "read {}", "read {}")
	for i, id := range []string{"", "x", "x", ""} {
		a.deltas[i].Call.ID, a.c.ToolCalls[i].ID = id, id
	}
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, streamed, a, answer{deltas: texts("Done.")})
	checkAnswered(t, got.Append)
	var ids []string
	for _, c := range got.Append[0].ToolCalls {
		ids = append(ids, c.ID)
	}
	if fmt.Sprint(ids) != "[call x x_2 call_2]" || strings.Count(got.events, ":completed:") != 4 {
		t.Errorf("ids %v, events %s", ids, got.events)
	}
}

func TestProviderWithoutTools(t *testing.T) {
	t.Parallel()
	refused := answer{err: &ModelError{Kind: NoTools, Status: 400, Err: errors.New("no tools")}}
	model := &script{answers: []answer{refused, {deltas: texts("Hello.")}, called("Hm.", "read {}")}}
	a := newAgentWith(t, Options{Tools: workshop()}, model)
	turn := Turn{Stream: true, Messages: []Message{
		{Role: User, Text: "hi"},
		{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}},
		{Role: ToolRole, ToolCallID: "a", Name: "read", Text: "x"},
		{Role: User, Text: "and?"},
	}}
	r, err := a.Run(t.Context(), turn, func(Event) {})
	if err != nil || r.Text != "Hello." || r.ModelCalls != 2 {
		t.Errorf("got %q, %v, %d calls", r.Text, err, r.ModelCalls)
	}
	r, err = a.Run(t.Context(), turn, func(Event) {})
	if err != nil || r.Stop != StopNoTool || r.ToolCalls != 0 {
		t.Errorf("got %s, %v", r.Stop, err)
	}
	for i, want := range []int{4, 0, 0} { // the agent remembers that the provider refuses tools
		if r := model.requests[i]; len(r.Tools) != want || hasCalls(r.Messages) != (want > 0) {
			t.Errorf("request %d with %d tools and\n%s", i, len(r.Tools), transcript(r.Messages))
		}
	}
}

// Some providers refuse a history with calls that another model made. After such a refusal, the agent sends the other model's
// calls as text.
func TestProviderRefusesAHistoryWithCalls(t *testing.T) {
	t.Parallel()
	refused := answer{err: &ModelError{Kind: BadRequest, Status: 400, Err: errors.New("tool call id must have 9 characters")}}
	turn := Turn{Stream: true, Messages: []Message{
		{Role: User, Text: "hi", Images: []Image{{MediaType: "image/png"}}},
		{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}},
		{Role: ToolRole, ToolCallID: "a", Name: "read", Text: "x"},
		{Role: User, Text: "and?"},
	}}
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, turn, refused, refused, answer{deltas: texts("Hello.")})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	if r := got.model.requests[2]; hasCalls(r.Messages) || !hasImages(r.Messages) || len(r.Tools) != 4 {
		t.Errorf("asked last with %d tools and\n%s", len(r.Tools), transcript(r.Messages))
	}
	if strings.Contains(got.log, "refuses a part") {
		t.Errorf("log %s", got.log)
	}
}

// If a turn has many long results of tools, the results are shortened, so that the turn does not fail.
func TestManyResultsAreShortened(t *testing.T) {
	t.Parallel()
	tools := toolbox{does("read", func(context.Context, Input) (Output, error) { return Output{Text: strings.Repeat("word ", 2000)}, nil })}
	n := &narrow{window: 6000, output: 200, factor: 1}
	steps := 0
	n.calls = func(Request) []ToolCall {
		if steps++; steps > 30 {
			return nil
		}
		return []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}
	}
	a := newNarrow(t, n, Options{Tools: tools})
	r, err := a.Run(t.Context(), Turn{Stream: true, Messages: []Message{{Role: User, Text: "go"}}}, func(Event) {})
	if err != nil || r.Stop != StopDone || r.ToolCalls != 30 || n.refusals > 0 {
		t.Errorf("got %s, %v, %d calls, %d refusals", r.Stop, err, r.ToolCalls, n.refusals)
	}
	checkAnswered(t, n.last.Messages)
}

// The request for a summary has no tools, so the calls in its history become text.
func TestSummaryOfCalls(t *testing.T) {
	t.Parallel()
	var history []Message
	for range 12 {
		history = append(history, Message{Role: User, Text: strings.Repeat("word ", 100)},
			Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}},
			Message{Role: ToolRole, ToolCallID: "a", Name: "read", Text: "the result"}, Message{Role: Assistant, Text: "Yes."})
	}
	o := windowed(2000, 200)
	o.Tools = workshop()
	got := runTurn(t, t.Context(), o, ask(history, "and now?"), answer{c: Completion{Text: "A summary."}}, answer{deltas: texts("Hello.")})
	summary := got.model.requests[0]
	if got.Text != "Hello." || hasCalls(summary.Messages) || len(summary.Tools) > 0 || !strings.Contains(summary.said(), "the result") {
		t.Errorf("got %q; asked for a summary of\n%s", got.Text, transcript(summary.Messages[max(0, len(summary.Messages)-3):]))
	}
	checkAnswered(t, got.model.requests[1].Messages)
	without := got.model.requests[1]
	without.Tools = nil
	if with := got.model.requests[1].tokens(); with <= without.tokens() {
		t.Errorf("%d tokens with tools, %d without", with, without.tokens())
	}
}

// The model's answers and the moment at which the turn is stopped are random. Each call must have one result, each status
// line must end once and in order, and the text of the Result must begin with the emitted text.
func TestAnyTurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			model := &script{}
			for range rapid.IntRange(0, 4).Draw(rt, "steps") {
				calls := rapid.SliceOfN(rapid.SampledFrom([]string{
					`read {}`, `read {"seconds":2}`, `write {"seconds":1}`, `fail {}`, `fly {}`, `read {`, `draw {}`,
				}), 1, 4).Draw(rt, "calls")
				a := called(rapid.SampledFrom([]string{"", "Text.", "More\n\n", "```\ncode"}).Draw(rt, "text"), calls...)
				if rapid.IntRange(0, 4).Draw(rt, "breaks") == 0 {
					broken := a
					broken.err = &ModelError{Kind: Broken, Err: errors.New("cut")}
					model.answers = append(model.answers, broken)
					for _, d := range a.deltas {
						a.c.Text += d.Text
					}
					a.deltas = nil
				}
				model.answers = append(model.answers, a)
			}
			model.answers = append(model.answers, answer{deltas: texts("The end.")})
			a := newAgentWith(t, Options{Tools: workshop(), MaxParallel: rapid.IntRange(1, 4).Draw(rt, "parallel"), Limits: Limits{
				Turn: time.Duration(rapid.IntRange(0, 6).Draw(rt, "limit")) * time.Second, ToolCalls: rapid.IntRange(0, 9).Draw(rt, "tools"),
				ModelCalls: rapid.IntRange(0, 6).Draw(rt, "models"),
			}}, model)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if s := rapid.IntRange(0, 5).Draw(rt, "stop"); s > 0 {
				time.AfterFunc(time.Duration(s)*time.Second+time.Millisecond, cancel)
			}
			text := ""
			states := map[string]ToolState{}
			turn := streamed
			turn.Approver = &person{verdict: Verdict(rapid.IntRange(0, 2).Draw(rt, "verdict")), takes: time.Second}
			r, _ := a.Run(ctx, turn, func(e Event) {
				switch e := e.(type) {
				case Text:
					text += e.Delta
				case Reset:
					text = ""
				case Tool:
					if before, ok := states[e.ID]; ok && isFinal(before) || !ok && e.State != ToolIdentified {
						rt.Errorf("%s after %d", tool(e), before)
					}
					states[e.ID] = e.State
				}
			})
			checkAnswered(rt, append(slices.Clone(turn.Messages), r.Append...))
			for id, s := range states {
				if !isFinal(s) {
					rt.Errorf("call %s was left at %d", id, s)
				}
			}
			if !strings.HasPrefix(r.Text, strings.TrimSpace(text)) {
				rt.Errorf("told %q, result %q", text, r.Text)
			}
			for _, m := range r.Append {
				if m.Role == Assistant && !strings.Contains(r.Text, m.Text) {
					rt.Errorf("%q is not in %q", m.Text, r.Text)
				}
			}
			if (r.Stop == StopDone) != strings.HasSuffix(r.Text, "The end.") {
				rt.Errorf("%s: %q", r.Stop, r.Text)
			}
		})
	})
}

// Text that was held back because it might begin a tag is emitted before the calls.
func TestTextBeforeCallsIsWhole(t *testing.T) {
	t.Parallel()
	o := Options{Tools: workshop(), ThinkTags: []string{"think"}, Pipeline: []Node{{Name: "draft"}, {Name: "polish"}}}
	got := runTurn(t, t.Context(), o, streamed, answer{c: Completion{Text: "A draft <"}}, called("See <thi", "read {}"), answer{deltas: texts("Done.")})
	if got.Text != "See <thi\n\nDone." || got.Append[0].Text != "See <thi" || said(got.model.requests[1].Messages) != "user:A draft <" {
		t.Errorf("got %q, grew by\n%s\nasked %q", got.Text, transcript(got.Append), said(got.model.requests[1].Messages))
	}
}
