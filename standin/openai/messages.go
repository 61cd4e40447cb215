package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkMessages checks roles, contents and the order of tool messages, and fills in the texts.
func (r *chatRequest) checkMessages() error {
	if len(r.Messages) == 0 {
		return invalid("messages", "empty_array",
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var open []string // Calls of the last assistant message without a result yet.
	asked := 0        // Where they were made.
	for i := range r.Messages {
		m := &r.Messages[i]
		if err := m.check(i); err != nil {
			return err
		}
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return invalid(fmt.Sprintf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be "+
					"a response to a preceeding message with 'tool_calls'.") //nolint:misspell // So OpenAI spells it.
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return unanswered(asked, open)
		}
		for _, c := range m.ToolCalls {
			open, asked = append(open, c.ID), i
		}
	}
	if len(open) > 0 {
		return unanswered(asked, open)
	}
	return nil
}

func unanswered(i int, ids []string) error {
	return invalid(fmt.Sprintf("messages.[%d].role", i), "", "An assistant message with 'tool_calls' must be followed by tool "+
		"messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(ids, ", "))
}

// check checks one message by itself and sets its text.
func (m *message) check(i int) error {
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
	case "function":
		return invalid(fmt.Sprintf("messages[%d].role", i), "invalid_value",
			"Role 'function' belongs to an API that was replaced by tools; this server doesn't speak it.")
	case "":
		return invalid(fmt.Sprintf("messages[%d].role", i), "missing_required_parameter",
			"Missing required parameter: 'messages[%d].role'.", i)
	default:
		return invalid(fmt.Sprintf("messages[%d].role", i), "invalid_value", "Invalid value: '%s'. Supported values are: "+
			"'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return invalid(fmt.Sprintf("messages[%d].tool_calls", i), "unknown_parameter",
			"Unknown parameter: 'messages[%d].tool_calls'.", i)
	}
	if m.Role == "tool" && m.ToolCallID == "" {
		return invalid(fmt.Sprintf("messages.[%d].tool_call_id", i), "missing_required_parameter",
			"Missing required parameter: 'messages[%d].tool_call_id'.", i)
	}
	if err := m.checkCalls(i); err != nil {
		return err
	}
	return m.readContent(i)
}

func (m *message) checkCalls(i int) error {
	seen := map[string]bool{}
	for j, c := range m.ToolCalls {
		where := fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
		switch {
		case c.ID == "":
			return invalid(where+".id", "missing_required_parameter", "Missing required parameter: '%s.id'.", where)
		case seen[c.ID]:
			return invalid(where+".id", "invalid_value", "Duplicate value for '%s.id': '%s'.", where, c.ID)
		case c.Type != "function":
			return invalid(where+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function'.", c.Type)
		case !functionNameRE.MatchString(c.Function.Name):
			return invalid(where+".function.name", "invalid_value", "Invalid '%s.function.name': string does not match pattern. "+
				"Expected a string that matches the pattern '%s'.", where, functionNameRE)
		}
		seen[c.ID] = true
	}
	return nil
}

// readContent takes the text out of a string or of an array of parts.
func (m *message) readContent(i int) error {
	param := fmt.Sprintf("messages.[%d].content", i)
	if isNull(m.Content) {
		if m.Role == "assistant" && (len(m.ToolCalls) > 0 || m.Refusal != nil) {
			return nil
		}
		return invalid(param, "", "Invalid value for 'content': expected a string, got null.")
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		return nil
	}
	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return invalid(param, "invalid_type",
			"Invalid type for 'messages[%d].content': expected one of a string or array of objects.", i)
	}
	if len(parts) == 0 {
		return invalid(param, "empty_array", "Invalid 'messages[%d].content': empty array.", i)
	}
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
				found, err := readImage(p.ImageURL, where+".image_url")
				if err != nil {
					return err
				}
				m.images = append(m.images, found)
			}
		case "input_audio":
			ok = m.Role == "user" && !isNull(p.Audio)
		case "file":
			ok = m.Role == "user" && !isNull(p.File)
		}
		if !ok {
			return invalid(where+".type", "invalid_value",
				"Invalid part %d of messages[%d].content: type '%s' is unknown, empty, or not for role '%s'.", j, i, p.Type, m.Role)
		}
	}
	m.text = text.String()
	return nil
}

// images returns all images of a request, in their order.
func (r *chatRequest) images() []Image {
	var list []Image
	for _, m := range r.Messages {
		list = append(list, m.images...)
	}
	return list
}

// refuseImages is how a model without eyes answers.
func (r *chatRequest) refuseImages() error {
	for i, m := range r.Messages {
		if len(m.images) > 0 {
			return invalid(fmt.Sprintf("messages.[%d].content", i), "",
				"Invalid content type. image_url is only supported by certain models.")
		}
	}
	return nil
}
