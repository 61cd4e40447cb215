package agent

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// live returns a streamed turn with tools that the client runs itself.
func live(names ...string) Turn {
	t := streamed
	t.Live = true
	for _, name := range names {
		t.ClientTools = append(t.ClientTools, ToolSpec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return t
}

// reading returns read-only tools of the agent with these names.
func reading(names ...string) toolbox {
	var box toolbox
	for _, name := range names {
		box = append(box, ToolDef{Name: name, ReadOnly: true, Call: func(context.Context, Input) (Output, error) { return Output{Text: name + " ran"}, nil }})
	}
	return box
}

// writing returns an answer in which the model writes a call piece by piece.
func writing(text, id, name string, arguments ...string) answer {
	a := called(text)
	all := ""
	for _, piece := range append([]string{""}, arguments...) {
		all += piece
		a.deltas = append(a.deltas, Delta{Call: &CallDelta{ID: id, Name: name, Arguments: all}})
	}
	a.c.ToolCalls = []ToolCall{{ID: id, Name: name, Arguments: all}}
	return a
}

func TestClientCallsEndTheTurn(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{Tools: reading("clock")}, live("weather"), called("Let me see.", "clock {}"), writing("One moment.", "b", "weather", `{"ci`, `ty":"Rome"}`))
	got.check(t, StopClientCalls, "Let me see.\n\nOne moment.",
		`text:"Let me see." a:identified:"clock" a:executing:"clock" a:completed:"clock" text:"\n\nOne moment." call:b:weather:"{\"ci" call:b:weather:"ty\":\"Rome\"}"`)
	want := []Message{
		{Role: Assistant, Text: "Let me see.", ToolCalls: []ToolCall{{ID: "a", Name: "clock", Arguments: "{}"}}},
		{Role: ToolRole, ToolCallID: "a", Name: "clock", Text: "clock ran"},
		{Role: Assistant, Text: "One moment.", ToolCalls: []ToolCall{{ID: "b", Name: "weather", Arguments: `{"city":"Rome"}`}}},
	}
	if !reflect.DeepEqual(got.Append, want) {
		t.Errorf("history: got %+v, want %+v", got.Append, want)
	}
	if tools := got.model.requests[0].Tools; len(tools) != 2 || tools[0].Name != "weather" || !got.model.requests[0].Live {
		t.Errorf("offered %+v", tools)
	}
}

// If an answer calls tools of the agent and tools of the client, the agent's tools are not run, because the client's next
// request could not contain their results.
func TestClientCallsDropOwnCalls(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{Tools: reading("clock")}, live("weather"), called("", "clock {}", `weather {"a":1}`, "unknown {}"))
	got.check(t, StopClientCalls, "", `a:identified:"clock" c:identified:"unknown" call:b:weather:"{\"a\":1}" a:failed:"clock" c:failed:"unknown"`)
	if len(got.Append) != 1 || len(got.Append[0].ToolCalls) != 1 || got.Append[0].ToolCalls[0].ID != "b" || got.ToolCalls != 0 {
		t.Errorf("history: %+v, %d calls", got.Append, got.ToolCalls)
	}
}

// A client's tool replaces the agent's tool of the same name, even when the limit of tool calls is reached.
func TestClientToolReplacesOwnTool(t *testing.T) {
	t.Parallel()
	o := Options{Tools: reading("clock", "other"), Limits: Limits{ToolCalls: 1}}
	got := runTurn(t, t.Context(), o, live("clock"), called("", "other {}"), called("", `clock {}`))
	got.check(t, StopClientCalls, "", `a:identified:"other" a:executing:"other" a:completed:"other" call:a_2:clock:"{}"`)
	if tools := got.model.requests[1].Tools; len(tools) != 1 || tools[0].Name != "clock" {
		t.Errorf("offered %+v", tools)
	}
}

// An answer reaches its length limit in the middle of a call's arguments. The client gets the incomplete arguments unchanged.
// The history contains valid arguments instead.
func TestCutOffClientCall(t *testing.T) {
	t.Parallel()
	a := writing("", "a", "weather", `{"ci`)
	a.c.Finish = FinishLength
	got := runTurn(t, t.Context(), Options{}, live("weather"), a)
	if got.Stop != StopLength || got.events != `call:a:weather:"{\"ci"` || got.Append[0].ToolCalls[0].Arguments != "{}" {
		t.Errorf("got %s, %s, %+v", got.Stop, got.events, got.Append)
	}
}

// If an answer breaks off, the agent requests it again only if the client has not received any text of the broken answer.
func TestLiveTurnsAreNotRepeated(t *testing.T) {
	t.Parallel()
	broken := &ModelError{Kind: Broken, Err: errors.New("gone")}
	first := answer{deltas: texts("One"), err: broken}
	got := runTurn(t, t.Context(), Options{}, live(), first, answer{deltas: texts("Two")})
	if got.err == nil || got.events != `text:"One"` || len(got.model.requests) != 1 {
		t.Errorf("got %s after %d requests, %v", got.events, len(got.model.requests), got.err)
	}
	call := writing("", "a", "weather", `{"ci`)
	call.err = broken
	if got = runTurn(t, t.Context(), Options{}, live("weather"), call, answer{deltas: texts("Two")}); got.err == nil || len(got.model.requests) != 1 {
		t.Errorf("got %s after %d requests, %v", got.events, len(got.model.requests), got.err)
	}
	turn := live("weather")
	turn.Live = false
	if got = runTurn(t, t.Context(), Options{}, turn, call, answer{deltas: texts("Two")}); got.err != nil || got.events != `call:a:weather:"{\"ci" reset text:"Two"` {
		t.Errorf("not live: got %s, %v", got.events, got.err)
	}
	if got = runTurn(t, t.Context(), Options{}, live(), answer{err: broken}, answer{deltas: texts("Two")}); got.err != nil || got.events != `text:"Two"` {
		t.Errorf("got %s, %v", got.events, got.err)
	}
}

// A caller's parameters apply only to the last node of a pipeline, which writes the answer.
func TestParams(t *testing.T) {
	t.Parallel()
	turn := live("weather")
	half := 0.5
	turn.Params = Params{Temperature: &half, MaxOutput: 20, MustCall: true, MustCallName: "weather"}
	o := Options{Tools: reading("clock"), Pipeline: []Node{{Name: "first"}, {Name: "last"}}}
	got := runTurn(t, t.Context(), o, turn, answer{deltas: texts("Draft")}, answer{deltas: texts("Done")})
	first, last := got.model.requests[0], got.model.requests[1]
	if !reflect.DeepEqual(first.Params, Params{}) || first.MaxOutput != 0 || first.Live || len(first.Tools) != 0 {
		t.Errorf("first node: %+v", first)
	}
	if !reflect.DeepEqual(last.Params, turn.Params) || last.MaxOutput != 20 || !last.Live || len(last.Tools) != 1 {
		t.Errorf("last node: %+v", last)
	}
}
