package history_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// steps keeps a journal in memory.
type steps struct {
	all   []chat.Step
	fails error
}

func (s *steps) Note(_ context.Context, _ string, more ...chat.Step) error {
	if s.fails == nil {
		s.all = append(s.all, more...)
	}
	return s.fails
}

// storedSteps is a journal as version 1 of the program stored it. Every later version must be able to read this journal.
func storedSteps() []chat.Step {
	step := func(kind chat.StepKind, call, body string) chat.Step {
		return chat.Step{Kind: kind, Call: call, Body: []byte(body)}
	}
	return []chat.Step{
		step(chat.StepSaid, "", `{"role":"user","text":"and this"}`),
		step(chat.StepSaid, "", `{"role":"assistant","text":"Let me see.","tool_calls":[{"id":"1","name":"look","arguments":"{}"},{"id":"2","name":"alter","arguments":"{}"},{"id":"3","name":"alter","arguments":"{}"}]}`),
		step(chat.StepUsage, "", `{"spent":[{"Model":"m","Usage":{"Prompt":9,"Cached":0,"Completion":3,"Reasoning":0},"Calls":1,"Estimate":0,"EstimatedPrompt":0,"EstimatedCompletion":0}],"through":0}`),
		step(chat.StepReads, "1", ""),
		step(chat.StepAsked, "2", `{"id":"ab3de"}`),
		step(chat.StepBegun, "2", ""),
		step(chat.StepBegun, "3", ""),
		step(chat.StepStopped, "3", ""),
		step(chat.StepAnswered, "1", `{"answer":{"role":"tool","text":"seen","tool_call_id":"1"},"files":[{"Name":"a.png","MediaType":"image/png","Content":"AQI="}]}`),
	}
}

func read(t *testing.T, s []chat.Step) history.Replay {
	t.Helper()
	r, err := history.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadStoredJournal(t *testing.T) {
	r := read(t, storedSteps())
	if got := texts(r.Said); got != "assistant: Let me see., tool: seen" {
		t.Errorf("said %q", got)
	}
	if !slices.Equal(r.Started, []string{"1", "2"}) || !slices.Equal(r.Changing, []string{"2"}) || !r.Changed {
		t.Errorf("begun %q, changing %q, changed %t", r.Started, r.Changing, r.Changed)
	}
	if f := r.Files["1"]; len(f) != 1 || f[0].Name != "a.png" || len(f[0].Content) != 2 {
		t.Errorf("files %+v", r.Files)
	}
	if len(r.Usage) != 1 || r.Usage[0].Usage.Prompt != 9 || r.Usage[0].Model != "m" || r.Through != 0 {
		t.Errorf("usage %+v through %d", r.Usage, r.Through)
	}
	if got := r.CutOff(); !slices.Equal(got, []string{"alter"}) {
		t.Errorf("cut off %q", got)
	}
	for call, want := range map[string]bool{"1": true, "2": true, "3": false} {
		if r.Ran(call) != want {
			t.Errorf("call %s ran: %t", call, !want)
		}
	}
	if _, err := history.Read([]chat.Step{{Kind: chat.StepUsage, Body: []byte("{")}}); err == nil {
		t.Error("a broken step was read")
	}
}

// The test writes a journal and reads it again. The journal that the test reads must equal the journal that it wrote.
func TestJournal(t *testing.T) {
	s := &steps{}
	earlier := history.Replay{Changing: []string{"0"}, Usage: []agent.ModelUsage{{Model: "m", Calls: 1}}}
	j := history.NewJournal(s, "t", 2, earlier)
	if j.Changed() || len(j.LastUsage()) != 1 {
		t.Errorf("changed %t, usage %+v", j.Changed(), j.LastUsage())
	}
	ctx, usage := t.Context(), []agent.ModelUsage{{Model: "m", Calls: 2, Estimate: 7}}
	calls := []agent.ToolCall{{ID: "1", Name: "look"}, {ID: "2", Name: "alter"}}
	files := []agent.File{{Name: "a.png", Content: []byte{1}}}
	for _, err := range []error{
		j.Step(ctx, []agent.Message{{Role: agent.Assistant, ToolCalls: calls}}, usage),
		j.Begin(ctx, false, calls[0]), j.Begin(ctx, true, calls[1]), j.Stopped(ctx, calls[0]),
		j.End(ctx, agent.Message{Role: agent.ToolRole, ToolCallID: "2", Text: "done"}, files),
		j.StoreCompleteUsage(ctx, usage),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := read(t, s.all)
	if texts(r.Said) != "assistant: , tool: done" || !slices.Equal(r.Started, []string{"2"}) || !r.Changed || !reflect.DeepEqual(r.Files["2"], files) ||
		!reflect.DeepEqual(r.Usage, usage) || r.Through != 2 {
		t.Errorf("read %+v", r)
	}
	if !j.Changed() || !slices.Equal(j.Changing(), []string{"0", "2"}) || j.Failed() {
		t.Errorf("changed %t, changing %q, failed %t", j.Changed(), j.Changing(), j.Failed())
	}
	if err := j.StoreUsage(ctx, usage); err != nil || read(t, s.all[len(s.all)-1:]).Through != 1 {
		t.Errorf("usage of the run so far: %v", err)
	}
	s.fails = errors.New("disk full")
	if err := j.StoreUsage(ctx, usage); err == nil || j.Failed() {
		t.Errorf("usage that is not stored: %v, failed %t; it ends no turn", err, j.Failed())
	}
	if err := j.Begin(ctx, true, agent.ToolCall{ID: "3"}); err == nil || !j.Failed() || !slices.Contains(j.Changing(), "3") {
		t.Errorf("a call that was not stored: %v, failed %t", err, j.Failed())
	}
}

func part(i, steps int, text string) chat.Part {
	return chat.Part{Index: i, Steps: steps, Source: text, Ref: chat.MessageRef{ID: "1"}}
}

func TestKept(t *testing.T) {
	parts := []chat.Part{part(1, 0, "world "), part(0, 0, " Hello "), {Index: 2, Source: "never shown"}}
	if got := texts(history.Replay{}.Kept(parts)); got != "assistant: Hello world" {
		t.Errorf("of an answer %q is kept", got)
	}
	if got := (history.Replay{}).Kept(nil); got != nil {
		t.Errorf("of nothing %q is kept", texts(got))
	}
	if got := read(t, storedSteps()).Kept(parts); len(got) != 4 || got[0].Text != "Let me see." || got[1].Text != "seen" {
		t.Errorf("of a turn with tools %q is kept", texts(got))
	}
}

func TestEstimateOfAnInterruptedAnswer(t *testing.T) {
	stored := storedSteps()
	running := chat.Turn{State: chat.TurnRunning, Runs: 1}
	for _, c := range []struct {
		name  string
		steps []chat.Step
		rec   chat.Turn
		want  bool
	}{
		{"it had said nothing", nil, running, true},
		{"a call waits for its answer", stored[:3], running, false},
		{"a call that another process had begun has none", append(slices.Clone(stored[:2]), stored[3], stored[5], stored[6], stored[2]), running, true},
		{"all of it is stored", []chat.Step{{Kind: chat.StepUsage, Body: []byte(`{"spent":null,"through":1}`)}}, running, false},
		{"it was decided", nil, chat.Turn{State: chat.TurnDecided, Runs: 1}, false},
	} {
		if got := read(t, c.steps).DiedAnswering(c.rec); got != c.want {
			t.Errorf("%s: died while it answered: %t, want %t", c.name, got, c.want)
		}
	}
	r := read(t, stored)
	old, fresh := "one two three four five", "six seven eight"
	got := r.UsageWithEstimate("m", 100, []chat.Part{part(0, 3, "Let me see."+fresh), part(1, 1, old)})
	want := agent.ModelUsage{
		Model: "m", Calls: 2, Usage: agent.Usage{Prompt: 9, Completion: 3},
		EstimatedPrompt:     100 + agent.EstimateTokens("Let me see.") + agent.EstimateTokens("seen"),
		EstimatedCompletion: agent.EstimateTokens("Let me see."+fresh) - agent.EstimateTokens("Let me see."),
	}
	want.Estimate = want.EstimatedCompletion
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := r.UsageWithEstimate("other", 1, nil); len(got) != 2 || got[1].Calls != 1 || got[1].EstimatedCompletion != 0 || r.Usage[0].Calls != 1 {
		t.Errorf("of another model: %+v", got)
	}
}

func TestChanges(t *testing.T) {
	said := []agent.Message{
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "1", Name: "alter"}, {ID: "2", Name: "change"}}},
		{Role: agent.ToolRole, ToolCallID: "1", Text: "done"},
	}
	got := history.Changes(said, []string{"1", "2", "1"})
	want := []history.Change{{ID: "1", Tool: "alter", Outcome: agent.CallDone}, {ID: "2", Tool: "change", Outcome: agent.CallUnknown}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
