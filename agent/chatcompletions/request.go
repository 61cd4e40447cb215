package chatcompletions

import (
	"regexp"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// shape says which form the requests to this provider must have. The first request follows OpenAI's documentation. Each time
// the provider refuses a part of a request, the shape leaves out this part for ten minutes.
type shape = provider.Shape

const (
	noUsageOption shape = provider.FirstOwn << iota // old servers refuse stream_options
	oldMaxTokens                                    // requests contain max_tokens instead of max_completion_tokens
	// wantsReasoning says that the provider wants back the reasoning that preceded tool calls. wantsExtra says that the provider
	// wants back other data that came with tool calls. Providers that send such data need it back (DeepSeek, Gemini, OpenRouter).
	// Other providers do not know the fields in which telex sends such data back.
	wantsReasoning
	wantsExtra
	// Each of these bits says that the provider refuses a field in requests, although the provider itself sent the field before.
	noReasoning
	noExtra
	noDetails

	noStreaming   = provider.NoStreaming
	noTemperature = provider.NoTemperature
)

// newRequest returns go-openai's part of a request, and the fields that go-openai can't encode correctly. go-openai drops a
// temperature of 0. go-openai also refuses temperature and max_tokens for models whose names begin like OpenAI's, even if
// another provider serves them.
func newRequest(o *Options, r agent.Request, s shape) (req openai.ChatCompletionRequest, fields map[string]any) {
	req = openai.ChatCompletionRequest{Model: o.Model, Stream: !s.Has(noStreaming)}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: provider.Parameters(t),
		}})
	}
	if !s.Has(noStreaming | noUsageOption) {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	fields = map[string]any{"messages": newMessages(r, o.Model, s)}
	switch most := o.MaxOutput(r); {
	case most == 0:
	case s.Has(oldMaxTokens):
		fields["max_tokens"] = most
	default:
		fields["max_completion_tokens"] = most
	}
	addParams(fields, r)
	if s.Has(noTemperature) {
		delete(fields, "temperature")
	} else if _, wanted := fields["temperature"]; !wanted && o.Temperature != nil {
		fields["temperature"] = *o.Temperature
	}
	return req, fields
}

// addParams adds the caller's parameters (https://platform.openai.com/docs/api-reference/chat/create).
func addParams(fields map[string]any, r agent.Request) {
	p := r.Params
	provider.AddFloat(fields, "temperature", p.Temperature)
	provider.AddFloat(fields, "top_p", p.TopP)
	provider.AddFloat(fields, "frequency_penalty", p.FrequencyPenalty)
	provider.AddFloat(fields, "presence_penalty", p.PresencePenalty)
	if p.Seed != nil {
		fields["seed"] = *p.Seed
	}
	if len(p.Stop) > 0 {
		fields["stop"] = p.Stop
	}
	if len(p.Format) > 0 {
		fields["response_format"] = p.Format
	}
	if p.Effort != "" {
		fields["reasoning_effort"] = p.Effort
	}
	if p.ParallelToolCalls != nil {
		fields["parallel_tool_calls"] = *p.ParallelToolCalls
	}
	switch {
	case p.MustCallName != "":
		fields["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": p.MustCallName}}
	case p.MustCall:
		fields["tool_choice"] = "required"
	}
}

// adapt returns a shape that does what the provider has just demanded: it leaves out the refused part, or adds the missing
// part. ok is false if there is no such part. Each new shape has one more bit, so a refused request is repeated only a limited
// number of times.
func adapt(err error, s shape) (next shape, ok bool) {
	said := provider.RejectionIn(err)
	switch {
	// The provider requires reasoning that it sent to an earlier process. The current process did not receive the reasoning, so
	// wantsReasoning is not set yet.
	case !s.Has(wantsReasoning) && said.Names("reasoning_content"):
		s |= wantsReasoning
	case !s.Has(wantsExtra) && said.Matches(thoughtSignature):
		s |= wantsExtra
	// Check longer parameter names first, because they contain the shorter ones.
	case !s.Has(noStreaming|noUsageOption) && said.Refuses("stream_options", "include_usage"):
		s |= noUsageOption
	case !s.Has(oldMaxTokens) && said.Refuses("max_completion_tokens"):
		s |= oldMaxTokens
	case !s.Has(noTemperature) && said.Refuses("temperature"):
		s |= noTemperature
	case !said.Refusal:
		return s, false
	case s.Has(wantsReasoning) && !s.Has(noReasoning) && said.Names("reasoning_content"):
		s |= noReasoning
	case s.Has(wantsExtra) && !s.Has(noExtra) && said.Names("extra_content"):
		s |= noExtra
	case s.Has(wantsExtra) && !s.Has(noDetails) && said.Names("reasoning_details"):
		s |= noDetails
	case !s.Has(noStreaming) && said.RefusesStreaming():
		s |= noStreaming
	default:
		return s, false
	}
	return s, true
}

var thoughtSignature = regexp.MustCompile(`(?i)thought.?signature`)
