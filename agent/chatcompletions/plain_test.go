package chatcompletions

import (
	"encoding/json"
	"testing"

	"telex/agent"
)

// usual is an event as OpenAI sends it.
const usual = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default",` +
	`"system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],` +
	`"usage":null,"obfuscation":"x7"}`

func TestPlainText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"usual", usual, " word", true},
		{"vLLM", `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a","reasoning_content":null},"logprobs":null,"finish_reason":null,"token_ids":null}]}`, "a", true},
		{"escapes", delta(`"content":"\n\u00e9\ud83d\ude00\"\\"`), "\né😀\"\\", true},
		{"raw text", delta(`"content":"é😀"`), "é😀", true},
		{"role", delta(`"role":"assistant","content":""`), "", true},
		{"white space", " { \"choices\" : [ { \"delta\" : { \"content\" : \"a\" } } ]\r\n} ", "a", true},
		{"nothing in it", delta(``), "", true},
		{"null content", delta(`"content":null`), "", false},
		{"parts", delta(`"content":[{"type":"text","text":"a"}]`), "", false},
		{"reasoning", delta(`"content":"","reasoning":"a"`), "", false},
		{"finish", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "", false},
		{"other choice", `{"choices":[{"index":1,"delta":{"content":"a"}}]}`, "", false},
		{"two choices", `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`, "", false},
		{"no choice", `{"choices":[]}`, "", false},
		{"usage", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`, "", false},
		{"twice", `{"choices":[{"delta":{"content":"a","content":"b"}}]}`, "", false},
		{"other case", `{"choices":[{"delta":{"content":"a","Content":"b"}}]}`, "", false},
		{"not UTF-8", delta("\"content\":\"\xff\""), "", false},
		{"line end in a string", delta("\"content\":\"\n\""), "", false},
		{"bad escape", delta(`"content":"\x"`), "", false},
		{"bad number", `{"created":01,"choices":[{"delta":{"content":"a"}}]}`, "", false},
		{"cut", usual[:len(usual)-1], "", false},
		{"more behind it", usual + "{}", "", false},
		{"no JSON", "boom", "", false},
		{"empty", "", "", false},
	} {
		if got, ok := plainText([]byte(tt.in)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzPlainText: what is read without decoding is what decoding says.
func FuzzPlainText(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(delta(`"role":"assistant","content":"","refusal":null`)))
	f.Add([]byte(delta(`"content":"\n\u00e9\ud83d\ude00\"\\"`)))
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","Content":"b"},"finish_reason":"stop"}],"usage":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, ok := plainText(in)
		if !ok {
			return
		}
		var k chunk
		if err := json.Unmarshal(in, &k); err != nil {
			t.Fatalf("%q was taken for text: %v", in, err)
		}
		var c consumer
		if d := c.take(k); d != (agent.Delta{Text: got}) || c.finished || c.usage != nil || len(c.told) > 0 {
			t.Errorf("%q: got %q, decoding says %+v, %+v", in, got, d, c)
		}
	})
}
