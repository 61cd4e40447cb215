package apiserver

import (
	"encoding/json"
	"fmt"

	"telex/agent"
)

// response is the response object of the Responses API. A response describes a complete answer, or an answer in
// progress.
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
func newResponse(h answerHead) response {
	q := h.query
	r := response{
		ID: h.id, Object: "response", CreatedAt: h.created.Unix(), Status: inProgress, echo: q.echoed, Output: []any{}, Store: q.store,
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

// finish sets the fields of a finished response.
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

// outputMessage, outputCall and outputReasoning are the kinds of items in the output of a response.
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
func itemID(h answerHead, kind itemKind, index int) string {
	prefix := map[itemKind]string{textItem: "msg", reasoningItem: "rs", callItem: "fc"}[kind]
	return fmt.Sprintf("%s_%s_%d", prefix, h.id[len("resp_"):], index)
}

// These are the statuses of a response and of its output items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// endStatus returns the status of one item of a finished answer. If the token limit or a content filter ended the
// answer, the status of the answer's last item is incomplete.
func endStatus(index int, a *answer, o outcome) string {
	if (o.stop == agent.StopLength || o.stop == agent.StopFiltered) && index == len(a.items)-1 {
		return incomplete
	}
	return completed
}

// outputItem returns an item of an answer in the form of the Responses API. If status is in_progress, the returned item
// is empty. If status has another value, the returned item contains the whole text of the item.
func outputItem(h answerHead, it *item, index int, status string) any {
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

// outputItems returns the items of a finished answer. If the model refused to answer, the text of the refusal is a
// separate message.
func outputItems(h answerHead, a *answer, o outcome) []any {
	out := []any{}
	for i, it := range a.items {
		out = append(out, outputItem(h, it, i, endStatus(i, a, o)))
	}
	if o.refusal != "" {
		out = append(out, outputMessage{
			Type: "message", ID: itemID(h, textItem, len(out)), Status: completed, Role: "assistant", Content: []any{outputRefusal{"refusal", o.refusal}},
		})
	}
	return out
}
