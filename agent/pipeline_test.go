package agent

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
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
	if strings.Join(got.model.kinds, " ") != "whole" || strings.Join(second.kinds, " ") != "stream stream" || len(first.Tools) > 0 {
		t.Errorf("asked %v and %v", got.model.kinds, second.kinds)
	}
	if first.System != "Draft." || said(first.Messages) != "user:earlier assistant:yes user:hi" {
		t.Errorf("asked first %+v", first)
	}
	if r := second.requests[0]; r.System != "General." || said(r.Messages) != "user:earlier assistant:yes user:A draft. user:and?" || len(r.Tools) != 4 {
		t.Errorf("asked then %+v", r)
	}
	if got.Model != "spare" || got.ModelCalls != 3 || got.Usage.Prompt != 17 || len(got.Spent) != 2 {
		t.Errorf("%s answered, spent %+v", got.Model, got.Spent)
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
		{"nothing", answer{}, StopEmpty, lines.Empty, ""},
		{"filtered", answer{c: Completion{Text: "A dr", Finish: FinishFiltered}}, StopFiltered, lines.Filtered, ""},
		{"refused", answer{c: Completion{Refusal: "No."}}, StopRefused, lines.Refused, ""},
		{"calls", answer{c: Completion{ToolCalls: []ToolCall{{ID: "a", Name: "read"}}}}, StopNoTool, lines.NoTool, ""},
		{"the limit spans all nodes", answer{c: Completion{Text: "A draft."}}, StopCalls, "", "more model calls"},
		{"an error", answer{err: &ModelError{Kind: Auth, Err: errors.New("no")}}, StopError, "", "node draft of the pipeline"},
	} {
		got, second := chain(t, o, streamed, []answer{tt.a}, nil)
		asked := len(second.requests) > 0 // only where the first model failed
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
