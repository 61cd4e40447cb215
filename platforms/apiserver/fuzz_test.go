package apiserver

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
	"unicode/utf8"

	"telex/agent"
)

// seeds returns request bodies for both APIs, valid ones and invalid ones.
func seeds() []string {
	return []string{
		chatting(""), chatting(`,"stream":true,"stop":["a"],"tools":[{"type":"function","function":{"name":"a","parameters":{}}}],"tool_choice":"required"`),
		`{"model":"main","messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"y"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`,
		`{"model":"main","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"z"}]}`,
		`{"model":"main","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a","file_data":"data:text/plain;base64,AA=="}}]}],"response_format":{"type":"json_object"}}`,
		`{"model":"main","input":"hi","text":{"format":{"type":"json_schema","name":"a","schema":{}}}}`,
		`{"model":"main","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"b"}]}]}`,
		`{"model":"main","input":[{"type":"custom_tool_call","call_id":"1","name":"a","input":"x"},{"type":"reasoning"}],"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"},"metadata":{"a":"b"}}`,
		`{"model":1}`, `[]`, `null`, `{"messages":"x"}`, `{"model":"main","input":{}}`, `{"model":"main","stop":5}`, `{"input":[null],"tools":[null]}`,
	}
}

// fuzzAPI decodes random request bodies with an API, and checks the decoded queries. Each body must either cause an
// error with a 4xx status, or become a valid query whose answer can be encoded.
func fuzzAPI(f *testing.F, a api) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := a.decode(body)
		if err == nil {
			err = q.check(map[string]bool{q.model: true})
		}
		if err != nil {
			if err.status < 400 || err.status > 499 || err.message == "" || !utf8.ValidString(err.message) {
				t.Fatalf("got %+v", err)
			}
			return
		}
		for _, m := range q.messages {
			if m.Role != agent.User && m.Role != agent.Assistant && m.Role != agent.ToolRole {
				t.Fatalf("message %+v", m)
			}
		}
		if q.params.MustCall && len(q.tools) == 0 || q.params.MaxOutput < 0 || len(q.tools) > maxTools {
			t.Fatalf("query %+v", q)
		}
		said := &answer{}
		said.add(agent.Text{Delta: "x"})
		if _, err := json.Marshal(a.document(answerHead{id: a.newID(), created: time.Unix(0, 0), query: q}, said, outcome{})); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzChatRequest(f *testing.F) { fuzzAPI(f, chatAPI{}) }

func FuzzResponsesRequest(f *testing.F) { fuzzAPI(f, responsesAPI{}) }

// The test cuts off the end of request bodies, and sends the incomplete bodies to both APIs. The server must never
// respond to an incomplete body with a 5xx status.
func TestCutBodies(t *testing.T) {
	t.Parallel()
	l := open(t, hello(), nil)
	for _, seed := range seeds() {
		for cut := 0; cut <= len(seed); cut += 3 {
			for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
				if status, data := l.call(http.MethodPost, path, seed[:cut]); status != 200 && status != 400 && status != 404 {
					t.Errorf("%s %s: got %d: %s", path, seed[:cut], status, data)
				}
			}
		}
	}
}
