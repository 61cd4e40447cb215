package chatcompletions

import (
	"encoding/json"
	"errors"
	"testing"

	"telex/agent"
	"telex/agent/provider"
)

func TestConcede(t *testing.T) {
	t.Parallel()
	refuse := func(status int, message, param, code string) error {
		return &agent.ModelError{Kind: agent.BadRequest, Status: status, Err: &provider.APIError{Message: message, Param: param, Code: json.RawMessage(`"` + code + `"`)}}
	}
	for _, tt := range []struct {
		name   string
		err    error
		before shape
		stream bool
		want   shape
		ok     bool
	}{
		{"nothing wrong", nil, shape{}, true, shape{}, false},
		{"OpenAI refuses to stream", refuse(400, "Your organization must be verified to stream this model.", "stream", "unsupported_value"), shape{}, true, shape{noStreaming: true}, true},
		{"no streaming, in words", refuse(400, "Streaming is not supported for this model", "", ""), shape{}, true, shape{noStreaming: true}, true},
		{"no streaming, but it was not asked for", refuse(400, "Streaming is not supported for this model", "", ""), shape{}, false, shape{}, false},
		{"stream_options unknown", refuse(400, "Unrecognized request argument supplied: stream_options", "", ""), shape{}, true, shape{noUsageOption: true}, true},
		{"stream_options, FastAPI", refuse(422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, "", ""), shape{}, true, shape{noUsageOption: true}, true},
		{"max_completion_tokens unknown", refuse(400, "Unrecognized request argument supplied: max_completion_tokens", "", ""), shape{}, true, shape{oldMaxTokens: true}, true},
		{"max_tokens refused in turn", refuse(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), shape{oldMaxTokens: true}, false, shape{oldMaxTokens: true}, false},
		{"temperature", refuse(400, "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), shape{}, false, shape{noTemperature: true}, true},
		{"temperature again", refuse(400, "temperature is not supported", "", ""), shape{noTemperature: true}, true, shape{noTemperature: true}, false},
		{"reasoning is missed", refuse(400, "The reasoning_content in the thinking mode must be passed back to the API.", "", ""), shape{}, true, shape{replays: true}, true},
		{"a signature is missed", refuse(400, "Function call is missing a thought_signature in functionCall parts.", "", ""), shape{}, true, shape{extra: true}, true},
		{"reasoning is refused", refuse(400, "'messages.1' : for 'role:assistant' property 'reasoning_content' is unsupported", "", ""), shape{replays: true}, true, shape{replays: true, noReplays: true}, true},
		{"reasoning is refused for good", refuse(400, "property 'reasoning_content' is unsupported", "", ""), shape{replays: true, noReplays: true}, true, shape{replays: true, noReplays: true}, false},
		{"what came with calls is refused", refuse(400, "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.", "", ""), shape{extra: true}, true, shape{extra: true, noExtra: true}, true},
		{"its reasoning is refused", refuse(400, "Unrecognized request argument supplied: reasoning_details", "", ""), shape{extra: true}, true, shape{extra: true, noDetails: true}, true},
		{"a value out of range", refuse(400, "max_completion_tokens is too large: 100000", "max_completion_tokens", "invalid_value"), shape{}, true, shape{}, false},
		{"another parameter", refuse(400, "Unsupported parameter: messages", "messages", ""), shape{}, true, shape{}, false},
		{"another status", refuse(500, "Unsupported parameter: stream_options", "", ""), shape{}, true, shape{}, false},
		{"another error", &agent.ModelError{Kind: agent.BadRequest, Status: 400, Err: errors.New("unsupported stream")}, shape{}, true, shape{}, false},
	} {
		got, ok := concede(tt.err, tt.before, tt.stream)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// What either turn learned is known from then on.
func TestShapesJoin(t *testing.T) {
	t.Parallel()
	each := []shape{
		{noStreaming: true},
		{noUsageOption: true},
		{oldMaxTokens: true},
		{noTemperature: true},
		{replays: true},
		{extra: true},
		{noReplays: true},
		{noExtra: true},
		{noDetails: true},
	}
	all := shape{
		noStreaming: true, noUsageOption: true, oldMaxTokens: true, noTemperature: true,
		replays: true, extra: true, noReplays: true, noExtra: true, noDetails: true,
	}
	var left, right shape
	for _, s := range each {
		if s.join(shape{}) != s || (shape{}).join(s) != s {
			t.Errorf("%+v is lost", s)
		}
		left, right = left.join(s), s.join(right)
	}
	if left != all || right != all {
		t.Errorf("got %+v and %+v", left, right)
	}
}
