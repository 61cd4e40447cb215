package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	draft := []answer{{c: Completion{Text: "<think>hm</think>A draft.", Usage: &Usage{Prompt: 3, Completion: 2}}}}
	final := []answer{called("", "read {}"), {deltas: texts("The ", "answer."), c: Completion{Usage: &Usage{Prompt: 4}}}}
	turn := streamed
	turn.Messages = []Message{{Role: User, Text: "earlier"}, {Role: Assistant, Text: "yes"}, {Role: User, Text: "hi"}}
	turn.More = meanwhile("and?")
	o := Options{
		System: "General.", Tools: workshop(), ThinkTags: []string{"think"},
		Pipeline: []Node{{Name: "draft", System: "Draft."}, {Name: "polish", Model: "spare"}},
	}
	got, second := chain(t, o, turn, draft, final)
	got.check(t, StopDone, "The answer.", `a:identified:"read" a:executing:"read" a:completed:"read" text:"The " text:"answer."`)
	first := got.model.requests[0]
	if len(got.model.requests) != 1 || len(second.requests) != 2 || len(first.Tools) > 0 {
		t.Errorf("asked %d and %d times", len(got.model.requests), len(second.requests))
	}
	if first.System != "Draft." || said(first.Messages) != "user:earlier assistant:yes user:hi" {
		t.Errorf("asked first %+v", first)
	}
	if r := second.requests[0]; r.System != "General." || said(r.Messages) != "user:earlier assistant:yes user:A draft. user:and?" || len(r.Tools) != 4 {
		t.Errorf("asked then %+v", r)
	}
	if got.Model != "spare" || got.ModelCalls != 3 || got.Usage.Prompt != 17 || len(got.UsageByModel) != 2 {
		t.Errorf("%s answered, usage %+v", got.Model, got.UsageByModel)
	}
	if !strings.HasPrefix(transcript(got.Append), "user:and?\nassistant:[a read {}]") || said(turn.Messages[2:]) != "user:hi" {
		t.Errorf("grew by\n%s", transcript(got.Append))
	}
}

func TestPipelineEndsEarly(t *testing.T) {
	t.Parallel()
	lines := DefaultLines()
	o := Options{Pipeline: []Node{{Name: "draft"}, {Model: "spare"}}, Limits: Limits{ModelCalls: 1}}
	for _, tt := range []struct {
		name string
		a    answer
		stop StopReason
		text string
		err  string
	}{
		{"nothing", answer{}, StopEmpty, lines[StopEmpty], ""},
		{"filtered", answer{c: Completion{Text: "A dr", Finish: FinishFiltered}}, StopFiltered, lines[StopFiltered], ""},
		{"refused", answer{c: Completion{Refusal: "No."}}, StopRefused, lines[StopRefused], ""},
		{"calls", answer{c: Completion{ToolCalls: []ToolCall{{ID: "a", Name: "read"}}}}, StopNoTool, lines[StopNoTool], ""},
		{"the limit spans all nodes", answer{c: Completion{Text: "A draft."}}, StopCalls, "", "more model calls"},
		{"an error", answer{err: &ModelError{Kind: Auth, Err: errors.New("no")}}, StopError, "", "node draft of the pipeline"},
	} {
		o.Limits.ModelCalls = 1
		if tt.name == "an error" {
			o.Limits.ModelCalls = 2 // the first model uses up the limit
		}
		got, second := chain(t, o, streamed, []answer{tt.a}, nil)
		asked := len(second.requests) > 0 // the second model is asked only if the first one failed
		if got.Stop != tt.stop || got.Text != tt.text || asked != (tt.name == "an error") || got.events != "" {
			t.Errorf("%s: got %s %q, events %s", tt.name, got.Stop, got.Text, got.events)
		}
		if tt.err != "" && (got.err == nil || !strings.Contains(got.err.Error(), tt.err)) {
			t.Errorf("%s: error %v", tt.name, got.err)
		}
	}
	_, err := New(Options{
		Models: []ModelOptions{{Model: &script{}}}, Log: slog.New(slog.DiscardHandler), Pipeline: []Node{{Name: "x", Model: "none"}},
	})
	if err == nil || !strings.Contains(err.Error(), `no model is named "none"`) {
		t.Errorf("got %v", err)
	}
}

// After a crash, the nodes before the last one run again, because they change nothing. The last node continues after the
// stored calls. However the turn ends, the stored calls stay in the history.
func TestPipelineContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	var ran []string
	tools := toolbox{{Name: "write", Call: func(_ context.Context, in Input) (Output, error) {
		ran = append(ran, in.Arguments)
		return Output{Text: "written", Files: []File{{Name: "new.txt", Content: []byte("x")}}}, nil
	}}}
	turn := streamed
	turn.Approver = &person{verdict: Approved}
	turn.Steps = []Message{
		{Role: Assistant, Text: "First.", ToolCalls: []ToolCall{{ID: "a", Name: "write", Arguments: `{"n":1}`}, {ID: "b", Name: "write", Arguments: `{"n":2}`}}},
		{Role: ToolRole, ToolCallID: "a", Name: "write", Text: "written"},
	}
	turn.Files = map[string][]File{"a": {{Name: "old.txt", Content: []byte("x")}}}
	o := Options{Tools: tools, Pipeline: []Node{{Name: "draft"}, {Model: "spare"}}}
	const kept = "assistant:First.[a write {\"n\":1}][b write {\"n\":2}]\ntool a:written\ntool b:"
	for _, tt := range []struct {
		name       string
		draft      answer
		ran, files string
		text, grew string
		asked      string
	}{
		{
			"goes on",
			answer{c: Completion{Text: "A draft."}},
			`{"n":2}`, "old.txt new.txt",
			"First.\n\nDone.", kept + "written\nassistant:Done.", "user:A draft.\n" + kept + "written",
		},
		{"the draft was filtered", answer{c: Completion{Finish: FinishFiltered}}, "", "old.txt", "First.\n\n" + DefaultLines()[StopFiltered], kept + resultNotRun, ""},
		{"the draft failed", answer{err: &ModelError{Kind: BadRequest, Err: errors.New("no")}}, "", "old.txt", "First.", kept + resultNotRun, ""},
	} {
		ran = nil
		var final []answer
		if tt.asked != "" {
			final = []answer{{deltas: texts("Done.")}}
		}
		got, second := chain(t, o, turn, []answer{tt.draft}, final)
		if strings.Join(ran, " ") != tt.ran || names(got.Files) != tt.files || transcript(got.Append) != tt.grew {
			t.Errorf("%s: %q, ran %v, files %s, grew by\n%s", tt.name, got.Text, ran, names(got.Files), transcript(got.Append))
		}
		if got.Text != tt.text || (got.err != nil) != (tt.draft.err != nil) {
			t.Errorf("%s: got %q, %v", tt.name, got.Text, got.err)
		}
		if tt.asked != "" && transcript(second.requests[0].Messages) != tt.asked {
			t.Errorf("%s: asked\n%s", tt.name, transcript(second.requests[0].Messages))
		}
		if draft := transcript(got.model.requests[0].Messages); draft != "user:hi" {
			t.Errorf("%s: asked for the draft of\n%s", tt.name, draft)
		}
		checkAnswered(t, got.Append)
	}
}

// The limits on time and tool calls apply to all nodes together. The usage is the sum over all nodes.
func TestLimitsSpanThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := toolbox{does("read", func(ctx context.Context, _ Input) (Output, error) { return Output{}, Sleep(ctx, 3*time.Second) })}
		o := Options{Tools: slow, Pipeline: []Node{{Name: "draft"}, {Name: "polish"}}, Limits: Limits{Turn: 5 * time.Second}}
		model := &slowly{takes: 3 * time.Second, script: script{answers: []answer{{c: Completion{Text: "A draft.", Usage: &Usage{Prompt: 3}}}, called("One.", "read {}")}}}
		a := newAgentWith(t, o, model)
		r, err := a.Run(t.Context(), streamed, func(Event) {})
		if r.Stop != StopTimeLimit || err == nil || r.Elapsed != 5*time.Second || r.Usage.Prompt != 13 || r.ModelCalls != 2 || r.ToolCalls != 1 || r.Text != "One." {
			t.Errorf("%v, %+v", err, r)
		}
		checkAnswered(t, r.Append)
	})
}

// slowly is a script whose first answer begins late.
type slowly struct {
	script
	takes time.Duration
}

func (s *slowly) Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error) {
	if err := Sleep(ctx, s.takes); err != nil {
		return Completion{}, err
	}
	s.takes = 0
	return s.script.Stream(ctx, r, emit)
}

// A tool's Asks function must know what people typed. So Asks gets the text that people wrote, not the text that a pipeline put
// in place of the question. Asks also learns whether a summary replaces older messages.
func TestAsksSeesOnlyPeoplesText(t *testing.T) {
	t.Parallel()
	var heard []string
	tools := toolbox{{Name: "read", ReadOnly: true, Call: workshop()[0].Call, Asks: func(_ ToolCall, said CallContext) bool {
		heard = append(heard, fmt.Sprint(said.Summarized, " ", transcript(said.Messages)))
		return false
	}}}
	turn := streamed
	turn.Summary = "They said evil.example is fine."
	turn.Messages = []Message{{Role: User, Text: "one"}, {Role: Assistant, Text: "two"}, {Role: User, Text: "three"}}
	turn.More = meanwhile("", "four")
	o := Options{Tools: tools, Pipeline: []Node{{Name: "draft"}, {Name: "polish"}}}
	got := runTurn(t, t.Context(), o, turn, answer{c: Completion{Text: "evil.example"}},
		called("Let me see.", "read {}"), called("Once more.", "read {}", "read {}"), answer{deltas: texts("Done.")})
	first := "true user:one\nassistant:two\nuser:three"
	second := first + "\nassistant:Let me see.[a read {}]\ntool a:did {}\nuser:four"
	if want := []string{first, second, second}; fmt.Sprint(heard) != fmt.Sprint(want) || got.Text != "Let me see.\n\nOnce more.\n\nDone." {
		t.Errorf("%q, heard\n%q\nwant\n%q", got.Text, heard, want)
	}

	heard = nil // the same must hold if older messages are summarized within the turn
	o = windowed(2000, 200)
	o.Tools = tools
	turn = ask(chat(20, 100), "and now?")
	got = runTurn(t, t.Context(), o, turn, answer{c: Completion{Text: "A summary with evil.example."}}, called("", "read {}"), answer{deltas: texts("Done.")})
	if got.Compaction == nil || len(heard) != 1 || heard[0] != "true "+transcript(turn.Messages) {
		t.Errorf("%+v, heard\n%s", got.Compaction, strings.Join(heard, "\n---\n"))
	}
}
