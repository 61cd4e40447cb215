package chatcompletions

import (
	"encoding/json"
	"errors"
	"testing"

	"telex/agent"
	"telex/agent/provider"
)

func TestLeaveOutRefusedFeature(t *testing.T) {
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
		{"nothing wrong", nil, 0, true, 0, false},
		{"OpenAI refuses to stream", refuse(400, "Your organization must be verified to stream this model.", "stream", "unsupported_value"), 0, true, noStreaming, true},
		{"no streaming, in words", refuse(400, "Streaming is not supported for this model", "", ""), 0, true, noStreaming, true},
		{"no streaming, but it was not asked for", refuse(400, "Streaming is not supported for this model", "", ""), 0, false, 0, false},
		{"stream_options unknown", refuse(400, "Unrecognized request argument supplied: stream_options", "", ""), 0, true, noUsageOption, true},
		{"stream_options, FastAPI", refuse(422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, "", ""), 0, true, noUsageOption, true},
		{"max_completion_tokens unknown", refuse(400, "Unrecognized request argument supplied: max_completion_tokens", "", ""), 0, true, oldMaxTokens, true},
		{"max_tokens refused in turn", refuse(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), oldMaxTokens, false, oldMaxTokens, false},
		{"temperature", refuse(400, "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), 0, false, noTemperature, true},
		{"temperature again", refuse(400, "temperature is not supported", "", ""), noTemperature, true, noTemperature, false},
		{"reasoning is missed", refuse(400, "The reasoning_content in the thinking mode must be passed back to the API.", "", ""), 0, true, wantsReasoning, true},
		{"a signature is missed", refuse(400, "Function call is missing a thought_signature in functionCall parts.", "", ""), 0, true, wantsExtra, true},
		{"reasoning is refused", refuse(400, "'messages.1' : for 'role:assistant' property 'reasoning_content' is unsupported", "", ""), wantsReasoning, true, wantsReasoning | noReasoning, true},
		{"reasoning is refused for good", refuse(400, "property 'reasoning_content' is unsupported", "", ""), wantsReasoning | noReasoning, true, wantsReasoning | noReasoning, false},
		{"what came with calls is refused", refuse(400, "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.", "", ""), wantsExtra, true, wantsExtra | noExtra, true},
		{"its reasoning is refused", refuse(400, "Unrecognized request argument supplied: reasoning_details", "", ""), wantsExtra, true, wantsExtra | noDetails, true},
		{"a value out of range", refuse(400, "max_completion_tokens is too large: 100000", "max_completion_tokens", "invalid_value"), 0, true, 0, false},
		{"another parameter", refuse(400, "Unsupported parameter: messages", "messages", ""), 0, true, 0, false},
		{"another status", refuse(500, "Unsupported parameter: stream_options", "", ""), 0, true, 0, false},
		{"another error", &agent.ModelError{Kind: agent.BadRequest, Status: 400, Err: errors.New("unsupported stream")}, 0, true, 0, false},
	} {
		if !tt.stream {
			tt.before, tt.want = tt.before|noStreaming, tt.want|noStreaming
		}
		got, ok := adapt(tt.err, tt.before)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
