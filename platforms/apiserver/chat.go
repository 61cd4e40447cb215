package apiserver

import (
	"encoding/json"
	"fmt"

	"telex/agent"
)

// chatAPI is the Chat Completions API (https://platform.openai.com/docs/api-reference/chat).
type chatAPI struct{}

// chatRequest is the body of a request to the Chat Completions API.
type chatRequest struct {
	sampling
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	FrequencyPenalty    *float64        `json:"frequency_penalty"`
	PresencePenalty     *float64        `json:"presence_penalty"`
	Stop                stopWords       `json:"stop"`
	Seed                *int64          `json:"seed"`
	N                   *int            `json:"n"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	Tools               []chatTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Functions           json.RawMessage `json:"functions"`
	User                string          `json:"user"`
}

type chatMessage struct {
	Role             string     `json:"role"`
	Content          parts      `json:"content"`
	Name             string     `json:"name"`
	ToolCalls        []chatCall `json:"tool_calls"`
	ToolCallID       string     `json:"tool_call_id"`
	ReasoningContent string     `json:"reasoning_content"`
}

// chatCall is a tool call in a message of a request, in a complete answer, or in a chunk of a stream. Only a tool call
// in a chunk has an index.
type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// stopWords are the texts at which the model stops. In JSON, the field stop contains one string or a list of strings.
type stopWords []string

// UnmarshalJSON accepts a string, a list of strings, or null.
func (s *stopWords) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*s = make(stopWords, 1)
		return json.Unmarshal(data, &(*s)[0])
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// decode implements api.
func (chatAPI) decode(body []byte) (*query, *apiError) {
	var r chatRequest
	if err := decodeJSON(body, &r); err != nil {
		return nil, err
	}
	q := &query{model: r.Model, stream: r.Stream, usage: r.StreamOptions.IncludeUsage, user: r.User}
	switch {
	case len(r.Messages) == 0:
		return nil, badRequest("messages", "Invalid value for messages: want at least one message.")
	case r.N != nil && *r.N != 1:
		return nil, badRequest("n", "Invalid value for n: only 1 is supported.")
	case len(r.Functions) > 0 && string(r.Functions) != "null":
		return nil, badRequest("functions", "functions is not supported: send tools.")
	case len(r.Stop) > maxStop:
		return nil, badRequest("stop", "Invalid value for stop: at most %d texts are supported.", maxStop)
	}
	for i, m := range r.Messages {
		if err := q.addMessage(m, fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, err
		}
	}
	for i, t := range r.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return nil, badRequest(at+".type", "Invalid value: %q. Only tools of type function are supported.", clip(t.Type))
		}
		if err := q.addTool(t.Function, at+".function"); err != nil {
			return nil, err
		}
	}
	return q, q.setChatParams(r)
}

// setChatParams sets the parameters with which the model writes the answer.
func (q *query) setChatParams(r chatRequest) *apiError {
	if err := r.set(&q.params); err != nil {
		return err
	}
	if err := q.setMaxTokens("max_tokens", r.MaxTokens); err != nil {
		return err
	}
	if err := q.setMaxTokens("max_completion_tokens", r.MaxCompletionTokens); err != nil {
		return err
	}
	q.params.FrequencyPenalty, q.params.PresencePenalty = r.FrequencyPenalty, r.PresencePenalty
	q.params.Seed, q.params.Stop, q.params.Effort = r.Seed, r.Stop, r.ReasoningEffort
	var format struct {
		Type string `json:"type"`
	}
	if len(r.ResponseFormat) > 0 && string(r.ResponseFormat) != "null" {
		if json.Unmarshal(r.ResponseFormat, &format) != nil {
			return badRequest("response_format", "Invalid type for response_format: want an object.")
		}
		if format.Type != "text" { // the default
			q.params.Format = r.ResponseFormat
		}
	}
	return q.chooseTool(r.ToolChoice, true)
}

// addMessage adds a message to the query.
func (q *query) addMessage(m chatMessage, param string) *apiError {
	switch m.Role {
	case "user":
		message, err := userMessage(m.Content, param+".content")
		if err != nil {
			return err
		}
		if m.Name != "" {
			message.Name = agent.SafeName(m.Name)
		}
		q.messages = append(q.messages, message)
		return nil
	case "system", "developer", "assistant", "tool":
	default:
		return badRequest(param+".role", "Invalid value: %q. Supported values are: system, developer, user, assistant and tool.", clip(m.Role))
	}
	text, err := m.Content.text(param + ".content")
	if err != nil {
		return err
	}
	switch m.Role {
	case "assistant":
		message := agent.Message{Role: agent.Assistant, Text: text, Reasoning: m.ReasoningContent}
		for i, c := range m.ToolCalls {
			if c.ID == "" || c.Function.Name == "" {
				return badRequest(fmt.Sprintf("%s.tool_calls[%d]", param, i), "A tool call needs an id and a function with a name.")
			}
			message.ToolCalls = append(message.ToolCalls, agent.ToolCall{ID: c.ID, Name: agent.SafeName(c.Function.Name), Arguments: c.Function.Arguments})
		}
		q.messages = append(q.messages, message)
	case "tool":
		if m.ToolCallID == "" {
			return badRequest(param+".tool_call_id", "Missing required parameter: %s.tool_call_id.", param)
		}
		q.messages = append(q.messages, toolResult(m.ToolCallID, text))
	default:
		q.addContext(text)
	}
	return nil
}

// toolResult returns a message with the result of a client's tool. The returned message names no source of its text, so
// telex treats the text as outside content.
func toolResult(call, text string) agent.Message {
	return agent.Message{Role: agent.ToolRole, ToolCallID: call, Text: text}
}

// completion is the response to a request without streaming: the whole answer in one JSON document.
type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   chatUsage          `json:"usage"`
}

type completionChoice struct {
	Index        int        `json:"index"`
	Message      chatAnswer `json:"message"`
	LogProbs     *struct{}  `json:"logprobs"`
	FinishReason string     `json:"finish_reason"`
}

type chatAnswer struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	Refusal          *string    `json:"refusal"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newChatUsage(u agent.Usage) (out chatUsage) {
	out.Prompt, out.Completion, out.Total = u.Prompt, u.Completion, u.Prompt+u.Completion
	out.PromptDetails.Cached, out.CompletionDetails.Reasoning = u.Cached, u.Reasoning
	return out
}

// finishReason converts the reason for which the model stopped to a finish_reason of the Chat Completions API.
func finishReason(stop agent.StopReason) string {
	switch stop {
	case agent.StopClientCalls:
		return "tool_calls"
	case agent.StopLength:
		return "length"
	case agent.StopFiltered:
		return "content_filter"
	default:
		return "stop"
	}
}

// document implements api.
func (chatAPI) document(h answerHead, a *answer, o outcome) any {
	said := chatAnswer{Role: "assistant", ReasoningContent: a.textOf(reasoningItem), Refusal: nullable(o.refusal)}
	if text := a.textOf(textItem); text != "" || !a.has(callItem) && o.refusal == "" {
		said.Content = &text
	}
	for _, it := range a.items {
		if it.kind == callItem {
			said.ToolCalls = append(said.ToolCalls, newChatCall(nil, it.id, it.name, it.text.String()))
		}
	}
	return completion{
		ID: h.id, Object: "chat.completion", Created: h.created.Unix(), Model: h.query.model, Usage: newChatUsage(o.usage),
		Choices: []completionChoice{{Message: said, FinishReason: finishReason(o.stop)}},
	}
}

func newChatCall(index *int, id, name, arguments string) (c chatCall) {
	c.Index, c.ID = index, id
	if name != "" {
		c.Type = "function"
	}
	c.Function.Name, c.Function.Arguments = name, arguments
	return c
}

// newID implements api.
func (chatAPI) newID() string { return newID("chatcmpl-") }

// stream implements api.
func (chatAPI) stream(h answerHead, out *reply, _ *answer) streamer {
	return &chatStream{answerHead: h, out: out, index: make(map[string]int)}
}
