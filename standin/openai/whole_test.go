package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"telex/standin/openai"
)

// whole is a response that is not a stream, as a client reads it.
type whole struct {
	Object  string
	Choices []struct {
		Message      map[string]any
		FinishReason *string `json:"finish_reason"`
	}
	Usage map[string]any
}

func TestWhole(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct {
		question string
		message  map[string]any
		finish   string
	}{
		{"say: **hi**", map[string]any{"content": "**hi**", "refusal": nil}, "stop"},
		{"{{standin empty}} x", map[string]any{"content": ""}, "stop"},
		{"{{standin refusal=no}} x", map[string]any{"content": nil, "refusal": "no"}, "stop"},
		{"{{standin finish=content_filter}} say: x", map[string]any{"content": "x"}, "content_filter"},
		{"{{standin think=hm}} say: x", map[string]any{"content": "x", "reasoning_content": "hm"}, "stop"},
		{"{{standin think=hm think_as=reasoning}} say: x", map[string]any{"reasoning": "hm", "reasoning_content": nil}, "stop"},
		{"{{standin think=hm think_as=tags}} say: x", map[string]any{"content": "<think>hm</think>\n\nx"}, "stop"},
		{"call: f {}", map[string]any{"content": nil}, "tool_calls"},
		{"{{standin calls_as=gemini}} call: f {}", map[string]any{"content": nil}, "stop"},
		{"{{standin cut=3 on=stream}} words: 5", map[string]any{"content": "one two three four five"}, "stop"},
		{"{{standin cut=finish}} words: 2", map[string]any{"content": "one two"}, "stop"},
	} {
		got := p.post("/v1/chat/completions", request(t, tc.question, false))
		var doc whole
		if err := json.Unmarshal([]byte(got.body), &doc); err != nil || doc.Object != "chat.completion" || len(doc.Choices) != 1 {
			t.Errorf("%s: %v, %s", tc.question, err, got.body)
			continue
		}
		for name, want := range tc.message {
			if have := doc.Choices[0].Message[name]; !reflect.DeepEqual(have, want) {
				t.Errorf("%s: %s = %v, want %v", tc.question, name, have, want)
			}
		}
		if f := doc.Choices[0].FinishReason; f == nil || *f != tc.finish {
			t.Errorf("%s: finish_reason in %s, want %s", tc.question, got.body, tc.finish)
		}
		if doc.Usage["total_tokens"] == nil {
			t.Errorf("%s: no usage in %s", tc.question, got.body)
		}
	}
}

func TestWholeBreaks(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	if got := p.post("/v1/chat/completions", request(t, "{{standin cut=3}} words: 5", false)); !errors.Is(got.err, io.ErrUnexpectedEOF) || got.body == "" {
		t.Errorf("cut: %v after %q, want a part and %v", got.err, got.body, io.ErrUnexpectedEOF)
	}
	if got := p.post("/v1/chat/completions", request(t, "{{standin eof=3}} words: 5", false)); got.err != nil || json.Valid([]byte(got.body)) || got.body == "" {
		t.Errorf("eof: %v after %q, want a part of a document", got.err, got.body)
	}
	got := p.post("/v1/chat/completions", request(t, "{{standin fail=3 message=over}} words: 5", false))
	if message, _, _, _ := apiError(t, got.body); got.status != 500 || message != "over" {
		t.Errorf("fail: status %d, message %q, want 500 and over", got.status, message)
	}
}

func TestMaxTokensAndStop(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct{ extra, content, finish string }{
		{`"max_tokens":3`, "one two three", "length"},
		{`"max_completion_tokens":5`, "one two three four five", "stop"},
		{`"max_completion_tokens":1`, "one", "length"},
		{`"stop":" three"`, "one two", "stop"},
		{`"stop":["five","two"]`, "one ", "stop"},
	} {
		for _, stream := range []bool{false, true} {
			body := strings.Replace(request(t, "words: 5", stream), "{", "{"+tc.extra+",", 1)
			got := p.post("/v1/chat/completions", body)
			content, finish := "", ""
			if stream {
				h := listen(t, got.body)
				content, finish = h.content, h.finish
			} else {
				var doc whole
				if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
					t.Fatalf("%s: %v", got.body, err)
				}
				content, _ = doc.Choices[0].Message["content"].(string)
				finish = *doc.Choices[0].FinishReason
			}
			if content != tc.content || finish != tc.finish {
				t.Errorf("%s, stream %v: %q ended by %q, want %q by %q", tc.extra, stream, content, finish, tc.content, tc.finish)
			}
		}
	}
}

func TestHistoryArrives(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for question, want := range map[string]string{
		"recall: 1":                   "first",
		"recall: 2":                   "second",
		"recall: 9":                   "There is no user message 9, there are 3.",
		"What did I say first?":       "The first thing you said was: first",
		"What did I say before this?": "Before this you said: second",
		"history:":                    "1. system: be brief\n2. user: first\n3. assistant: yes\n4. user: second\n5. user: history:",
	} {
		body, err := json.Marshal(map[string]any{"model": "standin", "stream": true, "messages": []any{
			map[string]any{"role": "system", "content": "be brief"},
			map[string]any{"role": "user", "content": "{{standin cut=1}} first"},
			map[string]any{"role": "assistant", "content": "yes"},
			map[string]any{"role": "user", "content": "second"},
			map[string]any{"role": "user", "content": question},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if h := listen(t, p.post("/v1/chat/completions", string(body)).body); h.content != want || !h.done {
			t.Errorf("%s: got %q, want %q", question, h.content, want)
		}
	}
}
