package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	var deep strings.Builder
	for range 2000 {
		deep.WriteString(`{"properties":{"a":`)
	}
	for name, tt := range map[string]struct {
		schema, arguments string
		misfit            string // part of the error; empty: valid
	}{
		"fits":                   {`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"n":1}`, ""},
		"another type":           {`{"type":"object","properties":{"n":{"type":"integer"}}}`, `{"n":"one"}`, `want "integer"`},
		"missing":                {`{"type":"object","required":["n"]}`, `{}`, "n"},
		"unknown":                {`{"type":"object","properties":{"n":{}},"additionalProperties":false}`, `{"m":1}`, "m"},
		"no schema":              {"", `{"m":1}`, ""},
		"no valid schema":        {`{"type":7}`, `{"m":1}`, ""},
		"an unknown version":     {`{"$schema":"https://example.org/x","type":"object","required":["n"]}`, `{}`, "n"},
		"an invalid expression":  {`{"properties":{"n":{"pattern":"("}}}`, `{"n":"x"}`, ""},
		"references to itself":   {`{"$ref":"#"}`, `{"n":1}`, ""},
		"a loop of references":   {`{"properties":{"n":{"anyOf":[{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{"n":1}`, ""},
		"a dynamic reference":    {`{"$dynamicAnchor":"a","properties":{"n":{"$dynamicRef":"#a"}},"allOf":[{"$dynamicRef":"#a"}]}`, `{"n":1}`, ""},
		"a reference elsewhere":  {`{"properties":{"n":{"$ref":"https://example.org/"},"m":{"type":"string"}}}`, `{"n":1,"m":2}`, `want "string"`},
		"deep":                   {deep.String() + "{}" + strings.Repeat("}}", 2000), `{"a":{"a":1}}`, ""},
		"a pattern":              {`{"properties":{"n":{"pattern":"^a","type":"string"}}}`, `{"n":"b"}`, ""},
		"properties by pattern":  {`{"patternProperties":{"^n":{}},"additionalProperties":false}`, `{"n1":"b"}`, ""},
		"a property that is one": {`{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":"x"}`, ""},
	} {
		got := schemaMismatch(json.RawMessage(tt.schema), tt.arguments)
		if (got == "") != (tt.misfit == "") || !strings.Contains(got, tt.misfit) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Nobody is asked about a call that the tool would refuse or that is too long to read. The model reads why the call was
// refused.
func TestCallsThatAreRefusedWithoutAQuestion(t *testing.T) {
	t.Parallel()
	ran := 0
	tools := workshop()
	for i := range tools {
		if tools[i].Name == "write" {
			tools[i].Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
			call := tools[i].Call
			tools[i].Call = func(ctx context.Context, in Input) (Output, error) { ran++; return call(ctx, in) }
		}
	}
	p := &person{verdict: Approved}
	turn := streamed
	turn.Approver = p
	got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", `write {"n":"one"}`), called("", `write {"n":1}`), answer{deltas: texts("Done.")})
	if len(p.proposals) != 1 || ran != 1 || !strings.Contains(fmt.Sprint(got.Append), "the arguments do not fit the tool's schema, so nothing was done") {
		t.Errorf("%d proposals, ran %d times: %v", len(p.proposals), ran, got.Append)
	}

	for size, unreadable := range map[int]bool{maxFullText - 100: false, maxFullText: true} {
		c := parsedCall{ToolCall: ToolCall{Name: "write", Arguments: `{"a":"` + strings.Repeat("x", size) + `"}`}}
		if got := propose(c); got.Unreadable != unreadable || strings.Contains(got.Whole, "not shown") != unreadable {
			t.Errorf("%d bytes: unreadable: %t, …%s", size, got.Unreadable, got.Whole[len(got.Whole)-50:])
		}
	}
	p = &person{err: ErrUnreadable}
	turn.Approver = p
	got = runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", `write {"n":1}`), answer{deltas: texts("Done.")})
	if ran != 1 || !strings.Contains(fmt.Sprint(got.Append), "more than the 64 KiB that a person can read") || strings.Contains(got.log, "level=ERROR") {
		t.Errorf("ran %d times: %v\n%s", ran, got.Append, got.log)
	}
}
