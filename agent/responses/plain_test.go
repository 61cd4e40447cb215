package responses

import (
	"testing"
)

func TestReadPlain(t *testing.T) {
	t.Parallel()
	const usual = `{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":2,"content_index":0,"delta":"a\n\u00e4","logprobs":[],"obfuscation":"x"}`
	if d, ok := readPlain([]byte(usual)); !ok || string(d.itemID) != "msg_1" || d.index != 2 || d.text != "a\nä" {
		t.Errorf("got %+v, %v", d, ok)
	}
	for _, event := range []string{
		`{}`, `[]`, ``, usual + "x",
		`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0}`,
		`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"m\u0041","output_index":0,"delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","delta":"b"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","logprobs":[{}]}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":-1,"delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":99999999999999999999,"delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"a","response":{}}`,
		"{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\"\xff\"}",
	} {
		if d, ok := readPlain([]byte(event)); ok {
			t.Errorf("%s: got %+v", event, d)
		}
	}
}

// FuzzReadPlain compares what is read without decoding with what decoding says.
func FuzzReadPlain(f *testing.F) {
	f.Add([]byte(`{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":2,"content_index":0,"delta":"a\\n","logprobs":[]}`))
	f.Add([]byte(`{"type" : "response.output_text.delta", "item_id":"", "output_index": 0 ,"delta":"\\ud83d"}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		d, ok := readPlain(event)
		if !ok {
			return
		}
		e, err := readEvent(event)
		if err != nil || e.Type != "response.output_text.delta" || e.ItemID != string(d.itemID) || e.OutputIndex != d.index || e.Delta != d.text {
			t.Errorf("%s: %+v, decoded %+v, %v", event, d, e, err)
		}
	})
}
