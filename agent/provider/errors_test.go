package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"telex/agent"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   agent.ErrorKind
	}{
		{400, `{"error":{"message":"bad"}}`, agent.BadRequest},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens"}}`, agent.ContextLength},
		{400, `{"error":{"message":"too big","code":"context_length_exceeded"}}`, agent.ContextLength},
		{400, `{"error":{"message":"no","code":"content_filter"}}`, agent.Filtered},
		{401, `{"error":{"message":"no"}}`, agent.Auth},
		{402, `{"error":{"message":"pay"}}`, agent.Quota},
		{403, `{"error":"no"}`, agent.Auth},
		{404, `{"error":{"message":"no such model"}}`, agent.BadRequest},
		{408, `{"error":{"message":"late"}}`, agent.Retryable},
		{413, `{"error":{"message":"too large"}}`, agent.BadImage},
		{400, `{"error":{"message":"You uploaded an unsupported image.","code":"invalid_image_format"}}`, agent.BadImage},
		{400, `{"error":{"message":"messages.0.content.1: Could not process image"}}`, agent.BadImage},
		{400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models."}}`, agent.BadRequest},
		{500, `{"error":{"message":"image input is not supported - hint: provide the mmproj"}}`, agent.BadRequest},
		{500, `{"error":{"message":"imagine that"}}`, agent.Retryable},
		{422, `{"error":{"message":"bad"}}`, agent.BadRequest},
		{400, `{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`, agent.NoTools},
		{404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs","code":404}}`, agent.NoTools},
		{400, "{\"object\":\"error\",\"message\":\"\\\"auto\\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set\"}", agent.NoTools},
		{500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, agent.NoTools},
		{400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\",\"type\":\"invalid_request_error\"}}", agent.NoTools},
		{400, `{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it"}}`, agent.NoTools},
		{400, `{"error":{"message":"deepseek-reasoner does not support Function Calling"}}`, agent.NoTools},
		{400, `{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","param":"tools","code":"unsupported_parameter"}}`, agent.NoTools},
		{400, `{"error":{"message":"Unsupported parameter: 'parallel_tool_calls'","param":"parallel_tool_calls"}}`, agent.BadRequest},
		{400, `{"error":{"message":"Invalid schema for function 'x': 'oneOf' is not permitted.","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`, agent.BadRequest},
		{400, `{"error":{"message":"Invalid 'tools[0].function.name': string does not match pattern.","param":"tools[0].function.name"}}`, agent.BadRequest},
		{400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages","param":"messages.[1].role"}}`, agent.BadRequest},
		{429, `{"error":{"message":"slow"}}`, agent.RateLimited},
		{429, `{"error":{"message":"broke","type":"insufficient_quota","code":"insufficient_quota"}}`, agent.Quota},
		{500, `{"error":{"message":"oops"}}`, agent.Retryable},
		{529, `{"error":{"message":"overloaded"}}`, agent.Retryable},
		{200, `{"error":{"message":"overloaded"}}`, agent.Retryable},
		{0, `{"error":{"message":"overloaded","code":"server_is_overloaded"}}`, agent.Retryable},
		{0, `{"error":{"message":"oh","code":"server_error"}}`, agent.BadRequest},
		{400, `{"error":{"message":"flagged","code":"invalid_prompt"}}`, agent.Filtered},
		{0, `{"error":{"message":"no","code":"image_content_policy_violation"}}`, agent.Filtered},
		{0, `{"error":{"message":"no","code":"unsupported_image_media_type"}}`, agent.BadImage},
	} {
		e := errorIn([]byte(tt.body))
		if e == nil {
			t.Fatalf("%s: no error found", tt.body)
		}
		if got := kindOf(tt.status, e); got != tt.want {
			t.Errorf("%d %s: got %s, want %s", tt.status, tt.body, got, tt.want)
		}
	}
}

func TestErrorForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, want string }{
		{`{"error":{"message":"a","type":"b","param":"c","code":"d"}}`, "a, type b, code d, param c"},
		{`{"error":{"message":"a","code":null,"param":null}}`, "a"},
		{`{"error":{"code":500}}`, "the provider gave no message, code 500"},
		{`{"error":["odd"]}`, `["odd"]`},
		{`{"error":""}`, ""},
		{`{"error":false}`, ""},
		{`{"choices":[]}`, ""},
	} {
		got := ""
		if e := errorIn([]byte(tt.body)); e != nil {
			got = e.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.body, got, tt.want)
		}
	}
	if got := excerpt([]byte(strings.Repeat("word \n", 100))); len(got) > 310 || !strings.HasSuffix(got, "…") || strings.Contains(got, "\n") {
		t.Errorf("excerpt %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ms, after string
		want      time.Duration
	}{
		{"", "", 0},
		{"", "7", 7 * time.Second},
		{"", "1.5", 1500 * time.Millisecond},
		{"250", "7", 250 * time.Millisecond},
		{"x", "7", 7 * time.Second},
		{"", "-3", 0},
		{"", "NaN", 0},
		{"", "1e300", 365 * 24 * time.Hour},
		{"", "soon", 0},
		{"", "Sat, 21 Nov 2026 10:00:30 GMT", 30 * time.Second},
		{"", "Sat, 21 Nov 2026 09:00:00 GMT", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After-Ms", tt.ms)
		h.Set("Retry-After", tt.after)
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("%q %q: got %v, want %v", tt.ms, tt.after, got, tt.want)
		}
	}
}

func TestTransportErrorsHideTheAddress(t *testing.T) {
	t.Parallel()
	r := redactor{secrets: []string{"sk-secret"}}
	err := r.transportError(agent.Retryable, &url.Error{Op: "Post", URL: "https://u:sk-secret@host/", Err: context.Canceled})
	if strings.Contains(err.Error(), "host") || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	err = r.transportError(agent.Broken, errors.New("bad header sk-secret"))
	if want := "broken: bad header [redacted]"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
