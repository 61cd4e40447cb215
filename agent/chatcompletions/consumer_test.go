package chatcompletions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"telex/agent"
)

// consume passes the chunks of a stream to a consumer and returns the resulting answer.
func consume(t *testing.T, chunks ...string) (agent.Delta, agent.Completion, bool) {
	t.Helper()
	var c consumer
	var sum agent.Delta
	for _, data := range chunks {
		var k chunk
		if err := json.Unmarshal([]byte(data), &k); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		d := c.addChunk(k)
		sum.Text += d.Text
		sum.Reasoning += d.Reasoning
		sum.Refusal += d.Refusal
	}
	return sum, c.Completion(), c.finished
}

// delta returns a chunk with one choice.
func delta(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func TestConsumer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		chunks   []string
		want     agent.Delta
		finish   agent.Finish
		finished bool
	}{
		{"text", []string{delta(`"role":"assistant","content":""`), delta(`"content":"a"`), delta(`"content":"b"`), stop}, agent.Delta{Text: "ab"}, agent.FinishStop, true},
		{"usage, empty and null chunks are neither an end nor a drop (F10)", []string{
			delta(`"content":"a"`), `{"choices":[],"usage":{"prompt_tokens":1}}`, `{"choices":null}`, `{}`,
			`{"choices":[{"index":0,"delta":null,"finish_reason":null}]}`, `{"choices":[{"index":0}]}`, delta(`"content":null`), delta(`"content":"b"`),
		}, agent.Delta{Text: "ab"}, agent.FinishStop, false},
		{"empty finish reason", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`}, agent.Delta{Text: "a"}, agent.FinishStop, false},
		{"reasoning_content", []string{delta(`"reasoning_content":"r"`)}, agent.Delta{Reasoning: "r"}, agent.FinishStop, false},
		{"reasoning", []string{delta(`"reasoning":"r","content":null`)}, agent.Delta{Reasoning: "r"}, agent.FinishStop, false},
		{"both", []string{delta(`"reasoning":"r","reasoning_content":"r"`)}, agent.Delta{Reasoning: "r"}, agent.FinishStop, false},
		{"reasoning of another kind", []string{delta(`"reasoning":{"effort":"low"},"content":"a"`)}, agent.Delta{Text: "a"}, agent.FinishStop, false},
		{"refusal", []string{delta(`"refusal":"No"`), delta(`"refusal":"."`), stop}, agent.Delta{Refusal: "No."}, agent.FinishStop, true},
		{"typed parts", []string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]`)}, agent.Delta{Text: "a", Reasoning: "r"}, agent.FinishStop, false},
		{"other choices", []string{`{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"}}]}`}, agent.Delta{Text: "a"}, agent.FinishStop, false},
		{"length", []string{`{"choices":[{"delta":{},"finish_reason":"length"}]}`}, agent.Delta{}, agent.FinishLength, true},
		{"filter", []string{`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`}, agent.Delta{}, agent.FinishFiltered, true},
		{"foreign reason", []string{`{"choices":[{"delta":{},"finish_reason":"eos"}]}`}, agent.Delta{}, agent.FinishStop, true},
		{"cut by the provider (F09)", []string{delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}`}, agent.Delta{Text: "a"}, agent.FinishStop, false},
		{"whole", []string{`{"choices":[{"message":{"content":"a","reasoning":"r"},"finish_reason":"length"}]}`}, agent.Delta{Text: "a", Reasoning: "r"}, agent.FinishLength, true},
		{"whole without a reason", []string{`{"choices":[{"message":{"content":"a"}}]}`}, agent.Delta{Text: "a"}, agent.FinishStop, true},
	} {
		got, c, finished := consume(t, tt.chunks...)
		if got != tt.want || c.Finish != tt.finish || finished != tt.finished {
			t.Errorf("%s:\n got %+v, finish %d, finished %v\nwant %+v, finish %d, finished %v", tt.name, got, c.Finish, finished, tt.want, tt.finish, tt.finished)
		}
	}
	var c content
	if err := json.Unmarshal([]byte(`[1]`), &c); err == nil {
		t.Error("parts that are no objects are taken")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want *agent.Usage
	}{
		{`{"choices":[]}`, nil},
		{`{"usage":null}`, nil},
		{`{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, nil},
		{`{"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`, &agent.Usage{Prompt: 9, Completion: 4}},
		{`{"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}}`, &agent.Usage{Prompt: 9, Cached: 8, Completion: 4, Reasoning: 3}},
		{`{"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":5,"prompt_tokens_details":null}}`, &agent.Usage{Prompt: 9, Cached: 5}},
	} {
		_, c, _ := consume(t, tt.in)
		if got, want := fmt.Sprint(c.Usage), fmt.Sprint(tt.want); got != want {
			t.Errorf("%s: got %s, want %s", tt.in, got, want)
		}
	}
	_, c, _ := consume(t, `{"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	if want := (agent.Usage{Prompt: 9, Completion: 2}); *c.Usage != want {
		t.Errorf("counted up: got %+v, want %+v", *c.Usage, want)
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	call := func(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }
	for _, tt := range []struct {
		name   string
		chunks []string
		want   string // the calls, in the form id:name:arguments
	}{
		{"by index", []string{
			call(`"index":0,"id":"a","type":"function","function":{"name":"time","arguments":""}`),
			call(`"index":1,"id":"b","type":"function","function":{"name":"fetch","arguments":""}`),
			call(`"index":1,"function":{"arguments":"{\"u\""}`), call(`"index":0,"function":{"arguments":"{}"}`), call(`"index":1,"function":{"arguments":":1}"}`),
		}, `a:time:{} b:fetch:{"u":1}`},
		{"no index, whole (Gemini)", []string{
			call(`"id":"a","function":{"name":"time","arguments":"{}"}`), call(`"id":"b","function":{"name":"time","arguments":"{}"}`),
		}, "a:time:{} b:time:{}"},
		{"no index and no id", []string{
			call(`"function":{"name":"time","arguments":"{}"}`), call(`"function":{"name":"time","arguments":"{\"z\":"}`), call(`"function":{"arguments":"1}"}`),
		}, `call_1:time:{} call_2:time:{"z":1}`},
		{"no index, id again", []string{
			call(`"id":"a","function":{"name":"x","arguments":"{\"a\""}`), call(`"id":"b","function":{"name":"y","arguments":"{}"}`), call(`"id":"a","function":{"arguments":":1}"}`),
		}, `a:x:{"a":1} b:y:{}`},
		{"index 0 for all (Ollama)", []string{
			call(`"index":0,"id":"a","function":{"name":"time","arguments":"{}"}`), call(`"index":0,"id":"b","function":{"name":"fetch","arguments":"{}"}`),
		}, "a:time:{} b:fetch:{}"},
		{"index 0 for all, no ids", []string{
			call(`"index":0,"function":{"name":"time","arguments":"{}"}`), call(`"index":0,"function":{"name":"fetch","arguments":"{}"}`),
		}, "call_1:time:{} call_2:fetch:{}"},
		{"id and name repeated", []string{
			call(`"index":0,"id":"a","function":{"name":"time","arguments":"{"}`), call(`"index":0,"id":"a","function":{"name":"time","arguments":"}"}`), call(`"index":0,"id":"a","function":{"name":"time","arguments":""}`),
		}, "a:time:{}"},
		{"empty ids", []string{
			call(`"index":0,"id":"a","function":{"name":"time","arguments":"{"}`), call(`"index":0,"id":"","function":{"name":"","arguments":"}"}`),
		}, "a:time:{}"},
		{"late id", []string{call(`"index":0,"function":{"name":"time"}`), call(`"index":0,"id":"a"`)}, "a:time:"},
		{"no name", []string{call(`"index":0,"id":"a","function":{"arguments":"{}"}`)}, ""},
		{"whole", []string{`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"stop"}]}`}, "a:time:{}"},
		{"none", []string{delta(`"tool_calls":null`)}, ""},
		{"arguments as an object", []string{call(`"index":0,"id":"a","function":{"name":"time","arguments":{"z":1}}`)}, `a:time:{"z":1}`},
		{"null arguments", []string{call(`"index":0,"id":"a","function":{"name":"time","arguments":null}`)}, `a:time:`},
	} {
		_, c, _ := consume(t, tt.chunks...)
		var got []string
		for _, call := range c.ToolCalls {
			got = append(got, call.ID+":"+call.Name+":"+call.Arguments)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
