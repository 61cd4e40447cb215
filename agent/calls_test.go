package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseCall(t *testing.T) {
	t.Parallel()
	tools := []ToolDef{{Name: "time"}, {Name: "fetch"}}
	long := strings.Repeat("x", 100)
	for _, tt := range []struct {
		name            string
		tool, arguments string
		cut             bool
		wantName, want  string
		problem         string
	}{
		{"plain", "time", `{"zone":"UTC"}`, false, "time", `{"zone":"UTC"}`, ""},
		{"white space", "time", " {}\n", false, "time", `{}`, ""},
		{"nothing", "time", "", false, "time", `{}`, ""},
		{"null", "time", "null", false, "time", `{}`, ""},
		{"empty text", "time", `""`, false, "time", `{}`, ""},
		{"quoted once more", "time", `"{\"zone\":\"UTC\"}"`, false, "time", `{"zone":"UTC"}`, ""},
		{"twice", "time", `{"zone":"UTC"}{"zone":"UTC"}`, false, "time", `{"zone":"UTC"}`, ""},
		{"an empty one before", "time", `{}{"zone":"UTC"}`, false, "time", `{"zone":"UTC"}`, ""},
		{"an empty one behind", "time", `{"zone":"UTC"}{}`, false, "time", `{"zone":"UTC"}`, ""},
		{"only empty ones", "time", `{} {}`, false, "time", `{}`, ""},
		{"two", "time", `{"zone":"UTC"}{"zone":"CET"}`, false, "time", `{}`, "not valid JSON"},
		{"something behind", "time", `{"zone":"UTC"} ok`, false, "time", `{}`, "not valid JSON"},
		{"a list behind", "time", `{"zone":"UTC"}[]`, false, "time", `{}`, "not valid JSON"},
		{"a name twice", "time", `{"zone":"UTC","zone":"CET"}`, false, "time", `{}`, `an object that says "zone" twice`},
		{"a name twice, escaped", "time", `{"zone":"UTC","zon\u0065":"CET"}`, false, "time", `{}`, `an object that says "zone" twice`},
		{"a name twice further in", "time", `{"a":[{"b":1,"c":{"b":2},"b":3}]}`, false, "time", `{}`, `an object that says "b" twice`},
		{"a name in two objects", "time", `{"a":[{"b":1},{"b":2}],"b":{"a":"a"}}`, false, "time", `{"a":[{"b":1},{"b":2}],"b":{"a":"a"}}`, ""},
		{"quoted nonsense", "time", `"{zone"`, false, "time", `{}`, "not valid JSON"},
		{"invalid", "time", `{"zone":`, false, "time", `{}`, `You wrote: {"zone":`},
		{"cut off", "time", `{"zone":`, true, "time", `{}`, "length limit"},
		{"cut off before they began", "time", "", true, "time", `{}`, "length limit"},
		{"complete although cut off", "time", `{}`, true, "time", `{}`, ""},
		{"a list", "time", `["UTC"]`, false, "time", `{}`, "not a JSON object"},
		{"a text", "time", `"UTC"`, false, "time", `{}`, "not a JSON object"},
		{"unknown", "tide", `{}`, false, "tide", `{}`, `no tool named "tide". The tools are: time, fetch.`},
		{"a name no provider takes back", "functions.time now", `{}`, false, "functions_time_now", `{}`, "no tool named"},
		{"a long name", long, `{}`, false, long[:64], `{}`, "no tool named"},
		{"no name", "", `{}`, false, "_", `{}`, "no tool named"},
	} {
		got := parseCall(ToolCall{ID: "a", Name: tt.tool, Arguments: tt.arguments}, tools, tt.cut)
		if got.Name != tt.wantName || got.Arguments != tt.want || got.ID != "a" {
			t.Errorf("%s: got %+v", tt.name, got.ToolCall)
		}
		if !strings.Contains(got.problem, tt.problem) || (got.problem == "") != (tt.problem == "") {
			t.Errorf("%s: problem %q, want %q", tt.name, got.problem, tt.problem)
		}
		if got.problem == "" && got.def.Name != tt.tool {
			t.Errorf("%s: got the tool %q", tt.name, got.def.Name)
		}
	}
}

func FuzzParseCall(f *testing.F) {
	f.Add("time", `{"a":1}`)
	f.Add("\xff", `"{}"`)
	f.Fuzz(func(t *testing.T, name, arguments string) {
		p := parseCall(ToolCall{Name: name, Arguments: arguments}, []ToolDef{{Name: "time"}}, false)
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(p.Arguments), &object); err != nil || object == nil {
			t.Errorf("%q became %q: %v", arguments, p.Arguments, err)
		}
		if p.Name == "" || len(p.Name) > 64 || p.Name != SafeName(p.Name) {
			t.Errorf("%q became %q", name, p.Name)
		}
	})
}

func TestCallIDs(t *testing.T) {
	t.Parallel()
	var ids callIDs
	ids.markUsed("old")
	got := []string{ids.turnID("call_1"), ids.turnID("call_2"), ids.turnID("call_1"), ids.turnID("old")}
	ids.nextAnswer()
	got = append(got, ids.turnID("call_1"), ids.turnID("call_1"))
	ids.nextAnswer()
	got = append(got, ids.turnID("call_1"), ids.turnID("call_1_2"))
	if want := "[call_1 call_2 call_1 old_2 call_1_2 call_1_2 call_1_3 call_1_2_2]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	tools := []ToolDef{{Name: "time"}, {Name: "files_read"}, {Name: "files_write"}}
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, "time files_read files_write"},
		{[]string{}, ""},
		{[]string{"time", "nothing"}, "time"},
		{[]string{"files_*"}, "files_read files_write"},
		{[]string{"*"}, "time files_read files_write"},
		{[]string{"tim"}, ""},
	} {
		var got []string
		for _, d := range available(tools, tt.names) {
			got = append(got, d.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: got %v, want %s", tt.names, got, tt.want)
		}
	}
	if tools[0].Name != "time" || len(specs(tools)) != 3 {
		t.Error("the toolbox's list was changed")
	}
}

func TestWithoutCalls(t *testing.T) {
	t.Parallel()
	in := []Message{
		{Role: User, Text: "hi"},
		{Role: Assistant, Text: "Let me see.", ToolCalls: []ToolCall{{ID: "a", Name: "time", Arguments: "{}"}}, Reasoning: "hm"},
		{Role: ToolRole, ToolCallID: "a", Name: "time", Text: "noon"},
	}
	out := withoutCalls(in)
	want := "user:hi assistant:Let me see.\n(I used the tool time: {}) user:(Result of the tool time:)\nnoon"
	if got := said(out); got != want || hasCalls(out) || len(out[1].ToolCalls) > 0 || out[1].Reasoning != "" {
		t.Errorf("got %q, want %q", got, want)
	}
	if !hasCalls(in) || &withoutCalls(in[:1])[0] != &in[0] {
		t.Error("the messages were changed, or copied without need")
	}
}
