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

func TestKindsOfErrors(t *testing.T) {
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
		{403, `{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403}}`, agent.Filtered},
		{403, `{"error":{"message":"No.","code":403,"metadata":{"reasons":["violence"],"flagged_input":"x"}}}`, agent.Filtered},
		{403, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Team: x"}`, agent.Filtered},
		{403, `{"error":{"message":"Request blocked: prompt injection patterns detected","code":403}}`, agent.Filtered},
		{403, `{"error":"Your team x has either used all available credits or reached its monthly spending limit."}`, agent.Quota},
		{429, `{"error":"Your team x has either used all available credits or reached its monthly spending limit."}`, agent.Quota},
		{403, `{"error":{"message":"Key limit exceeded (total limit).","code":403}}`, agent.Quota},
		{400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, agent.Quota},
		{403, `{"error":{"message":"The caller does not have permission","status":"PERMISSION_DENIED","code":403}}`, agent.Auth},
		{403, `{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}`, agent.Auth},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34s.","code":429}}`, agent.RateLimited},
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

// The error texts in this test come from real providers.
func TestKindsOfErrors_tooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   agent.ErrorKind
		limit  int
	}{
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","code":"context_length_exceeded"}}`, agent.ContextLength, 8192},
		{400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, agent.ContextLength, 0},
		{400, `[{"error":{"code":400,"message":"The input token count (1054016) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, agent.ContextLength, 1048576},
		{400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`, agent.ContextLength, 131072},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, agent.ContextLength, 200000},
		{400, "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again\"}}", agent.ContextLength, 200000},
		{400, `{"error":{"message":"Input is too long for requested model."}}`, agent.ContextLength, 0},
		{400, `{"error":{"message":"The model returned the following errors: Input is too long for requested model."}}`, agent.ContextLength, 0},
		{400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, agent.ContextLength, 0},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, agent.ContextLength, 4096},
		{400, `{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","object":"error"}`, agent.ContextLength, 32768},
		{422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens\"}", agent.ContextLength, 2048},
		{403, `{"error":{"message":"This endpoint's maximum context length is 1,000 tokens."}}`, agent.ContextLength, 1000},
		{413, "{\"error\":{\"message\":\"Request too large for model `llama-3.3-70b-versatile` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade at https://console.groq.com/settings/billing\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", agent.TooLarge, 12000},
		{429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, agent.TooLarge, 30000},
		{429, `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","code":"rate_limit_exceeded"}}`, agent.RateLimited, 0},
	} {
		e := errorIn([]byte(tt.body))
		if e == nil {
			e = &APIError{Message: excerpt([]byte(tt.body))}
		}
		if got := (redactor{}).statusError(tt.status, 0, e); got.Kind != tt.want || got.Limit != tt.limit {
			t.Errorf("%d %s: got %s, limit %d; want %s, limit %d", tt.status, tt.body, got.Kind, got.Limit, tt.want, tt.limit)
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
