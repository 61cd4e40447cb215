package responses

import (
	"testing"

	"telex/agent"
)

// TestTakeTextEvents reads single valid and invalid events of the most common kind.
func TestTakeTextEvents(t *testing.T) {
	t.Parallel()
	const usual = `{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":2,"content_index":0,"delta":"a\n\u00e4","logprobs":[],"obfuscation":"x"}`
	for _, tt := range []struct {
		event string
		want  agent.Delta
		err   bool
	}{
		{usual, agent.Delta{Text: "a\nä"}, false},
		{`{}`, agent.Delta{}, false},
		{`[]`, agent.Delta{}, true},
		{``, agent.Delta{}, true},
		{usual + "x", agent.Delta{}, true},
		{`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"delta":"a"}`, agent.Delta{Refusal: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0}`, agent.Delta{}, false},
		{`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`, agent.Delta{Text: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","delta":"a"}`, agent.Delta{Text: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"m\u0041","output_index":0,"delta":"a"}`, agent.Delta{Text: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","delta":"b"}`, agent.Delta{Text: "b"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","logprobs":[{}]}`, agent.Delta{Text: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":-1,"delta":"a"}`, agent.Delta{Text: "a"}, false},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":99999999999999999999,"delta":"a"}`, agent.Delta{}, true},
		{`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","response":{}}`, agent.Delta{Text: "a"}, false},
		{"{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\"\xff\"}", agent.Delta{Text: "\uFFFD"}, false},
	} {
		var c consumer
		var got agent.Delta
		_, err := c.AddEvent([]byte(tt.event), func(d agent.Delta) { got = d })
		if got != tt.want || err != nil != tt.err || c.finished {
			t.Errorf("%s: got %+v, %v", tt.event, got, err)
		}
	}
}
