package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
)

// responsesAPI is the Responses API (https://platform.openai.com/docs/api-reference/responses).
type responsesAPI struct{}

// responsesRequest is a request for an answer.
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

// echo is what a response repeats of its request.
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

// input is a text, or a list of items.
type input []inputItem

// UnmarshalJSON takes a string, null, or a list of items.
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

// inputItem is a message, a call, or the output of one.
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
	q := &query{model: r.Model, stream: r.Stream, user: r.User, echo: r.echo, store: r.Store == nil || *r.Store}
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
		q.rules = *r.Instructions
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
	if err := q.setMaxOutput("max_output_tokens", r.MaxOutputTokens); err != nil {
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

// addResponseTools adds the functions among the tools. Tools that OpenAI runs, such as web_search, are left out, so that clients
// which always offer them work; left says that there are some.
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

// chatFormat returns a text.format as a response_format of Chat Completions, where the schema is in an object of its own.
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
			panic(fmt.Errorf("encode a schema: %w", err)) // it was decoded a moment ago
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
		if slices.ContainsFunc(message.Images, func(i agent.Image) bool { return i.URL != "" }) { // the asker did not type it
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
				panic(fmt.Errorf("encode a text: %w", err)) // any text can be
			}
			call.Arguments = string(input)
		}
		if n := len(q.messages); n > 0 && q.messages[n-1].Role == agent.Assistant { // one answer of the model
			q.messages[n-1].ToolCalls = append(q.messages[n-1].ToolCalls, call)
			return nil
		}
		q.messages = append(q.messages, agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call}})
	case it.Type == "reasoning": // it could only be read by the provider that wrote it
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

// response is an answer, or one that is being written.
type response struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	CreatedAt int64  `json:"created_at"`
	Status    string `json:"status"`
	echo
	Background        bool               `json:"background"`
	Error             *responseError     `json:"error"`
	Incomplete        *incompleteDetails `json:"incomplete_details"`
	MaxOutputTokens   *int               `json:"max_output_tokens"`
	Output            []any              `json:"output"`
	ParallelToolCalls bool               `json:"parallel_tool_calls"`
	Store             bool               `json:"store"`
	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	Truncation        string             `json:"truncation"`
	Usage             *responseUsage     `json:"usage"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// newResponse returns a response that is in progress.
func newResponse(h head) response {
	q := h.query
	r := response{
		ID: h.id, Object: "response", CreatedAt: h.created.Unix(), Status: inProgress, echo: q.echo, Output: []any{}, Store: q.store,
		ParallelToolCalls: q.params.ParallelToolCalls == nil || *q.params.ParallelToolCalls,
		Temperature:       q.params.Temperature, TopP: q.params.TopP, Truncation: "disabled",
	}
	if q.params.MaxOutput > 0 {
		r.MaxOutputTokens = &q.params.MaxOutput
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	if r.Tools == nil {
		r.Tools = []json.RawMessage{}
	}
	if len(r.Text.Format) == 0 || string(r.Text.Format) == "null" {
		r.Text.Format = json.RawMessage(`{"type":"text"}`)
	}
	if len(r.ToolChoice) == 0 || string(r.ToolChoice) == "null" {
		r.ToolChoice = json.RawMessage(`"auto"`)
	}
	return r
}

// finish makes a response one that has ended.
func (r *response) finish(output []any, o outcome) {
	r.Status, r.Output = completed, output
	switch o.stop {
	case agent.StopLength:
		r.Status, r.Incomplete = incomplete, &incompleteDetails{"max_output_tokens"}
	case agent.StopFiltered:
		r.Status, r.Incomplete = incomplete, &incompleteDetails{"content_filter"}
	}
	u := &responseUsage{Input: o.usage.Prompt, Output: o.usage.Completion, Total: o.usage.Prompt + o.usage.Completion}
	u.InputDetails.Cached, u.OutputDetails.Reasoning = o.usage.Cached, o.usage.Reasoning
	r.Usage = u
}

// outputMessage, outputCall and outputReasoning are items of an output.
type outputMessage struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	LogProbs    []any  `json:"logprobs"`
}

type outputRefusal struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

type outputCall struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputReasoning struct {
	Type    string        `json:"type"`
	ID      string        `json:"id"`
	Summary []summaryText `json:"summary"`
}

type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newOutputText(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []any{}, LogProbs: []any{}}
}

// itemID returns the id of an output item.
func itemID(h head, kind itemKind, index int) string {
	prefix := map[itemKind]string{textItem: "msg", reasoningItem: "rs", callItem: "fc"}[kind]
	return fmt.Sprintf("%s_%s_%d", prefix, h.id[len("resp_"):], index)
}

// The statuses of items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// endStatus returns the status of an item of an answer that has ended. A limit or a filter cuts the last one.
func endStatus(index int, a *answer, o outcome) string {
	if (o.stop == agent.StopLength || o.stop == agent.StopFiltered) && index == len(a.items)-1 {
		return incomplete
	}
	return completed
}

// output returns an item of an answer, as it begins if it is in progress, else as it stands.
func output(h head, it *item, index int, status string) any {
	id, text, ended := itemID(h, it.kind, index), "", status != inProgress
	if ended {
		text = it.text.String()
	}
	switch it.kind {
	case reasoningItem:
		r := outputReasoning{Type: "reasoning", ID: id, Summary: []summaryText{}}
		if ended {
			r.Summary = append(r.Summary, summaryText{"summary_text", text})
		}
		return r
	case callItem:
		return outputCall{Type: "function_call", ID: id, Status: status, CallID: it.id, Name: it.name, Arguments: text}
	default:
		m := outputMessage{Type: "message", ID: id, Status: status, Role: "assistant", Content: []any{}}
		if ended {
			m.Content = append(m.Content, newOutputText(text))
		}
		return m
	}
}

// outputs returns the items of an answer that has ended. A refusal is a message of its own.
func outputs(h head, a *answer, o outcome) []any {
	out := []any{}
	for i, it := range a.items {
		out = append(out, output(h, it, i, endStatus(i, a, o)))
	}
	if o.refusal != "" {
		out = append(out, outputMessage{
			Type: "message", ID: itemID(h, textItem, len(out)), Status: completed, Role: "assistant", Content: []any{outputRefusal{"refusal", o.refusal}},
		})
	}
	return out
}

// document implements api.
func (responsesAPI) document(h head, a *answer, o outcome) any {
	r := newResponse(h)
	r.finish(outputs(h, a, o), o)
	return r
}
