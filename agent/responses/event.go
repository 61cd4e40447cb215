package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"telex/agent/provider"
)

// streamEvent has those fields of an event that telex uses. The items in an event are decoded later, if they are needed.
type streamEvent struct {
	Type         string             `json:"type"`
	ItemID       string             `json:"item_id"`
	OutputIndex  int                `json:"output_index"`
	SummaryIndex int                `json:"summary_index"`
	Delta        string             `json:"delta"`
	Arguments    provider.Arguments `json:"arguments"`
	Item         json.RawMessage    `json:"item"`
	Response     response           `json:"response"`
}

// response is a whole answer, or the state of an answer in an event.
type response struct {
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *incomplete       `json:"incomplete_details"`
	Output     []json.RawMessage `json:"output"`
	Usage      *provider.Usage   `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// read decodes an event or an item. If a field has an unexpected form, read returns an error only if the type of the event or
// item is one of the types in known. For other types, read returns an empty value, so the event or item is ignored.
func read[T any](what string, data []byte, known ...string) (v T, err error) {
	err = json.Unmarshal(data, &v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		var named struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(data, &named) == nil && !slices.Contains(known, named.Type) {
			return *new(T), nil
		}
	}
	if err != nil {
		return v, fmt.Errorf("read %s: %w", what, err)
	}
	return v, nil
}

func readEvent(data []byte) (streamEvent, error) {
	return read[streamEvent]("an event", data,
		"response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.function_call_arguments.delta",
		"response.function_call_arguments.done", "response.completed", "response.incomplete", "response.failed")
}

func readItem(data []byte) (outputItem, error) {
	return read[outputItem]("an item", data, typeMessage, typeCall, typeReasoning)
}
