package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
)

// responsesAPI is the Responses API (https://platform.openai.com/docs/api-reference/responses).
type responsesAPI struct{}

// responsesRequest is the body of a request to the Responses API.
type responsesRequest struct {
	sampling
	echo
	Input           input           `json:"input"`
	Stream          bool            `json:"stream"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Background      bool            `json:"background"`
	Conversation    json.RawMessage `json:"conversation"`
	Store           *bool           `json:"store"`
}

// echo holds those fields of a request that the response must repeat.
type echo struct {
	Model        string            `json:"model"`
	Instructions *string           `json:"instructions"`
	Metadata     map[string]string `json:"metadata"`
	Previous     *string           `json:"previous_response_id"`
	Tools        []json.RawMessage `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	User         string            `json:"user,omitempty"`
	Reasoning    reasoningConfig   `json:"reasoning"`
	Text         textConfig        `json:"text"`
}

type textConfig struct {
	Format    json.RawMessage `json:"format"`
	Verbosity *string         `json:"verbosity,omitempty"`
}

type reasoningConfig struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// input is the input of a request. In JSON, the input of a request is one string or a list of items.
type input []inputItem

// UnmarshalJSON accepts a string, null, or a list of items.
func (in *input) UnmarshalJSON(data []byte) error {
	*in = nil
	switch data[0] {
	case 'n':
		return nil
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*in = input{{Role: "user", Content: parts{{Type: "input_text", Text: text}}}}
		return nil
	case '[':
		return json.Unmarshal(data, (*[]inputItem)(in))
	}
	return badRequest("input", "Invalid type for input: want a string or a list of items.")
}

// inputItem is a message, a tool call, or the output of a tool call.
type inputItem struct {
	Type      string `json:"type"`
	Role      string `json:"role"`
	Content   parts  `json:"content"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Input     string `json:"input"`
	Output    parts  `json:"output"`
}

// decode implements api.
func (responsesAPI) decode(body []byte) (*query, *apiError) {
	var r responsesRequest
	if err := decodeJSON(body, &r); err != nil {
		return nil, err
	}
	q := &query{model: r.Model, stream: r.Stream, user: r.User, echoed: r.echo, store: r.Store == nil || *r.Store}
	if r.Previous != nil {
		q.previous = *r.Previous
	}
	switch {
	case len(r.Input) == 0 && (r.Instructions == nil || *r.Instructions == ""):
		return nil, badRequest("input", "Missing required parameter: input.")
	case r.Background:
		return nil, badRequest("background", "background is not supported.")
	case len(r.Conversation) > 0 && string(r.Conversation) != "null":
		return nil, badRequest("conversation", "conversation is not supported: use previous_response_id, or the header X-Telex-Session.")
	}
	if r.Instructions != nil {
		q.instructions = *r.Instructions
	}
	for i, it := range r.Input {
		if err := q.addItem(it, fmt.Sprintf("input[%d]", i)); err != nil {
			return nil, err
		}
	}
	left, err := q.addResponseTools(r.Tools)
	if err != nil {
		return nil, err
	}
	if err := r.set(&q.params); err != nil {
		return nil, err
	}
	if err := q.setMaxTokens("max_output_tokens", r.MaxOutputTokens); err != nil {
		return nil, err
	}
	if r.Reasoning.Effort != nil {
		q.params.Effort = *r.Reasoning.Effort
	}
	if q.params.Format, err = chatFormat(r.Text.Format); err != nil {
		return nil, err
	}
	return q, q.chooseTool(r.ToolChoice, !left)
}

// addResponseTools adds the tools of type function to the query. addResponseTools omits tools that OpenAI itself runs,
// such as web_search, because telex can't run such tools. Omitting a tool is not an error, because some clients always
// offer these tools. The result left says whether addResponseTools has omitted any tool.
func (q *query) addResponseTools(tools []json.RawMessage) (left bool, _ *apiError) {
	for i, raw := range tools {
		var t struct {
			Type string `json:"type"`
			function
		}
		at := fmt.Sprintf("tools[%d]", i)
		if json.Unmarshal(raw, &t) != nil {
			return left, badRequest(at, "Invalid type for %s.", at)
		}
		if t.Type != "function" {
			left = true
			continue
		}
		if err := q.addTool(t.function, at); err != nil {
			return left, err
		}
	}
	return left, nil
}

// chatFormat converts a text.format of the Responses API to a response_format of Chat Completions, in which the schema
// is a nested object.
func chatFormat(format json.RawMessage) (json.RawMessage, *apiError) {
	if len(format) == 0 || string(format) == "null" {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	var kind string
	if json.Unmarshal(format, &fields) != nil || json.Unmarshal(fields["type"], &kind) != nil {
		return nil, badRequest("text.format", "Invalid type for text.format: want an object with a type.")
	}
	switch kind {
	case "text":
		return nil, nil
	case "json_schema":
		delete(fields, "type")
		out, err := json.Marshal(struct {
			Type   string                     `json:"type"`
			Schema map[string]json.RawMessage `json:"json_schema"`
		}{kind, fields})
		if err != nil {
			panic(fmt.Errorf("encode a schema: %w", err)) // can't fail: fields were decoded from JSON
		}
		return out, nil
	}
	return format, nil
}

// addItem adds an item of the input to the query.
func (q *query) addItem(it inputItem, param string) *apiError {
	switch {
	case it.Type == "function_call_output" || it.Type == "custom_tool_call_output":
		if it.CallID == "" {
			return badRequest(param+".call_id", "Missing required parameter: %s.call_id.", param)
		}
		message, err := userMessage(it.Output, param+".output")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(message.Images, func(i agent.Image) bool { return i.URL != "" }) { // the asker did not type the URL
			return badRequest(param+".output", "Invalid image in an output: send it as a data URL with base64 data.")
		}
		result := toolResult(it.CallID, message.Text)
		result.Images, result.Files = message.Images, message.Files
		q.messages = append(q.messages, result)
	case it.Type == "function_call" || it.Type == "custom_tool_call":
		if it.CallID == "" || it.Name == "" {
			return badRequest(param, "A function_call needs a call_id and a name.")
		}
		call := agent.ToolCall{ID: it.CallID, Name: agent.SafeName(it.Name), Arguments: it.Arguments}
		if it.Type == "custom_tool_call" {
			input, err := json.Marshal(map[string]string{"input": it.Input})
			if err != nil {
				panic(fmt.Errorf("encode a text: %w", err)) // can't fail: JSON can encode any text
			}
			call.Arguments = string(input)
		}
		if n := len(q.messages); n > 0 && q.messages[n-1].Role == agent.Assistant { // the call belongs to this message
			q.messages[n-1].ToolCalls = append(q.messages[n-1].ToolCalls, call)
			return nil
		}
		q.messages = append(q.messages, agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call}})
	case it.Type == "reasoning": // omit reasoning, because only the provider that wrote it can read it
	case it.Type != "" && it.Type != "message":
		return badRequest(param+".type", "Invalid value: %q. Supported are messages, function calls and their outputs.", clip(it.Type))
	case it.Role == "user":
		message, err := userMessage(it.Content, param+".content")
		if err != nil {
			return err
		}
		q.messages = append(q.messages, message)
	case it.Role == "system" || it.Role == "developer" || it.Role == "assistant":
		text, err := it.Content.text(param + ".content")
		if err != nil {
			return err
		}
		if it.Role == "assistant" {
			q.messages = append(q.messages, agent.Message{Role: agent.Assistant, Text: text})
		} else {
			q.addContext(text)
		}
	default:
		return badRequest(param+".role", "Invalid value: %q. Supported values are: system, developer, user and assistant.", clip(it.Role))
	}
	return nil
}

// newID implements api.
func (responsesAPI) newID() string { return newID("resp_") }

// document implements api.
func (responsesAPI) document(h answerHead, a *answer, o outcome) any {
	r := newResponse(h)
	r.finish(outputItems(h, a, o), o)
	return r
}
