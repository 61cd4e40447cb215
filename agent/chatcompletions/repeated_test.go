package chatcompletions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"telex/agent"
)

// The fast path reads an event by its difference from the previous event. The result must be the same as if the event were
// decoded as JSON, whatever the events contain and in whatever order they come.
func TestFastPathEqualsDecoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"", " ", "two", `"`, `\`, "é", "\n", `"content":"x"`, `{"content":"`, `,"obfuscation":"`, "</think>"}), rapid.StringN(0, 6, -1))
		quoted := func(name string) string {
			data, err := json.Marshal(piece.Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		var quick, slow []agent.Delta
		one, other := &consumer{model: "m"}, &consumer{model: "m"}
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			form := rapid.SampledFrom([]string{
				`{"id":"a","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}],"obfuscation":%s}`,
				`{"id":"a","choices":[{"index":0,"delta":{"content":%s,"x":%s},"finish_reason":null}]}`,
				`{"id":"a","choices":[{"index":0,"delta":{"content":%s},"logprobs":{"content":%s},"finish_reason":null}]}`,
				`{"id":"a","choices":[{"index":1,"delta":{"content":%s},"x":%s}]}`,
				`{"id":"a","choices":[{"index":0,"delta":{"reasoning_content":%s,"content":%s}}]}`,
				`{"id":"a","choices":[{"index":0,"delta":{"content":%s},"finish_reason":%s}]}`,
				`{"id":"a","choices":[{"index":0,"delta":{"content":%s},"x":%s}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			}).Draw(t, "form")
			event := fmt.Appendf(nil, form, quoted("first"), quoted("second"))
			ended, err := one.AddEvent(event, func(d agent.Delta) { quick = append(quick, d) })
			other.repeated = repeated{}
			slowEnded, slowErr := other.AddEvent(event, func(d agent.Delta) { slow = append(slow, d) })
			if ended != slowEnded || (err == nil) != (slowErr == nil) {
				t.Fatalf("%s: got %v, %v, want %v, %v", event, ended, err, slowEnded, slowErr)
			}
		}
		if !reflect.DeepEqual(quick, slow) || !reflect.DeepEqual(one.Completion(), other.Completion()) {
			t.Fatalf("got %+v, want %+v", quick, slow)
		}
	})
}

func TestFastPathIsUsed(t *testing.T) {
	t.Parallel()
	var r repeated
	event := func(text, padding string) []byte {
		return []byte(`{"choices":[{"delta":{"content":"` + text + `"}}],"obfuscation":"` + padding + `"}`)
	}
	r.remember(event("one", "abc"), "one")
	if text, ok := r.text(event(" two", "d")); !ok || text != " two" {
		t.Errorf("got %q, %v", text, ok)
	}
	for _, text := range []string{`a\n`, `é`, `a","x":"b`} {
		if got, ok := r.text(event(text, "d")); ok {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
