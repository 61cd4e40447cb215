package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"telex/standin/openai"
)

func TestRequestsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	const calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for _, tc := range []struct {
		name, body  string
		status      int
		param, code string
		message     string // part of the error message
	}{
		{"not JSON", `{"model":`, 400, "", "", "not valid JSON"},
		{"two documents", `{}{}`, 400, "", "", "not valid JSON"},
		{"not an object", `[]`, 400, "", "", "not valid JSON"},
		{"null", `null`, 400, "", "", "not valid JSON"},
		{"no model", `{` + hi + `}`, 400, "", "", "you must provide a model parameter"},
		{"unknown model", `{"model":"gpt-9",` + hi + `}`, 404, "", "model_not_found", "The model `gpt-9` does not exist"},
		{"unknown parameter", `{"model":"standin","top_k":5,` + hi + `}`, 400, "top_k", "unknown_parameter", "Unknown parameter: 'top_k'."},
		{"no messages", `{"model":"standin"}`, 400, "messages", "missing_required_parameter", "Missing"},
		{"empty messages", `{"model":"standin","messages":[]}`, 400, "messages", "empty_array", "empty array"},
		{"wrong type", `{"model":"standin","messages":"hi"}`, 400, "messages", "invalid_type", "Invalid type for 'messages'"},
		{
			"unknown role", `{"model":"standin","messages":[{"role":"bot","content":"hi"}]}`,
			400, "messages[0].role", "invalid_value", "Invalid value: 'bot'. Supported values are: 'system', 'assistant',",
		},
		{"no role", `{"model":"standin","messages":[{"content":"hi"}]}`, 400, "messages[0].role", "missing_required_parameter", ""},
		{"old function role", `{"model":"standin","messages":[{"role":"function","content":"hi"}]}`, 400, "messages[0].role", "invalid_value", ""},
		{"null content", `{"model":"standin","messages":[{"role":"user","content":null}]}`, 400, "messages.[0].content", "", "got null"},
		{"content is a number", `{"model":"standin","messages":[{"role":"user","content":5}]}`, 400, "messages.[0].content", "invalid_type", ""},
		{"no parts", `{"model":"standin","messages":[{"role":"user","content":[]}]}`, 400, "messages.[0].content", "empty_array", ""},
		{
			"unknown part", `{"model":"standin","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"smell"}]}]}`,
			400, "messages[0].content[1].type", "invalid_value", "",
		},
		{
			"image from the assistant", `{"model":"standin","messages":[{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`,
			400, "messages[0].content[0].type", "invalid_value", "",
		},
		{
			"tool message without a call", `{"model":"standin","messages":[{"role":"tool","content":"x","tool_call_id":"a"}]}`,
			400, "messages.[0].role", "", "messages with role 'tool' must be a response to a",
		},
		{"tool message without an id", `{"model":"standin","messages":[{"role":"tool","content":"x"}]}`, 400, "messages.[0].tool_call_id", "missing_required_parameter", ""},
		{
			"tool message for another call", `{"model":"standin","messages":[` + calls + `,{"role":"tool","content":"x","tool_call_id":"b"}]}`,
			400, "messages.[1].role", "", "must be a response",
		},
		{"tool message without content", `{"model":"standin","messages":[` + calls + `,{"role":"tool","tool_call_id":"a"}]}`, 400, "messages.[1].content", "", "null"},
		{
			"call without a result", `{"model":"standin","messages":[` + calls + `,{"role":"user","content":"x"}]}`,
			400, "messages.[0].role", "", "did not have response messages: a",
		},
		{"call without a result at the end", `{"model":"standin","messages":[` + calls + `]}`, 400, "messages.[0].role", "", "response messages: a"},
		{"call by a user", strings.Replace(`{"model":"standin","messages":[`+calls+`]}`, "assistant", "user", 1), 400, "messages[0].tool_calls", "unknown_parameter", ""},
		{"call without an id", strings.Replace(`{"model":"standin","messages":[`+calls+`]}`, `"id":"a"`, `"id":""`, 1), 400, "messages[0].tool_calls[0].id", "missing_required_parameter", ""},
		{"call twice", strings.Replace(`{"model":"standin","messages":[`+calls+`]}`, `"tool_calls":[`, `"tool_calls":[{"id":"a","type":"function","function":{"name":"g"}},`, 1), 400, "messages[0].tool_calls[1].id", "invalid_value", "Duplicate"},
		{"call of another type", strings.Replace(`{"model":"standin","messages":[`+calls+`]}`, `"type":"function"`, `"type":"magic"`, 1), 400, "messages[0].tool_calls[0].type", "invalid_value", ""},
		{"call of a bad name", strings.Replace(`{"model":"standin","messages":[`+calls+`]}`, `"name":"f"`, `"name":"f g"`, 1), 400, "messages[0].tool_calls[0].function.name", "invalid_value", ""},
		{"tool parameters", `{"model":"standin","tools":[{"type":"function","function":{"name":"f","parameters":[]}}],` + hi + `}`, 400, "tools[0].function.parameters", "invalid_type", ""},
		{"stop is a number", `{"model":"standin","stop":5,` + hi + `}`, 400, "stop", "invalid_type", ""},
		{"empty stop", `{"model":"standin","stop":"",` + hi + `}`, 400, "stop", "invalid_value", ""},
		{"open directive", `{"model":"standin","messages":[{"role":"user","content":"{{standin rate=3"}]}`, 400, "messages", "standin_directive", "no closing }}"},
		{"temperature", `{"model":"standin","temperature":2.1,` + hi + `}`, 400, "temperature", "decimal_above_max_value", "Expected a value <= 2, but got 2.1 instead."},
		{"negative temperature", `{"model":"standin","temperature":-1,` + hi + `}`, 400, "temperature", "decimal_below_min_value", ""},
		{"top_p", `{"model":"standin","top_p":1.5,` + hi + `}`, 400, "top_p", "decimal_above_max_value", ""},
		{"max_tokens", `{"model":"standin","max_tokens":0,` + hi + `}`, 400, "max_tokens", "integer_below_min_value", "Expected a value >= 1, but got 0 instead."},
		{"both limits", `{"model":"standin","max_tokens":5,"max_completion_tokens":5,` + hi + `}`, 400, "max_tokens", "invalid_parameter_combination", ""},
		{"n", `{"model":"standin","n":2,` + hi + `}`, 400, "n", "integer_above_max_value", ""},
		{"stream_options alone", `{"model":"standin","stream_options":{},` + hi + `}`, 400, "stream_options", "", "only allowed when 'stream' is enabled"},
		{"stop", `{"model":"standin","stop":["a","b","c","d","e"],` + hi + `}`, 400, "stop", "array_above_max_length", ""},
		{"empty tools", `{"model":"standin","tools":[],` + hi + `}`, 400, "tools", "empty_array", ""},
		{"tool type", `{"model":"standin","tools":[{"type":"x"}],` + hi + `}`, 400, "tools[0].type", "invalid_value", ""},
		{"tool name", `{"model":"standin","tools":[{"type":"function","function":{"name":"a b"}}],` + hi + `}`, 400, "tools[0].function.name", "invalid_value", ""},
		{"tool_choice alone", `{"model":"standin","tool_choice":"auto",` + hi + `}`, 400, "tool_choice", "", ""},
		{"bad directive", `{"model":"standin","messages":[{"role":"user","content":"{{standin speed=3}}"}]}`, 400, "messages", "standin_directive", "setting speed: unknown key"},
	} {
		got := p.post("/v1/chat/completions", tc.body)
		if got.err != nil || got.status != tc.status {
			t.Errorf("%s: status %d, %v, want %d: %s", tc.name, got.status, got.err, tc.status, got.body)
			continue
		}
		message, kind, param, code := apiError(t, got.body)
		if param != tc.param || code != tc.code || !strings.Contains(message, tc.message) || kind != "invalid_request_error" {
			t.Errorf("%s: got param %q, code %q, type %s, message %q, want param %q, code %q, message %q",
				tc.name, param, code, kind, message, tc.param, tc.code, tc.message)
		}
	}
}

func TestRequestsAccepted(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	const user = `{"role":"user","content":"say: ok"}`
	for name, body := range map[string]string{
		"plain":                 `{"model":"standin","messages":[` + user + `]}`,
		"system":                `{"model":"standin","messages":[{"role":"system","content":"be brief"},` + user + `]}`,
		"developer":             `{"model":"standin","messages":[{"role":"developer","content":"be brief"},` + user + `]}`,
		"parts":                 `{"model":"standin","messages":[{"role":"user","content":[{"type":"text","text":"say: "},{"type":"text","text":"ok"}]}]}`,
		"image":                 `{"model":"standin","messages":[{"role":"user","content":[{"type":"text","text":"say: ok"},{"type":"image_url","image_url":{"url":"` + pixelURL + `"}}]}]}`,
		"max_tokens":            `{"model":"standin","max_tokens":9,"messages":[` + user + `]}`,
		"max_completion_tokens": `{"model":"standin","max_completion_tokens":9,"messages":[` + user + `]}`,
		"numbers":               `{"model":"standin","temperature":0,"top_p":1,"presence_penalty":-2,"n":1,"stop":null,"messages":[` + user + `]}`,
		"tools":                 `{"model":"standin","tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"auto","messages":[` + user + `]}`,
		"earlier calls": `{"model":"standin","messages":[{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"","tool_calls":[` +
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"assistant","content":"done"},` + user + `]}`,
	} {
		for _, path := range []string{"/v1/chat/completions", "/chat/completions"} {
			if got := p.post(path, body); got.status != http.StatusOK || !strings.Contains(got.body, `"content":"ok"`) {
				t.Errorf("%s to %s: status %d, want 200 and the content ok: %s", name, path, got.status, got.body)
			}
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-right-0123456789"})
	for _, tc := range []struct {
		header, code string
		status       int
		message      string
	}{
		{"", "", 401, "You didn't provide an API key."},
		{"Basic x", "", 401, "You didn't provide an API key."},
		{"Bearer sk-wrong-0123456789", "invalid_api_key", 401, "Incorrect API key provided: sk-w***********6789."},
		{"Bearer short", "invalid_api_key", 401, "Incorrect API key provided: *****."},
		{"Bearer sk-right-0123456789", "", 200, ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			url, body := p.url+"/v1/models", ""
			if method == http.MethodPost {
				url, body = p.url+"/v1/chat/completions", request(t, "say: x", false)
			}
			req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			if tc.header != "" {
				req.Header.Set("Authorization", tc.header)
			}
			got := p.do(req)
			if got.status != tc.status {
				t.Errorf("%s with %q: status %d, want %d", method, tc.header, got.status, tc.status)
				continue
			}
			if tc.status == http.StatusOK {
				continue
			}
			if message, _, _, code := apiError(t, got.body); code != tc.code || !strings.HasPrefix(message, tc.message) {
				t.Errorf("%s with %q: code %q, message %q, want %q, %q", method, tc.header, code, message, tc.code, tc.message)
			}
		}
	}
	for _, r := range p.Requests() {
		if got := r.Header.Get("Authorization"); strings.Contains(got, "sk-") {
			t.Errorf("the record of request %d holds the key: %q", r.ID, got)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Models: []string{"one", "org/two"}})
	for _, tc := range []struct {
		path   string
		status int
		part   string
	}{
		{"/v1/models", 200, `"data":[{"created":`},
		{"/models", 200, `"id":"org/two"`},
		{"/v1/models/org/two", 200, `"id":"org/two"`},
		{"/v1/models/three", 404, `"code":"model_not_found"`},
		{"/v1/chat/completions", 405, "Not allowed to GET on /v1/chat/completions."},
		{"/v1/embeddings", 404, "Invalid URL (GET /v1/embeddings)"},
	} {
		if got := p.get(t.Context(), tc.path); got.status != tc.status || !strings.Contains(got.body, tc.part) {
			t.Errorf("GET %s: %d %s, want %d and %s", tc.path, got.status, got.body, tc.status, tc.part)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct {
		name, contentType string
		body              string
		status            int
	}{
		{"charset", "application/json; charset=utf-8", request(t, "say: x", false), 200},
		{"form", "application/x-www-form-urlencoded", request(t, "say: x", false), 415},
		{"no type", "", request(t, "say: x", false), 415},
		{"too large", "application/json", strings.Repeat(" ", 33<<20), 413},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if tc.contentType != "" {
			req.Header.Set("Content-Type", tc.contentType)
		}
		if got := p.do(req); got.status != tc.status {
			t.Errorf("%s: status %d, %v, want %d", tc.name, got.status, got.err, tc.status)
		}
	}
}

func TestClosedServerRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := p.ask("x"); got.status != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", got.status)
	}
}
