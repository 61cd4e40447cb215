package chatcompletions

import (
	"encoding/json"

	"telex/agent"
	"telex/agent/provider"
)

// message is a message of a request. telex has its own type, because go-openai's type omits an empty content, and providers
// refuse a message without content. go-openai's type also has no fields for the provider data of echo, and can't encode an
// empty reasoning_content.
type message struct {
	Role             agent.Role `json:"role"`
	Content          any        `json:"content,omitempty"` // a string, or a list of parts
	Name             string     `json:"name,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ReasoningContent *string    `json:"reasoning_content,omitempty"`
	ReasoningDetails []detail   `json:"reasoning_details,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
	File     *file     `json:"file,omitempty"`
}

// file is a file inside a request (https://platform.openai.com/docs/guides/pdf-files).
type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type imageURL struct {
	URL string `json:"url"`
}

// newMessages converts a conversation. newMessages puts images of tools into a user's message after the results, because only
// users' messages may have images.
func newMessages(r agent.Request, model string, s shape) []message {
	out := make([]message, 0, len(r.Messages)+1)
	if r.System != "" {
		out = append(out, message{Role: agent.System, Content: r.System})
	}
	var images []agent.Image
	show := func() {
		if len(images) > 0 {
			out = append(out, message{Role: agent.User, Content: contentOf(agent.Message{Text: "(Images that the tools returned.)", Images: images})})
			images = nil
		}
	}
	for _, m := range r.Messages {
		if m.Role == agent.ToolRole {
			images = append(images, m.Images...)
			m.Images = nil
		} else {
			show()
		}
		if msg, ok := newMessage(m, model, s); ok {
			out = append(out, msg)
		}
	}
	show()
	return out
}

// newMessage converts a message. For an empty message, which providers would refuse, newMessage returns false.
func newMessage(m agent.Message, model string, s shape) (msg message, ok bool) {
	msg = message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Content: contentOf(m)}
	for _, c := range m.ToolCalls {
		call := toolCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
		if s.Has(wantsExtra) {
			e := readEcho(c.Extra, model)
			if !s.Has(noExtra) {
				call.ExtraContent = e.Content
			}
			if !s.Has(noDetails) {
				msg.ReasoningDetails = append(msg.ReasoningDetails, e.Details...)
			}
		}
		msg.ToolCalls = append(msg.ToolCalls, call)
	}
	if m.Role == agent.Assistant && s.Has(wantsReasoning) && !s.Has(noReasoning) {
		msg.ReasoningContent = &m.Reasoning // this field is sent even if the reasoning is empty
	}
	switch {
	case msg.Content != nil, len(msg.ToolCalls) > 0:
		return msg, true
	case m.Role == agent.ToolRole:
		msg.Content = "(no output)"
		return msg, true
	}
	return msg, false
}

// contentOf returns the content of a message: a plain text, which every server accepts, or a list of parts if the message has
// images or files.
func contentOf(m agent.Message) any {
	if len(m.Images)+len(m.Files) == 0 {
		if m.Text == "" {
			return nil
		}
		return m.Text
	}
	var parts []part
	if m.Text != "" {
		parts = append(parts, part{Type: "text", Text: m.Text})
	}
	for _, image := range m.Images {
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{URL: provider.ImageURL(image)}})
	}
	for _, f := range m.Files {
		parts = append(parts, part{Type: "file", File: &file{Name: f.Name, Data: provider.FileURL(f)}})
	}
	return parts
}
