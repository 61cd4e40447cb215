package chatcompletions

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
)

// shape is how a request must look for this provider. It begins with the API as OpenAI
// documents it and loses what the provider refuses, one thing at a time and for good.
type shape struct {
	noStreaming   bool
	noUsageOption bool // stream_options is refused: old servers
	oldMaxTokens  bool // max_tokens instead of max_completion_tokens
	noTemperature bool // reasoning models take only their default
	// replays is for the thinking before calls, extra for what else came with them: a provider that sends
	// it wants it back with them (DeepSeek, Gemini), another one does not know the fields.
	replays, extra     bool
	noReplays, noExtra bool // they are refused after all
}

// newRequest builds what is asked: go-openai's part of it, and the fields that it can't be
// trusted with. It drops a temperature of 0, and it refuses temperature and max_tokens for
// models whose names begin like OpenAI's, whoever's models they are.
func (o *Options) newRequest(r agent.Request, s shape, stream bool) (req openai.ChatCompletionRequest, fields map[string]any) {
	req = openai.ChatCompletionRequest{Model: o.Model, Stream: stream}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: parameters(t.Parameters),
		}})
	}
	if stream && !s.noUsageOption {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	fields = map[string]any{"messages": newMessages(r, s)}
	most := o.MaxOutputTokens
	if r.MaxOutput > 0 && (most == 0 || r.MaxOutput < most) {
		most = r.MaxOutput
	}
	switch {
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

// refusal matches how servers say that they don't know or don't take a parameter. A value that
// is merely out of range is not meant.
var refusal = regexp.MustCompile(`(?i)unsupported|support|unrecogni[sz]ed|unknown|unexpected|\bextra\b|` +
	`not (permitted|allowed|available)|forbidden|must be false|must be verified|only the default`)

// streaming matches a message about streaming, and none about an upstream.
var streaming = regexp.MustCompile(`(?i)\bstream(ing|ed|s)?\b`)

// concede returns the shape without what the provider has just refused; ok says whether there
// is something to concede. As shapes only lose things, asking again in the new shape ends.
func concede(err error, s shape, stream bool) (next shape, ok bool) {
	me, isModel := errors.AsType[*agent.ModelError](err)
	if !isModel || me.Status != http.StatusBadRequest && me.Status != http.StatusUnprocessableEntity {
		return s, false
	}
	e, isAPI := errors.AsType[*apiError](err)
	if !isAPI {
		return s, false
	}
	if next, ok := missing(e, s); ok {
		return next, true
	}
	if !refusal.MatchString(e.Message) && !strings.HasPrefix(e.code(), "unsupported") {
		return s, false
	}
	refused := func(param string) bool {
		return e.Param == param || e.Param == "" && strings.Contains(e.Message, param)
	}
	// The longer names first: they hold the shorter ones.
	switch {
	case stream && !s.noUsageOption && (refused("stream_options") || refused("include_usage")):
		s.noUsageOption = true
	case !s.oldMaxTokens && refused("max_completion_tokens"):
		s.oldMaxTokens = true
	case !s.noTemperature && refused("temperature"):
		s.noTemperature = true
	case s.replays && !s.noReplays && strings.Contains(e.Param+e.Message, "reasoning_content"):
		s.noReplays = true
	case s.extra && !s.noExtra && strings.Contains(e.Param+e.Message, "extra_content"):
		s.noExtra = true
	case stream && (e.Param == "stream" || e.Param == "" && streaming.MatchString(e.Message)):
		s.noStreaming = true
	default:
		return s, false
	}
	return s, true
}

// missing returns the shape with what the provider has just missed. It is known once a provider has
// sent it; but the history may be older than this process.
func missing(e *apiError, s shape) (next shape, ok bool) {
	switch {
	case !s.replays && strings.Contains(e.Param+e.Message, "reasoning_content"):
		s.replays = true
	case !s.extra && thoughtSignature.MatchString(e.Message):
		s.extra = true
	default:
		return s, false
	}
	return s, true
}

var thoughtSignature = regexp.MustCompile(`(?i)thought.?signature`)
