package homeassistant

import (
	"encoding/json"
	"testing"
	"time"

	"telex/standin/rig"
)

func TestParseFrame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		frame string
		n     int   // number of messages; -1: an error
		id    int64 // id of the first message
		echo  string
	}{
		{`{"id":1,"type":"ping"}`, 1, 1, "1"},
		{` [ {"id":1,"type":"a"}, {"id":2,"type":"b"} ] `, 2, 1, "1"},
		{`[]`, 0, 0, ""},
		{`[[]]`, 1, 0, "0"},
		{`null`, 1, 0, "0"},
		{`{"id":"1","type":"ping"}`, 1, 0, `"1"`},
		{`{"id":1.0,"type":"ping"}`, 1, 0, "1.0"},
		{`{"id":1e1,"type":"ping"}`, 1, 0, "1e1"},
		{`{"id":99999999999999999999,"type":"ping"}`, 1, 0, "99999999999999999999"},
		{`{"id":1,"type":""}`, 1, 0, "1"},
		{`{"id":1,"type":7}`, 1, 0, "1"},
		{`{"type":"ping"}`, 1, 0, "null"},
		{``, -1, 0, ""},
		{`{"id":1`, -1, 0, ""},
		{`{"id":1,"type":"ping"}x`, -1, 0, ""},
		{"{\"id\":1,\"type\":\"\xff\"}", -1, 0, ""},
	} {
		got, err := parseFrame([]byte(tc.frame))
		if (err != nil) != (tc.n < 0) || err == nil && len(got) != tc.n {
			t.Errorf("%s: got %+v, %v, want %d messages", tc.frame, got, err, tc.n)
			continue
		}
		if tc.n > 0 && (got[0].id != tc.id || string(got[0].echo) != tc.echo) {
			t.Errorf("%s: got id %d, echo %s, want %d, %s", tc.frame, got[0].id, got[0].echo, tc.id, tc.echo)
		}
	}
}

// FuzzFrame checks that each message in any frame gets one JSON response, and that nothing panics.
func FuzzFrame(f *testing.F) {
	for _, frame := range []string{
		`{"id":1,"type":"ping"}`, `[{"id":1,"type":"get_states"},{"id":1,"type":"x"}]`, `{"type":"auth","access_token":"x"}`,
		`{"id":1,"type":"supported_features","features":{"coalesce_messages":1}}`,
		`{"id":1,"type":"subscribe_events","event_type":"state_changed"}`, `{"id":2,"type":"unsubscribe_events","subscription":1}`,
		`{"id":1,"type":"call_service","domain":"light","service":"turn_on","target":{"entity_id":["light.kitchen"]}}`,
		`{"id":1,"type":"call_service","domain":"climate","service":"set_temperature","service_data":{"entity_id":"all","temperature":1e999}}`,
		`{"id":1,"type":"call_service","domain":"notify","service":"send_message","service_data":{"message":1,"entity_id":"all"}}`,
		`{"id":1,"type":"call_service","domain":"persistent_notification","service":"create","service_data":{"message":"x","notification_id":"a"}}`,
		`{"id":1,"type":"conversation/process","text":"turn on the kitchen light"}`, "\xff", `[[{}]]`, `{"id":-1}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(Options{})
		k := &socket{wake: make(chan struct{}, 1)}
		_, _, _ = parseAuth(data) // must not panic
		commands, err := parseFrame(data)
		if err == nil && !json.Valid(data) {
			t.Fatalf("%q is no JSON, and no error", data)
		}
		for _, c := range commands {
			p := s.prepare(k, c, time.Now())
			answer := p.refused
			if answer == nil {
				answer = new(p.do())
			}
			var e struct {
				ID   json.RawMessage `json:"id"`
				Type string          `json:"type"`
			}
			if err := json.Unmarshal(answer.Body, &e); err != nil || e.Type == "" || string(e.ID) != string(rig.Encode(c.echo)) {
				t.Errorf("%s: answer %s (%v)", data, answer.Body, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
