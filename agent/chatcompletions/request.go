package chatcompletions

import (
	"encoding/base64"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// shape is how a request must look for this provider. It begins with the API as OpenAI
// documents it and loses what the provider refuses, one thing at a time and for good.
type shape struct {
	noStreaming   bool
	noUsageOption bool // stream_options is refused: old servers
	oldMaxTokens  bool // max_tokens instead of max_completion_tokens
	noTemperature bool // reasoning models take only their default
}

// newRequest builds what is asked: go-openai's part of it, and the fields that it can't be
// trusted with. It drops a temperature of 0, and it refuses temperature and max_tokens for
// models whose names begin like OpenAI's, whoever's models they are.
func newRequest(o *Options, r agent.Request, s shape, stream bool) (req openai.ChatCompletionRequest, fields map[string]any) {
	req = openai.ChatCompletionRequest{Model: o.Model, Messages: newMessages(r), Stream: stream}
	if stream && !s.noUsageOption {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	fields = make(map[string]any)
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

func newMessages(r agent.Request) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		msg := openai.ChatCompletionMessage{
			Role:       string(m.Role),
			Name:       m.Name,
			ToolCallID: m.ToolCallID,
		}
		for _, c := range m.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
			})
		}
		setContent(&msg, m)
		switch {
		case m.Text != "" || len(m.Images) > 0 || len(msg.ToolCalls) > 0:
		case m.Role == agent.ToolRole:
			msg.Content = "(no output)" // go-openai drops an empty content, and then it is refused
		default:
			continue // an empty message says nothing, and providers refuse it
		}
		out = append(out, msg)
	}
	return out
}

// setContent sets the content: the plain text, which every server takes, or parts where there
// are images. They travel inside the request: a provider can't fetch what chats hold.
func setContent(msg *openai.ChatCompletionMessage, m agent.Message) {
	if len(m.Images) == 0 {
		msg.Content = m.Text
		return
	}
	if m.Text != "" {
		msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Text})
	}
	for _, image := range m.Images {
		msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{
			Type:     openai.ChatMessagePartTypeImageURL,
			ImageURL: &openai.ChatMessageImageURL{URL: "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)},
		})
	}
}

// join returns the shape without what s or other lacks.
func (s shape) join(other shape) shape {
	return shape{
		noStreaming:   s.noStreaming || other.noStreaming,
		noUsageOption: s.noUsageOption || other.noUsageOption,
		oldMaxTokens:  s.oldMaxTokens || other.oldMaxTokens,
		noTemperature: s.noTemperature || other.noTemperature,
	}
}

// concede returns the shape without what the provider has just refused; ok says whether there
// is something to concede. As shapes only lose things, asking again in the new shape ends.
func concede(err error, s shape, stream bool) (next shape, ok bool) {
	refused, ok := provider.RefusalIn(err)
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
	case stream && refused.OfStreaming():
		s.noStreaming = true
	default:
		return s, false
	}
	return s, true
}
