package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"telex/standin/openai"
)

// shape describes the fields of each element of tool_calls. shape writes an id as its position among the ids seen so
// far, and a missing field as "-". Adjacent elements that differ only in their arguments are joined, because the test
// does not depend on where tokens end.
func shape(calls []map[string]any) string {
	var b strings.Builder
	ids := map[any]int{}
	last := ""
	for _, c := range calls {
		function, _ := c["function"].(map[string]any)
		index, id, name := "-", "-", "-"
		if v, there := c["index"]; there {
			index = fmt.Sprint(v)
		}
		switch v, there := c["id"]; {
		case v == "":
			id = `""`
		case there:
			if ids[v] == 0 {
				ids[v] = len(ids) + 1
			}
			id = fmt.Sprint("id", ids[v])
		}
		if v, there := function["name"]; there {
			name = fmt.Sprintf("%q", v)
		}
		if head := fmt.Sprintf("\n%s %s %s ", index, id, name); head != last {
			b.WriteString(head)
			last = head
		}
		fmt.Fprint(&b, function["arguments"])
	}
	return b.String()
}

func TestToolCallDeltas(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct {
		as, finish string
		want       []string
	}{
		{"index", "tool_calls", []string{`0 id1 "now" `, `0 - - {}`, `1 id2 "add" `, `1 - - {"a":12}`}},
		{"gemini", "stop", []string{`- id1 "now" {}`, `- id2 "add" {"a":12}`}},
		{"ollama", "tool_calls", []string{`0 id1 "now" {}`, `0 id2 "add" {"a":12}`}},
		{"repeat_ids", "tool_calls", []string{`0 id1 "now" {}`, `1 id2 "add" {"a":12}`}},
		{"empty_ids", "tool_calls", []string{`0 id1 "now" `, `0 "" "" {}`, `1 id2 "add" `, `1 "" "" {"a":12}`}},
		{"null_index", "tool_calls", []string{`<nil> id1 "now" `, `<nil> - - {}`, `<nil> id2 "add" `, `<nil> - - {"a":12}`}},
	} {
		got := p.ask("{{standin calls_as=" + tc.as + "}} call: now\ncall: add {\"a\":12}")
		h := listen(t, got.body)
		have, want := shape(h.calls), "\n"+strings.Join(tc.want, "\n")
		if have != want || h.finish != tc.finish || h.content != "" {
			t.Errorf("%s: finish %q, content %q, calls %s\nwant %q and %s", tc.as, h.finish, h.content, have, tc.finish, want)
		}
		if signed := strings.Contains(got.body, `"thought_signature":"sig_`); signed != (tc.as == "gemini") {
			t.Errorf("%s: signed is %v", tc.as, signed)
		}
	}
}

func TestToolCallsRoundTrip(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	const results = `,{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}},` +
		`{"id":"b","type":"function","function":{"name":"add","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"b","content":"12"},{"role":"tool","tool_call_id":"a","content":"noon"}`
	for _, tc := range []struct{ name, question, after, want string }{
		{"asked in the question", `call: now\ncall: add {}`, "", `"finish_reason":"tool_calls"`},
		{"text beside", `Let me see.\ncall: now`, "", `"content":"# `}, // not a call, because "call:" is not at the start of the message
		{"text after", `call: now\nLet me see.`, "", `"content":"Let me see."`},
		{"results", `call: now\ncall: add {}`, results, `"content":"The tools answered:\n\n- add: 12\n- now: noon"`},
		{"asked by a setting", `{{standin call=now}} Explain the tides`, "", `"name":"now"`},
		{"results for a setting", `{{standin call=now}} Explain the tides`, results, `"content":"The tools answered:\n\n- add: 12`},
		{"never content", `{{standin call=now again}} Explain the tides`, results, `"finish_reason":"tool_calls"`},
		{"results, and no calls", `say: fine`, results, `"content":"fine"`},
	} {
		got := p.post("/v1/chat/completions", `{"model":"standin","messages":[{"role":"user","content":"`+tc.question+`"}`+tc.after+`]}`)
		if got.status != 200 || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %d, want %s in\n%s", tc.name, got.status, tc.want, got.body)
		}
	}
}

// With the setting "require", the server imitates DeepSeek and Gemini. These providers refuse a request that repeats an
// earlier tool call without some fields of this call.
func TestReplayRequiresFields(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	body := func(demand, message, call string) string {
		return `{"model":"standin","messages":[{"role":"user","content":"x"},{"role":"assistant",` + message + `"tool_calls":[` +
			`{"id":"a","type":"function",` + call + `"function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"{{standin require=` + demand + `}} say: ok"}]}`
	}
	for _, tc := range []struct {
		body   string
		status int
	}{
		{body("reasoning_content", "", ""), 400},
		{body("reasoning_content", `"reasoning_content":"",`, ""), 200},
		{body("thought_signature", "", ""), 400},
		{body("thought_signature", "", `"extra_content":{"google":{"thought_signature":"s"}},`), 200},
	} {
		if got := p.post("/v1/chat/completions", tc.body); got.status != tc.status {
			t.Errorf("%s: status %d, want %d: %s", tc.body, got.status, tc.status, got.body)
		}
	}
}
