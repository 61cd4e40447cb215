package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// chatting returns the body of a Chat Completions request. The parameter more contains further fields of the body.
func chatting(more string) string {
	return `{"model":"main","messages":[{"role":"user","content":"hi"}]` + more + `}`
}

// manyTools returns the JSON of the given number of tools.
func manyTools(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":"t%d"}}`, i))
	}
	return strings.Join(list, ",")
}

// For each kind of invalid request, the server must respond with the right status and with an error in OpenAI's form.
func TestErrors(t *testing.T) {
	t.Parallel()
	l := open(t, hello(), nil)
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	large := chatting(`,"x":"` + strings.Repeat("a", maxBody) + `"`)
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		param, code              string
		head                     []string
	}{
		{name: "no key", method: "GET", path: "/v1/models", status: 401, code: "invalid_api_key", head: []string{"Authorization", ""}},
		{name: "wrong key", method: "POST", path: chat, body: chatting(""), status: 401, code: "invalid_api_key", head: []string{"Authorization", "Bearer " + secret + "x"}},
		{name: "another scheme", method: "GET", path: "/v1/models", status: 401, code: "invalid_api_key", head: []string{"Authorization", "Basic " + secret}},
		{name: "unknown address", method: "GET", path: "/v1/embeddings", status: 404},
		{name: "no version", method: "POST", path: "/chat/completions", body: chatting(""), status: 404},
		{name: "method", method: "GET", path: chat, status: 405},
		{name: "method of models", method: "DELETE", path: "/v1/models", status: 405},
		{name: "method of health", method: "POST", path: "/health", status: 405},
		{name: "too large", method: "POST", path: chat, body: large, status: 413, code: "request_too_large"},
		{name: "empty", method: "POST", path: chat, status: 400},
		{name: "no JSON", method: "POST", path: chat, body: "{", status: 400},
		{name: "two values", method: "POST", path: chat, body: chatting("") + "{}", status: 400},
		{name: "deep", method: "POST", path: chat, body: chatting(`,"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), status: 400},
		{name: "no model", method: "POST", path: chat, body: `{"messages":[{"role":"user","content":"hi"}]}`, status: 400, param: "model", code: "invalid_value"},
		{name: "unknown model", method: "POST", path: chat, body: `{"model":"gpt","messages":[{"role":"user","content":"hi"}]}`, status: 404, param: "model", code: "model_not_found"},
		{name: "unknown model of responses", method: "POST", path: responses, body: `{"model":"gpt","input":"hi"}`, status: 404, param: "model", code: "model_not_found"},
		{name: "no messages", method: "POST", path: chat, body: `{"model":"main","messages":[]}`, status: 400, param: "messages", code: "invalid_value"},
		{name: "mistyped", method: "POST", path: chat, body: chatting(`,"temperature":"hot"`), status: 400, param: "temperature", code: "invalid_value"},
		{name: "temperature", method: "POST", path: chat, body: chatting(`,"temperature":3`), status: 400, param: "temperature", code: "invalid_value"},
		{name: "n", method: "POST", path: chat, body: chatting(`,"n":2`), status: 400, param: "n", code: "invalid_value"},
		{name: "max_tokens", method: "POST", path: chat, body: chatting(`,"max_tokens":0`), status: 400, param: "max_tokens", code: "invalid_value"},
		{name: "role", method: "POST", path: chat, body: `{"model":"main","messages":[{"role":"boss","content":"hi"}]}`, status: 400, param: "messages[0].role", code: "invalid_value"},
		{name: "part", method: "POST", path: chat, body: `{"model":"main","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, status: 400, param: "messages[0].content[0].type", code: "invalid_value"},
		{name: "image address of an output", method: "POST", path: responses, body: `{"model":"main","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://example.org/a.png"}]}]}`, status: 400, param: "input[0].output", code: "invalid_value"},
		{name: "image file", method: "POST", path: chat, body: `{"model":"main","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`, status: 400, param: "messages[0].content[0].image_url", code: "invalid_value"},
		{name: "tool result without a call", method: "POST", path: chat, body: `{"model":"main","messages":[{"role":"tool","content":"hi"}]}`, status: 400, param: "messages[0].tool_call_id", code: "invalid_value"},
		{name: "tool name", method: "POST", path: chat, body: chatting(`,"tools":[{"type":"function","function":{"name":"a b"}}]`), status: 400, param: "tools[0].function.name", code: "invalid_value"},
		{name: "two tools", method: "POST", path: chat, body: chatting(`,"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`), status: 400, param: "tools[1].function.name", code: "invalid_value"},
		{name: "choice without tools", method: "POST", path: chat, body: chatting(`,"tool_choice":"required"`), status: 400, param: "tool_choice", code: "invalid_value"},
		{name: "choice of an unknown tool", method: "POST", path: chat, body: chatting(`,"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}}`), status: 400, param: "tool_choice", code: "invalid_value"},
		{name: "session name", method: "POST", path: chat, body: chatting(""), status: 400, param: "X-Telex-Session", code: "invalid_value", head: []string{"X-Telex-Session", "a b"}},
		{name: "session and response", method: "POST", path: responses, body: `{"model":"main","input":"hi","previous_response_id":"resp_x"}`, status: 400, param: "previous_response_id", code: "invalid_value", head: []string{"X-Telex-Session", "a"}},
		{name: "image type", method: "POST", path: chat, body: `{"model":"main","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,AAAA"}}]}]}`, status: 400, param: "messages[0].content[0].image_url", code: "invalid_value"},
		{name: "stop words", method: "POST", path: chat, body: chatting(`,"stop":["a","b","c","d","e"]`), status: 400, param: "stop", code: "invalid_value"},
		{name: "long user", method: "POST", path: chat, body: chatting(`,"user":"` + strings.Repeat("u", maxUserID+1) + `"`), status: 400, param: "user", code: "invalid_value"},
		{name: "many tools", method: "POST", path: chat, body: chatting(`,"tools":[` + manyTools(maxTools+1) + `]`), status: 400, param: "tools", code: "invalid_value"},
		{name: "long key", method: "POST", path: chat, body: chatting(""), status: 400, param: "Idempotency-Key", code: "invalid_value", head: []string{"Idempotency-Key", strings.Repeat("k", 300)}},
		{name: "no input", method: "POST", path: responses, body: `{"model":"main"}`, status: 400, param: "input", code: "invalid_value"},
		{name: "background", method: "POST", path: responses, body: `{"model":"main","input":"hi","background":true}`, status: 400, param: "background", code: "invalid_value"},
		{name: "conversation", method: "POST", path: responses, body: `{"model":"main","input":"hi","conversation":"c"}`, status: 400, param: "conversation", code: "invalid_value"},
		{name: "item", method: "POST", path: responses, body: `{"model":"main","input":[{"type":"item_reference","id":"x"}]}`, status: 400, param: "input[0].type", code: "invalid_value"},
		{name: "unknown response before", method: "POST", path: responses, body: `{"model":"main","input":"hi","previous_response_id":"resp_x"}`, status: 400, param: "previous_response_id", code: "previous_response_not_found"},
		{name: "unknown response", method: "GET", path: "/v1/responses/resp_x", status: 404, param: "response_id", code: "response_not_found"},
		{name: "delete an unknown response", method: "DELETE", path: "/v1/responses/resp_x", status: 404, param: "response_id", code: "response_not_found"},
		{name: "unknown model", method: "GET", path: "/v1/models/gpt", status: 404, param: "model", code: "model_not_found"},
	} {
		status, data := l.call(tt.method, tt.path, tt.body, tt.head...)
		var e struct{ Error map[string]any }
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, data)
			continue
		}
		null := func(s string) any {
			if s == "" {
				return nil
			}
			return s
		}
		if status != tt.status || e.Error["message"] == "" || e.Error["type"] == "" || len(e.Error) != 4 || e.Error["param"] != null(tt.param) ||
			tt.code != "" && e.Error["code"] != tt.code || strings.Contains(data, secret) {
			t.Errorf("%s: got %d: %s, want %d, param %q and code %q", tt.name, status, data, tt.status, tt.param, tt.code)
		}
	}
}

// attached returns the JSON of a file in a message of Chat Completions.
func attached(name, kind, content string) string {
	return `{"type":"file","file":{"filename":"` + name + `","file_data":"data:` + kind + `;base64,` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}}`
}

// files returns the sources that a message with the given number of files has.
func files(n int) []agent.Source { return slices.Repeat([]agent.Source{{Origin: agent.OriginFile}}, n) }

// The turn that a request starts must contain the values of the request's fields. The server must ignore unknown
// fields.
func TestTurnOfARequest(t *testing.T) {
	t.Parallel()
	var got agent.Turn
	l := open(t, runner(func(_ context.Context, turn agent.Turn, _ func(agent.Event)) (agent.Result, error) {
		got = turn
		return agent.Result{Stop: agent.StopDone}, nil
	}), nil)
	const person = "api:user:laptop"
	png := base64.StdEncoding.EncodeToString([]byte("png"))
	typed := func(text string) agent.Message { return agent.Typed(person, text) }
	ptr := func(f float64) *float64 { return &f }
	weather := []agent.ToolSpec{{Name: "weather", Description: "says it", Parameters: json.RawMessage(`{"type":"object"}`)}}
	schema := json.RawMessage(`{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`)
	for _, tt := range []struct {
		name, path, body string
		want             agent.Turn
	}{
		{
			"everything", "/v1/chat/completions", `{"model":"main","unknown":{"a":[1]},"user":null,"stream":true,"temperature":0,"top_p":0.5,"seed":7,"stop":"END",
				"max_tokens":10,"max_completion_tokens":20,"presence_penalty":1,"frequency_penalty":2,"reasoning_effort":"low","parallel_tool_calls":false,
				"response_format":` + string(schema) + `,"tools":[{"type":"function","function":{"name":"weather","description":"says it","strict":true,"parameters":{"type":"object"}}}],
				"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi","name":"Ann B"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"rain"}]},{"role":"developer","content":[{"type":"text","text":"In verse."}]}]}`,
			agent.Turn{
				Context: "Be brief.\n\nIn verse.", Stream: true, Live: true, ClientTools: weather,
				Messages: []agent.Message{
					{Role: agent.User, Name: "Ann_B", Text: "hi", Sources: typed("hi").Sources},
					{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1", Name: "weather", Arguments: "{}"}}},
					{Role: agent.ToolRole, ToolCallID: "c1", Text: "rain"},
				},
				Params: agent.Params{
					Temperature: ptr(0), TopP: ptr(0.5), PresencePenalty: ptr(1), FrequencyPenalty: ptr(2), MaxOutput: 20, Seed: new(int64(7)), Stop: []string{"END"},
					Format: schema, ParallelToolCalls: new(bool), Effort: "low",
				},
			},
		},
		{
			"pictures and files", "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}},
				{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + png + `"}},{"type":"file","file":{"filename":"b.txt","file_data":"data:text/plain;base64,` + png + `"}}]}]}`,
			agent.Turn{Messages: []agent.Message{{
				Role: agent.User, Text: "see\n[file b.txt]\npng", Images: []agent.Image{{MediaType: "image/png", Data: []byte("png")}},
				Files:   []agent.File{{Name: "a.pdf", MediaType: "application/pdf", Content: []byte("png")}},
				Sources: []agent.Source{{Origin: agent.OriginTyped, Person: person, Text: "see"}, {Origin: agent.OriginPicture}, {Origin: agent.OriginFile}, {Origin: agent.OriginFile}},
			}}},
		},
		{
			"documents", "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":[` + strings.Repeat(attached("old.html", "text/html", "doc:o")+",", 3) + `{"type":"text","text":"a"}]},
				{"role":"user","content":[{"type":"text","text":"b"},` + strings.Repeat(attached("a.docx", "application/zip", "doc:x")+",", 7) + attached("scan.pdf", "application/pdf", "scan") + "," + attached("p.html", "text/html", "doc:y") + `]}]}`,
			agent.Turn{Messages: []agent.Message{
				{
					Role: agent.User, Text: "a\n\n<old.html>o\n\n" + "[file old.html: not shown, only 10 files of a request are]\n\n" + "[file old.html: not shown, only 10 files of a request are]",
					Sources: append(files(3), agent.Source{Origin: agent.OriginTyped, Person: person, Text: "a"}),
				},
				{
					Role: agent.User, Text: "b" + strings.Repeat("\n\n<a.docx>x", 7) + "\n\n<p.html>y", Files: []agent.File{{Name: "scan.pdf", MediaType: "application/pdf", Content: []byte("scan")}},
					Sources: append([]agent.Source{{Origin: agent.OriginTyped, Person: person, Text: "b"}}, files(9)...),
				},
			}},
		},
		{
			"documents of a tool", "/v1/responses", `{"model":"main","store":false,"input":[{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"see"},
				{"type":"input_file","filename":"a.docx","file_data":"data:application/zip;base64,ZG9jOng="},{"type":"input_file","filename":"b.zip","file_data":"data:application/zip;base64,AAAA"}]}]}`,
			agent.Turn{Messages: []agent.Message{
				{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1", Name: "weather", Arguments: "{}"}}},
				{Role: agent.ToolRole, ToolCallID: "c1", Text: "see\n\n<a.docx>x\n\n[file b.zip: not shown, it can't be read]"},
			}},
		},
		{
			"addresses of pictures", "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}},{"type":"input_image","image_url":"http://example.org/b.png"}]}]}`,
			agent.Turn{Messages: []agent.Message{{
				Role: agent.User, Images: []agent.Image{{URL: "https://example.org/a.png"}, {URL: "http://example.org/b.png"}}, Sources: []agent.Source{{Origin: agent.OriginPicture}, {Origin: agent.OriginPicture}},
			}}},
		},
		{
			"only rules", "/v1/chat/completions", `{"model":"main","messages":[{"role":"system","content":"Say hi."}]}`,
			agent.Turn{Messages: []agent.Message{typed("Say hi.")}},
		},
		{
			"a demanded call", "/v1/chat/completions", chatting(`,"tools":[{"type":"function","function":{"name":"weather","description":"says it","parameters":{"type":"object"}}}],"tool_choice":{"type":"function","function":{"name":"weather"}}`),
			agent.Turn{Messages: []agent.Message{typed("hi")}, ClientTools: weather, Params: agent.Params{MustCall: true, MustCallName: "weather"}},
		},
		{
			"no call", "/v1/chat/completions", chatting(`,"tools":[{"type":"function","function":{"name":"weather"}}],"tool_choice":"none"`),
			agent.Turn{Messages: []agent.Message{typed("hi")}},
		},
		{
			"a text", "/v1/responses", `{"model":"main","input":"hi","store":false}`, agent.Turn{Messages: []agent.Message{typed("hi")}},
		},
		{
			"items", "/v1/responses", `{"model":"main","store":false,"instructions":"Be brief.","max_output_tokens":9,"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],
				"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}},"verbosity":"low"},
				"tools":[{"type":"web_search"},{"type":"function","name":"weather","description":"says it","parameters":{"type":"object"},"strict":false}],"tool_choice":"auto",
				"input":[{"type":"message","role":"developer","content":"In verse."},{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"data:image/png;base64,` + png + `"}]},
				{"type":"reasoning","id":"rs","summary":[]},{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","text":"One moment."}]},
				{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"rain"}]}`,
			agent.Turn{
				Context: "Be brief.\n\nIn verse.", ClientTools: weather,
				Messages: []agent.Message{
					{Role: agent.User, Text: "hi", Images: []agent.Image{{MediaType: "image/png", Data: []byte("png")}}, Sources: []agent.Source{{Origin: agent.OriginTyped, Person: person, Text: "hi"}, {Origin: agent.OriginPicture}}},
					{Role: agent.Assistant, Text: "One moment.", ToolCalls: []agent.ToolCall{{ID: "c1", Name: "weather", Arguments: "{}"}}},
					{Role: agent.ToolRole, ToolCallID: "c1", Text: "rain"},
				},
				Params: agent.Params{MaxOutput: 9, Format: schema, Effort: "high"},
			},
		},
	} {
		got = agent.Turn{}
		if status, data := l.call(http.MethodPost, tt.path, tt.body); status != http.StatusOK {
			t.Errorf("%s: got %d: %s", tt.name, status, data)
			continue
		}
		tt.want.ID, tt.want.Model, tt.want.Person, tt.want.Conversation = got.ID, "main", person, "api:laptop"
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

// Several users may share one key. If a request has the field user, the person of the turn is this user.
func TestAskers(t *testing.T) {
	t.Parallel()
	var got agent.Turn
	l := open(t, runner(func(_ context.Context, turn agent.Turn, _ func(agent.Event)) (agent.Result, error) {
		got = turn
		return agent.Result{Stop: agent.StopDone}, nil
	}), nil)
	for more, want := range map[string]string{"": "api:user:laptop", `,"user":"ann"`: "api:user:laptop/ann"} {
		if status, data := l.call(http.MethodPost, "/v1/chat/completions", chatting(more)); status != 200 || got.Person != want || got.Messages[0].Sources[0].Person != want {
			t.Errorf("got %d: %s, asked by %q and %+v, want %q", status, data, got.Person, got.Messages, want)
		}
	}
}

// If a turn fails before the server has sent anything, the client must get an HTTP status for errors. If the server has
// already sent a part of the answer, the client must get an error event. The error of a failed turn may contain the
// text of the model provider's error only if the client's request is the reason, because the client can change nothing
// else.
func TestFailedTurns(t *testing.T) {
	t.Parallel()
	fails := func(reason agent.StopReason, err error, events ...agent.Event) runner {
		return func(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
			for _, e := range events {
				emit(e)
			}
			return agent.Result{Stop: reason}, &agent.Error{Reason: reason, Err: err}
		}
	}
	hidden := errors.New("hidden words of the provider")
	for _, tt := range []struct {
		reason       agent.StopReason
		err          error
		status       int
		code, header string
		shown        bool
	}{
		{agent.StopError, &agent.ModelError{Kind: agent.Retryable, Status: 500, Err: hidden}, 502, "model_failed", "", false},
		{agent.StopError, &agent.ModelError{Kind: agent.Auth, Status: 401, Err: hidden}, 502, "model_failed", "", false},
		{agent.StopError, &agent.ModelError{Kind: agent.RateLimited, Status: 429, RetryAfter: 7 * time.Second, Err: hidden}, 429, "rate_limit_exceeded", "7", false},
		{agent.StopError, &agent.ModelError{Kind: agent.Quota, Status: 429, Err: hidden}, 429, "insufficient_quota", "", false},
		{agent.StopError, &agent.ModelError{Kind: agent.BadRequest, Status: 400, Err: hidden}, 400, "invalid_request", "", true},
		{agent.StopError, &agent.ModelError{Kind: agent.BadRequest, Status: 404, Err: hidden}, 502, "model_failed", "", false},
		{agent.StopTimeLimit, hidden, 503, "model_timeout", "", false},
		{agent.StopFirstToken, hidden, 503, "model_timeout", "", false},
		{agent.StopCalls, hidden, 502, "model_failed", "", false},
	} {
		l := open(t, fails(tt.reason, tt.err), nil)
		for _, body := range []string{chatting(""), chatting(`,"stream":true`)} {
			res := l.request(t.Context(), http.MethodPost, "/v1/chat/completions", body)
			var e envelope
			if err := json.NewDecoder(res.Body).Decode(&e); err != nil || res.StatusCode != tt.status || *e.Error.Code != tt.code || res.Header.Get("Retry-After") != tt.header ||
				strings.Contains(e.Error.Message, "hidden") != tt.shown {
				t.Errorf("%v: got %d %v %+v, %v", tt.err, res.StatusCode, res.Header, e, err)
			}
		}
		l = open(t, fails(tt.reason, tt.err, agent.Text{Delta: "One"}), nil)
		got, err := checkChat(l.stream("/v1/chat/completions", chatting(`,"stream":true`)), false)
		if err != nil || got.text != "One" || got.failed == "" || strings.Contains(got.failed, "hidden") != tt.shown {
			t.Errorf("%v: got %+v, %v", tt.err, got, err)
		}
		got, err = checkResponse(l.stream("/v1/responses", `{"model":"main","input":"hi","stream":true}`))
		if err != nil || got.text != "One" || got.failed == "" {
			t.Errorf("%v: got %+v, %v", tt.err, got, err)
		}
	}
	l := open(t, says(agent.StopTooLong), nil)
	if status, data := l.call(http.MethodPost, "/v1/chat/completions", chatting("")); status != 400 || !strings.Contains(data, "context_length_exceeded") {
		t.Errorf("too long: got %d: %s", status, data)
	}
	if used, err := l.store.Used(t.Context(), chat.UsageOf{}); err != nil || used.Prompt != 7 {
		t.Errorf("too long: used %+v, %v", used, err)
	}
}

// A panic in one request must not affect other requests.
func TestPanics(t *testing.T) {
	t.Parallel()
	l := open(t, runner(func(_ context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		if turn.Stream {
			emit(agent.Text{Delta: "One"})
		}
		if strings.HasPrefix(turn.Messages[0].Text, "hi") {
			panic("a bug")
		}
		return agent.Result{Stop: agent.StopDone}, nil
	}), nil)
	for range 3 {
		if status, data := l.call(http.MethodPost, "/v1/chat/completions", chatting(""), "Idempotency-Key", "k"); status != 500 || strings.Contains(data, "a bug") {
			t.Fatalf("got %d: %s", status, data)
		}
		if got, err := checkChat(l.stream("/v1/chat/completions", chatting(`,"stream":true`)), false); err != nil || got.failed == "" {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if status, data := l.call(http.MethodPost, "/v1/chat/completions", strings.Replace(chatting(""), `"hi"`, `"well"`, 1)); status != 200 {
		t.Errorf("got %d: %s", status, data)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	l := open(t, hello(), nil)
	var list struct {
		Object string
		Data   []modelEntry
	}
	l.document(&list, http.MethodGet, "/v1/models", "")
	want := []modelEntry{{ID: "main", Object: "model", OwnedBy: "telex"}, {ID: "small/one", Object: "model", OwnedBy: "telex"}}
	if list.Object != "list" || !reflect.DeepEqual(list.Data, want) {
		t.Errorf("got %+v", list)
	}
	var one modelEntry
	l.document(&one, http.MethodGet, "/v1/models/small/one", "")
	if one != want[1] {
		t.Errorf("got %+v", one)
	}
	if status, data := l.call(http.MethodGet, "/health", "", "Authorization", ""); status != 200 || data != `{"status":"ok"}`+"\n" {
		t.Errorf("health: got %d: %s", status, data)
	}
}

// A web page may use the server only if its origin is configured. If the server has no keys, it must refuse requests
// that any web page could send.
func TestWebPages(t *testing.T) {
	t.Parallel()
	const page = "https://chat.example.org"
	with := open(t, hello(), func(o *Options) { o.Origins = []string{page} })
	res := with.request(t.Context(), http.MethodOptions, "/v1/chat/completions", "", "Origin", page, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization", "Authorization", "")
	if h := res.Header; res.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != page || h.Get("Access-Control-Allow-Headers") != "authorization" || h.Get("Vary") != "Origin" {
		t.Errorf("preflight: got %d, %v", res.StatusCode, h)
	}
	res = with.request(t.Context(), http.MethodPost, "/v1/chat/completions", chatting(""), "Origin", page)
	if res.StatusCode != 200 || res.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("got %d, %v", res.StatusCode, res.Header)
	}
	for _, l := range []*lab{with, open(t, hello(), nil)} {
		res := l.request(t.Context(), http.MethodOptions, "/v1/chat/completions", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
		if res.StatusCode < 400 || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("another page: got %d, %v", res.StatusCode, res.Header)
		}
	}
	everywhere := open(t, hello(), func(o *Options) { o.Origins = []string{"*"} })
	if res := everywhere.request(t.Context(), http.MethodPost, "/v1/chat/completions", chatting(""), "Origin", page); res.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("any page: got %v", res.Header)
	}
	keyless := open(t, hello(), func(o *Options) { o.Keys = nil })
	for _, tt := range []struct {
		head   []string
		status int
	}{
		{nil, 200},
		{[]string{"Host", "localhost:1234"}, 200},
		{[]string{"Host", "evil.example"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Content-Type", "text/plain"}, 403},
	} {
		if status, data := keyless.call(http.MethodPost, "/v1/chat/completions", chatting(""), append([]string{"Authorization", ""}, tt.head...)...); status != tt.status {
			t.Errorf("%v: got %d: %s, want %d", tt.head, status, data, tt.status)
		}
	}
}
