package chatcompletions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"telex/agent"
)

// Provider data is stored with a call, and the key of the data names the API. readEcho also reads data that older versions
// stored without a key.
func TestReadEcho(t *testing.T) {
	t.Parallel()
	ours := echo{Model: "m", Content: json.RawMessage(`{"google":1}`), Details: []detail{{"type": json.RawMessage(`"x"`)}}}.extra()
	for _, tt := range []struct{ name, extra, model, content, details string }{
		{"its own", string(ours), "m", `{"google":1}`, `[map[type:"x"]]`},
		{"another model's", string(ours), "other", "", "[]"},
		{"another API's", `{"responses":{"model":"m","before":[]}}`, "m", "", "[]"},
		{"before it had a name", `{"google":{"thought_signature":"s"}}`, "m", `{"google":{"thought_signature":"s"}}`, "[]"},
		{"nothing", "", "m", "", "[]"},
		{"no object", `"x"`, "m", "", "[]"},
		{"no JSON", `{"x`, "m", "", "[]"},
		{"of another shape", `{"chat_completions":[]}`, "m", "", "[]"},
	} {
		e := readEcho(json.RawMessage(tt.extra), tt.model)
		var details []string
		for _, d := range e.Details {
			details = append(details, fmt.Sprintf("map[type:%s]", d["type"]))
		}
		if string(e.Content) != tt.content || fmt.Sprint(details) != tt.details {
			t.Errorf("%s: got %s, %v", tt.name, e.Content, details)
		}
	}
	if (echo{Model: "m"}).extra() != nil {
		t.Error("nothing is kept as something")
	}
}

// The history contains provider data of one model. A request to another model must not contain the first model's provider data,
// because only the first model can read them.
func TestHistoryOfAnotherModel(t *testing.T) {
	t.Parallel()
	extra := echo{Model: "m", Content: json.RawMessage(`{"google":1}`), Details: []detail{{"text": json.RawMessage(`"hm"`)}}}.extra()
	r := agent.Request{Messages: []agent.Message{
		{Role: agent.User, Text: "hi"},
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "a", Name: "clock", Arguments: "{}", Extra: extra}}},
		{Role: agent.ToolRole, ToolCallID: "a", Text: "noon"},
	}}
	for _, tt := range []struct {
		model string
		s     shape
		want  string
	}{
		{"m", wantsExtra, "extra_content reasoning_details"},
		{"m", wantsExtra | noExtra, "reasoning_details"},
		{"m", wantsExtra | noDetails, "extra_content"},
		{"m", 0, ""},
		{"other", wantsExtra, ""},
	} {
		data, err := json.Marshal(newMessages(r, tt.model, tt.s))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, field := range []string{"extra_content", "reasoning_details"} {
			if strings.Contains(string(data), field) {
				got = append(got, field)
			}
		}
		if strings.Join(got, " ") != tt.want || strings.Contains(string(data), "chat_completions") {
			t.Errorf("%s %+v: asked with %s", tt.model, tt.s, data)
		}
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, pieces, want string }{
		{"one", `[{"type":"t","text":"a"}]`, `[{"text":"a","type":"t"}]`},
		{
			"a text in pieces, the signature last", `[{"type":"t","text":"a <","index":0},{"type":"t","text":"b","index":0,"signature":null},{"type":"t","signature":"s","index":0,"text":""}]`,
			`[{"index":0,"signature":"s","text":"a <b","type":"t"}]`,
		},
		{"behind a signature", `[{"type":"t","text":"a","signature":"s"},{"type":"t","text":"b"}]`, `[{"signature":"s","text":"a","type":"t"},{"text":"b","type":"t"}]`},
		{"other places", `[{"type":"t","text":"a","index":0},{"type":"t","text":"b","index":1}]`, `[{"index":0,"text":"a","type":"t"},{"index":1,"text":"b","type":"t"}]`},
		{"other types", `[{"type":"s","summary":"a"},{"type":"s","summary":"b"},{"type":"e","data":"x"},{"type":"e","data":"y"}]`, `[{"summary":"ab","type":"s"},{"data":"x","type":"e"},{"data":"y","type":"e"}]`},
		{"nothing that we know", `[{}, {"type":"n","format":"f"}]`, `[{"format":"f","type":"n"}]`},
		{"too much", `[{"type":"t","text":"a"},{"type":"e","data":"` + strings.Repeat("x", maxDetails) + `"},{"type":"t","text":"b"}]`, `null`},
	} {
		var pieces blocks
		if err := json.Unmarshal([]byte(tt.pieces), &pieces); err != nil {
			t.Fatal(err)
		}
		var d details
		for _, p := range pieces {
			d.add([]detail{p})
		}
		got, err := json.Marshal(d.whole())
		if err != nil || strings.ReplaceAll(string(got), `\u003c`, "<") != tt.want {
			t.Errorf("%s: got %s, %v", tt.name, got, err)
		}
	}
	var b blocks
	if err := json.Unmarshal([]byte(`"text"`), &b); err != nil || b != nil {
		t.Errorf("a text: %v, %v", b, err)
	}
}

// Long reasoning arrives in many small pieces. Joining the pieces must not copy the whole reasoning for each piece.
func TestReasoningInManyPieces(t *testing.T) { //nolint:paralleltest // AllocsPerRun also counts parallel tests.
	var d details
	const n = 60_000
	allocs := testing.AllocsPerRun(1, func() {
		d = details{}
		for range n {
			d.add([]detail{{"type": json.RawMessage(`"t"`), "text": json.RawMessage(`"word "`)}})
		}
	})
	if got := d.whole(); len(got) != 1 || len(got[0]["text"]) != 5*n+2 || allocs > 10*n {
		t.Errorf("%d blocks, %v allocations", len(got), allocs)
	}
}
