package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestBlamed(t *testing.T) {
	t.Parallel()
	tools := []ToolSpec{{Name: "time"}, {Name: "files_read"}, {Name: "files_reader"}, {Name: "desk_order"}}
	for text, want := range map[string]string{
		"Invalid schema for function 'files_reader': array schema missing items., param tools[1].function.parameters": "files_reader",
		"Invalid 'tools[3].function.name': string does not match pattern., type invalid_request_error":                "desk_order",
		"tools.1.custom.input_schema: JSON schema is invalid":                                                         "files_read",
		"GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[x].items: missing field":      "files_reader",
		"Invalid 'tools': array too long.":     "",
		"tools[17] is wrong":                   "",
		"Invalid value for 'max_tokens'":       "",
		"it took a long time, files_read said": "",
	} {
		got, ok := refusedTool(&ModelError{Kind: BadRequest, Status: 400, Err: errors.New(text)}, tools)
		if got.Name != want || ok != (want != "") {
			t.Errorf("%s: blamed %q", text, got.Name)
		}
	}
	if _, ok := refusedTool(&ModelError{Kind: Retryable, Err: errors.New("'time'")}, tools); ok {
		t.Error("a tool was blamed for trouble that passes")
	}
}

// picky is a model whose provider refuses requests that contain a tool with a certain schema.
type picky struct {
	script
	offered []string
}

func (p *picky) Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error) {
	var names []string
	var err error
	for _, t := range r.Tools {
		names = append(names, t.Name)
		if strings.Contains(string(t.Parameters), "bad") && err == nil {
			err = &ModelError{Kind: BadRequest, Status: 400, Err: fmt.Errorf("Invalid schema for function '%s'", t.Name)}
		}
	}
	p.offered = append(p.offered, strings.Join(names, " "))
	if err != nil {
		return Completion{}, err
	}
	return p.script.Stream(ctx, r, emit)
}

// If a provider refuses one server's tool, the turn continues without that tool.
func TestRefusedToolIsLeftOut(t *testing.T) {
	t.Parallel()
	schema := map[string]string{"good": `{"type":"object"}`, "bad1": `{"type":"bad"}`, "bad2": `{"type":"bad"}`}
	var tools changing
	define := func() {
		tools = nil
		for _, name := range []string{"bad1", "good", "bad2"} {
			tools = append(tools, ToolDef{Name: name, ReadOnly: true, Parameters: json.RawMessage(schema[name]), Call: workshop()[0].Call})
		}
	}
	define()
	var log strings.Builder
	model := &picky{}
	a, err := New(Options{Models: []ModelOptions{{Model: model}}, Tools: &tools, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bad1 good bad2, good bad2, good", "good", "bad1 good"} {
		model.answers, model.offered = []answer{{deltas: texts("Hello.")}}, nil
		got, err := a.Run(t.Context(), streamed, func(Event) {})
		if offered := strings.Join(model.offered, ", "); err != nil || got.Text != "Hello." || offered != want || got.ModelCalls != len(model.offered) {
			t.Errorf("%q, %v; offered %s, want %s", got.Text, err, offered, want)
		}
		if want == "good" { // the server's tool now has a schema that the provider accepts
			schema["bad1"] = `{"type":"object"}`
			define()
		}
	}
	if strings.Count(log.String(), "leaving it out for ten minutes\" turn=t1 model=main parts=\"[bad1 bad2]\"") != 1 {
		t.Errorf("logged\n%s", log.String())
	}
}

// changing is a toolbox whose tools can change.
type changing []ToolDef

func (c *changing) Tools() []ToolDef { return *c }
