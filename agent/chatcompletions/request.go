package chatcompletions

import (
	"encoding/json"
	"regexp"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// shape is how a request must look for this provider. It begins with the API as OpenAI
// documents it and loses what the provider refuses, one thing at a time, for ten minutes.
type shape struct {
	noStreaming   bool
	noUsageOption bool // stream_options is refused: old servers
	oldMaxTokens  bool // max_tokens instead of max_completion_tokens
	noTemperature bool // reasoning models take only their default
	// replays is for the thinking before calls, extra for what else came with them: a provider that sends
	// it wants it back with them (DeepSeek, Gemini, OpenRouter), another one does not know the fields.
	replays, extra                bool
	noReplays, noExtra, noDetails bool // they are refused after all
}

// newRequest builds what is asked: go-openai's part of it, and the fields that it can't be
// trusted with. It drops a temperature of 0, and it refuses temperature and max_tokens for
// models whose names begin like OpenAI's, whoever's models they are.
func newRequest(o *Options, r agent.Request, s shape, stream bool) (req openai.ChatCompletionRequest, fields map[string]any) {
	req = openai.ChatCompletionRequest{Model: o.Model, Stream: stream}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: parameters(t.Parameters),
		}})
	}
	if stream && !s.noUsageOption {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	fields = map[string]any{"messages": newMessages(r, o.Model, s)}
	switch most := o.MostOutput(r); {
	case most == 0:
	case s.oldMaxTokens:
		fields["max_tokens"] = most
	default:
		fields["max_completion_tokens"] = most
	}
	if o.Temperature != nil && !s.noTemperature {
		fields["temperature"] = *o.Temperature
	}
	return req, fields
}

// parameters returns a tool's schema; a tool without one takes an empty object.
func parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}

// join returns the shape that has learned what either did.
func (s shape) join(other shape) shape {
	return shape{
		noStreaming:   s.noStreaming || other.noStreaming,
		noUsageOption: s.noUsageOption || other.noUsageOption,
		oldMaxTokens:  s.oldMaxTokens || other.oldMaxTokens,
		noTemperature: s.noTemperature || other.noTemperature,
		replays:       s.replays || other.replays,
		extra:         s.extra || other.extra,
		noReplays:     s.noReplays || other.noReplays,
		noExtra:       s.noExtra || other.noExtra,
		noDetails:     s.noDetails || other.noDetails,
	}
}

// concede returns the shape without what the provider has just refused; ok says whether there
// is something to concede. As shapes only lose things, asking again in the new shape ends.
func concede(err error, s shape, stream bool) (next shape, ok bool) {
	said, ok := provider.RejectionIn(err)
	if !ok {
		return s, false
	}
	if next, ok := missing(said, s); ok {
		return next, true
	}
	refused, ok := said.Refusal()
	if !ok {
		return s, false
	}
	// The longer names first: they hold the shorter ones.
	switch {
	case stream && !s.noUsageOption && (refused.Of("stream_options") || refused.Of("include_usage")):
		s.noUsageOption = true
	case !s.oldMaxTokens && refused.Of("max_completion_tokens"):
		s.oldMaxTokens = true
	case !s.noTemperature && refused.Of("temperature"):
		s.noTemperature = true
	case s.replays && !s.noReplays && said.Names("reasoning_content"):
		s.noReplays = true
	case s.extra && !s.noExtra && said.Names("extra_content"):
		s.noExtra = true
	case s.extra && !s.noDetails && said.Names("reasoning_details"):
		s.noDetails = true
	case stream && refused.OfStreaming():
		s.noStreaming = true
	default:
		return s, false
	}
	return s, true
}

// missing returns the shape with what the provider has just missed. It is known once a provider has
// sent it; but the history may be older than this process.
func missing(said provider.Rejection, s shape) (next shape, ok bool) {
	switch {
	case !s.replays && said.Names("reasoning_content"):
		s.replays = true
	case !s.extra && said.Matches(thoughtSignature):
		s.extra = true
	default:
		return s, false
	}
	return s, true
}

var thoughtSignature = regexp.MustCompile(`(?i)thought.?signature`)
