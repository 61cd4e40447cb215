package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkMessages checks roles, contents and the order of tool messages, and sets the messages' text fields.
func (r *chatRequest) checkMessages() {
	notEmpty(len(r.Messages), "messages")
	var open []string // calls of the last assistant message whose results have not been read yet
	asked := 0        // index of the last assistant message
	answered := func() {
		invalidIf(len(open) > 0, fmt.Sprintf("messages.[%d].role", asked), "", "An assistant message with 'tool_calls' must be followed by "+
			"tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			strings.Join(open, ", "))
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.check(i)
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			invalidIf(at < 0, fmt.Sprintf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be "+
				"a response to a preceeding message with 'tool_calls'.") //nolint:misspell // OpenAI's own spelling
			open = slices.Delete(open, at, at+1)
			continue
		}
		answered()
		for _, c := range m.ToolCalls {
			open, asked = append(open, c.ID), i
		}
	}
	answered()
}

// check refuses the request if the message is invalid by itself. check also sets the text of the message.
func (m *message) check(i int) {
	where := fmt.Sprintf("messages[%d]", i)
	required(m.Role != "", where, "role")
	invalidIf(m.Role == "function", where+".role", "invalid_value",
		"Role 'function' belongs to an API that was replaced by tools; this server doesn't speak it.")
	oneValue(where+".role", &m.Role, "system", "assistant", "user", "function", "tool", "developer")
	invalidIf(len(m.ToolCalls) > 0 && m.Role != "assistant", where+".tool_calls", "unknown_parameter", "Unknown parameter: '%s.tool_calls'.", where)
	required(m.Role != "tool" || m.ToolCallID != "", fmt.Sprintf("messages.[%d]", i), "tool_call_id")
	seen := map[string]bool{}
	for j, c := range m.ToolCalls {
		where := fmt.Sprintf("%s.tool_calls[%d]", where, j)
		required(c.ID != "", where, "id")
		invalidIf(seen[c.ID], where+".id", "invalid_value", "Duplicate value for '%s.id': '%s'.", where, c.ID)
		oneValue(where+".type", &c.Type, "function")
		functionName(c.Function.Name, where+".function.name")
		seen[c.ID] = true
	}
	m.readContent(i)
}

// readContent extracts the text, images and files from the content of a message, which is a string or an array of
// parts.
func (m *message) readContent(i int) {
	param := fmt.Sprintf("messages.[%d].content", i)
	if isNull(m.Content) {
		invalidIf(m.Role != "assistant" || len(m.ToolCalls) == 0 && m.Refusal == nil, param, "", "Invalid value for 'content': expected a string, got null.")
		return
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		return
	}
	var parts []part
	decode(m.Content, &parts, param, "one of a string or array of objects")
	notEmpty(len(parts), param)
	var text strings.Builder
	for j, p := range parts {
		where := fmt.Sprintf("messages[%d].content[%d]", i, j)
		ok := false
		switch p.Type {
		case "text":
			if ok = p.Text != nil; ok {
				text.WriteString(*p.Text)
			}
		case "refusal":
			ok = m.Role == "assistant" && p.Refusal != nil
		case "image_url":
			if ok = m.Role == "user" && !isNull(p.ImageURL); ok {
				m.images = append(m.images, readImage(p.ImageURL, where+".image_url"))
			}
		case "input_audio":
			ok = m.Role == "user" && !isNull(p.Audio)
		case "file":
			if ok = m.Role == "user" && !isNull(p.File); ok {
				m.documents = append(m.documents, readDocument(p.File, where+".file"))
			}
		}
		invalidIf(!ok, where+".type", "invalid_value",
			"Invalid part %d of messages[%d].content: type '%s' is unknown, empty, or not for role '%s'.", j, i, p.Type, m.Role)
	}
	m.text = text.String()
}

// images returns all images in a request, in order.
func (r *chatRequest) images() []Image {
	var list []Image
	for _, m := range r.Messages {
		list = append(list, m.images...)
	}
	return list
}

// refuseImages refuses a request that contains images, as a provider does for a model without image input.
func (r *chatRequest) refuseImages() {
	for i, m := range r.Messages {
		invalidIf(len(m.images) > 0, fmt.Sprintf("messages.[%d].content", i), "",
			"Invalid content type. image_url is only supported by certain models.")
	}
}

// checkDemands refuses the request if the tool calls of an assistant message lack data that the setting "require"
// demands.
func (r *chatRequest) checkDemands(b behaviour) {
	for i, m := range r.Messages {
		where := fmt.Sprintf("messages[%d]", i)
		// https://api-docs.deepseek.com/guides/thinking_mode
		invalidIf(len(m.ToolCalls) > 0 && m.ReasoningContent == nil && slices.Contains(b.require, "reasoning_content"), where+".reasoning_content", "",
			"The reasoning_content in the thinking mode must be passed back to the API.")
		for j, c := range m.ToolCalls {
			invalidIf(c.ExtraContent.Google.ThoughtSignature == "" && slices.Contains(b.require, "thought_signature"),
				fmt.Sprintf("%s.tool_calls[%d]", where, j), "", "Function call is missing a thought_signature in functionCall parts.")
		}
	}
}
