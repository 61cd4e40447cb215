package responses

import (
	"cmp"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// Roles and types of items.
const (
	typeMessage   = "message"
	typeCall      = "function_call"
	typeResult    = "function_call_output"
	typeReasoning = "reasoning"
)

// noOutput is the result of a tool that returned nothing.
const noOutput = "(no output)"

// newInput returns messages as input items. Calls since the newest user message include their reasoning if the model whose name
// is in echoed wrote it. The API has no field for a person's name, nor for reasoning in plain text.
//
// A phased model distinguishes its answers from remarks before tool calls. The history does not store this distinction, so
// newInput derives it from the tool calls
// (https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/gpt-5-4).
func newInput(messages []agent.Message, echoed string, phased bool) []any {
	remark, answer := "", ""
	if phased {
		remark, answer = "commentary", "final_answer"
	}
	newest := 0
	for i, m := range messages {
		if m.Role == agent.User {
			newest = i
		}
	}
	items := make([]any, 0, len(messages))
	for i, m := range messages {
		switch {
		case m.Role == agent.ToolRole:
			items = append(items, openai.ResponseFunctionCallOutput{Type: typeResult, CallID: m.ToolCallID, Output: newOutput(m)})
		case len(m.ToolCalls) > 0:
			model := echoed
			if i < newest {
				model = ""
			}
			items = appendCalls(items, m, model, remark)
		case m.Text != "" || len(m.Images)+len(m.Files) > 0:
			phase := ""
			if m.Role == agent.Assistant {
				phase = answer
			}
			items = append(items, newMessage(m, phase))
		}
	}
	return items
}

// newMessage returns a message. If there are images or files, its content is a list of parts.
func newMessage(m agent.Message, phase string) openai.ResponseInputMessage {
	msg := openai.ResponseInputMessage{Role: string(m.Role), Content: m.Text, Phase: phase}
	if len(m.Images)+len(m.Files) > 0 {
		msg.Content = newParts(m)
	}
	return msg
}

// inputFile is a file inside a request (https://platform.openai.com/docs/guides/pdf-files).
type inputFile struct {
	Type string `json:"type"`
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// newOutput returns the result of a tool in the form of this API.
func newOutput(m agent.Message) any {
	switch {
	case len(m.Images) > 0:
		return newParts(m)
	case m.Text == "":
		return noOutput
	default:
		return m.Text
	}
}

// newParts returns the text, the images and the files of a message as content parts of this API. The data of images and files
// is part of the request, because providers can't download the files of chats.
func newParts(m agent.Message) []any {
	var parts []any
	if m.Text != "" {
		parts = append(parts, openai.ResponseInputText{Type: "input_text", Text: m.Text})
	}
	for _, image := range m.Images {
		parts = append(parts, openai.ResponseInputImage{
			Type: "input_image", Detail: "auto",
			ImageURL: provider.ImageURL(image),
		})
	}
	for _, f := range m.Files {
		parts = append(parts, inputFile{Type: "input_file", Name: f.Name, Data: provider.FileURL(f)})
	}
	return parts
}

// appendCalls appends an assistant's calls, its text, and its reasoning in their original order. The appended items get no ids,
// because an id would refer to an item that the provider has stored.
func appendCalls(items []any, m agent.Message, echoed, remark string) []any {
	said := m.Text == ""
	say := func(phase string) {
		if !said {
			items = append(items, newMessage(agent.Message{Role: m.Role, Text: m.Text}, phase))
			said = true
		}
	}
	for i, call := range m.ToolCalls {
		e := readEcho(call.Extra, echoed)
		if i == 0 && !e.hasText() {
			say(remark)
		}
		for _, before := range e.Before {
			if p := placeOf(before); p.Type == typeMessage {
				say(cmp.Or(p.Phase, remark))
			} else {
				items = append(items, before)
			}
		}
		arguments := call.Arguments
		if arguments == "" {
			arguments = "{}" // go-openai would omit empty arguments, and the provider would refuse the call
		}
		items = append(items, openai.ResponseOutputItem{Type: typeCall, CallID: call.ID, Name: call.Name, Arguments: arguments})
	}
	return items
}
