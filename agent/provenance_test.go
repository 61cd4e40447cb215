package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func TestSaidSeparatesTypedText(t *testing.T) {
	t.Parallel()
	const link = "https://example.org/a"
	program := []Source{{Origin: OriginProgram}}
	for name, tt := range map[string]struct {
		said    CallContext
		wrote   bool
		outside bool
	}{
		"nothing":           {CallContext{}, false, false},
		"typed":             {CallContext{Messages: []Message{Typed("ada", link)}}, true, false},
		"typed by another":  {CallContext{Messages: []Message{Typed("bob", link)}}, false, true},
		"from an old store": {CallContext{Messages: []Message{{Role: User, Text: link}}}, false, true},
		"the model's":       {CallContext{Messages: []Message{{Role: Assistant, Text: link}}}, false, false},
		"the model's, who says it is typed": {
			CallContext{Messages: []Message{{Role: Assistant, Text: link, Sources: Typed("ada", link).Sources}}}, false, false,
		},
		"a file":       {CallContext{Messages: []Message{{Role: User, Text: link, Sources: []Source{{Origin: OriginFile, Person: "ada", Text: link}}}}}, false, true},
		"a new origin": {CallContext{Messages: []Message{{Role: User, Text: link, Sources: []Source{{Origin: "dream", Person: "ada", Text: link}}}}}, false, true},
		"typed, with a picture": {
			CallContext{Messages: []Message{{Role: User, Text: link, Sources: append(Typed("ada", link).Sources, Source{Origin: OriginPicture})}}}, true, true,
		},
		"a tool's answer":       {CallContext{Messages: []Message{{Role: ToolRole, Text: link}}}, false, true},
		"a tool's typed answer": {CallContext{Messages: []Message{{Role: ToolRole, Text: link, Sources: Typed("ada", link).Sources}}}, false, true},
		"the clock's answer":    {CallContext{Messages: []Message{{Role: ToolRole, Text: link, Sources: program}}}, false, false},
		"a summary":             {CallContext{Summarized: true}, false, true},
		"a server's tool":       {CallContext{Tools: []ToolDef{{Name: "x"}}}, false, true},
		"a page's tool":         {CallContext{Tools: []ToolDef{{Name: "x", Outside: OutsideResults}, {Name: "y", Outside: OutsideNothing}}}, false, false},
	} {
		tt.said.Person = "ada"
		if got := tt.said.TypedURL(link); got != tt.wrote {
			t.Errorf("%s: wrote: %t", name, got)
		}
		if got := tt.said.Outside(); got != tt.outside {
			t.Errorf("%s: outside: %t", name, got)
		}
	}
}

// A tool's Asks function sees the origin of every message that the model had read before the call, and of no later message.
// The results of tools keep their origins in the history.
func TestGuardsKnowTheOrigins(t *testing.T) {
	t.Parallel()
	var outside []bool
	asks := func(_ ToolCall, said CallContext) bool {
		outside = append(outside, said.Outside())
		return false
	}
	run := func(o Outside) Result {
		outside = nil
		tools := toolbox{{Name: "read", ReadOnly: true, Outside: o, Asks: asks, Call: workshop()[0].Call}}
		turn := Turn{Stream: true, Person: "ada", Messages: []Message{Typed("ada", "hi")}}
		return runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", "read {}"), called("", "read {}", "no {}"), answer{deltas: texts("Done.")}).Result
	}
	for o, want := range map[Outside][]bool{OutsideAll: {true, true}, OutsideResults: {false, true}, OutsideNothing: {false, false}} {
		got := run(o)
		if !slices.Equal(outside, want) {
			t.Errorf("%d: outside content: %v, want %v", o, outside, want)
		}
		stored, err := json.Marshal(got.Append)
		var back []Message
		if err != nil || json.Unmarshal(stored, &back) != nil {
			t.Fatal(err)
		}
		if after := (CallContext{Person: "ada", Messages: back}).Outside(); after != (o != OutsideNothing) {
			t.Errorf("%d: in the history it is outside content: %t: %s", o, after, fmt.Sprint(back))
		}
	}
}
