package chatcompletions

import (
	"testing"

	"telex/agent"
)

// usual is a typical event of OpenAI.
const usual = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default",` +
	`"system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],` +
	`"usage":null,"obfuscation":"x7"}`

// TestTakeEvents reads single valid and invalid events.
func TestTakeEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     agent.Delta
		err      bool
	}{
		{"usual", usual, agent.Delta{Text: " word"}, false},
		{"vLLM", `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a","reasoning_content":null},"logprobs":null,"finish_reason":null,"token_ids":null}]}`, agent.Delta{Text: "a"}, false},
		{"escapes", delta(`"content":"\n\u00e9\ud83d\ude00\"\\"`), agent.Delta{Text: "\né😀\"\\"}, false},
		{"raw text", delta(`"content":"é😀"`), agent.Delta{Text: "é😀"}, false},
		{"role", delta(`"role":"assistant","content":""`), agent.Delta{}, false},
		{"white space", " { \"choices\" : [ { \"delta\" : { \"content\" : \"a\" } } ]\r\n} ", agent.Delta{Text: "a"}, false},
		{"nothing in it", delta(``), agent.Delta{}, false},
		{"null content", delta(`"content":null`), agent.Delta{}, false},
		{"parts", delta(`"content":[{"type":"text","text":"a"}]`), agent.Delta{Text: "a"}, false},
		{"reasoning", delta(`"content":"","reasoning":"a"`), agent.Delta{Reasoning: "a"}, false},
		{"finish", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, agent.Delta{}, false},
		{"other choice", `{"choices":[{"index":1,"delta":{"content":"a"}}]}`, agent.Delta{}, false},
		{"two choices", `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`, agent.Delta{Text: "ab"}, false},
		{"no choice", `{"choices":[]}`, agent.Delta{}, false},
		{"usage", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`, agent.Delta{Text: "a"}, false},
		{"twice", `{"choices":[{"delta":{"content":"a","content":"b"}}]}`, agent.Delta{Text: "b"}, false},
		{"other case", `{"choices":[{"delta":{"content":"a","Content":"b"}}]}`, agent.Delta{Text: "b"}, false},
		{"not UTF-8", delta("\"content\":\"\xff\""), agent.Delta{Text: "\uFFFD"}, false},
		{"line end in a string", delta("\"content\":\"\n\""), agent.Delta{}, true},
		{"bad escape", delta(`"content":"\x"`), agent.Delta{}, true},
		{"bad number", `{"created":01,"choices":[{"delta":{"content":"a"}}]}`, agent.Delta{}, true},
		{"cut", usual[:len(usual)-1], agent.Delta{}, true},
		{"more behind it", usual + "{}", agent.Delta{}, true},
		{"no JSON", "boom", agent.Delta{}, true},
		{"empty", "", agent.Delta{}, true},
	} {
		var c consumer
		var got agent.Delta
		_, err := c.AddEvent([]byte(tt.in), func(d agent.Delta) { got = d })
		if got != tt.want || err != nil != tt.err || c.finished != (tt.name == "finish") || (c.usage != nil) != (tt.name == "usage") {
			t.Errorf("%s: got %+v, %v, want %+v; %+v", tt.name, got, err, tt.want, c)
		}
	}
}

// FuzzTakeEvents reads random bytes as an event.
func FuzzTakeEvents(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(delta(`"role":"assistant","content":"","refusal":null`)))
	f.Add([]byte(delta(`"content":"\n\u00e9\ud83d\ude00\"\\"`)))
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","Content":"b"},"finish_reason":"stop"}],"usage":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var c consumer
		told := 0
		if ended, err := c.AddEvent(in, func(agent.Delta) { told++ }); err != nil && (told > 0 || ended) || err == nil && told == 0 {
			t.Errorf("%q: %d deltas beside the error %v", in, told, err)
		}
	})
}
