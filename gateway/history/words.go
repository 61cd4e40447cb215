package history

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Words returns the text of a message as the model reads it, with its provenance. Text that the sender did not
// type is framed, so that the model does not attribute it to the sender.
func Words(who chat.Person, m chat.Inbound) (string, agent.Source) {
	switch m.Origin {
	case chat.Typed:
		return m.Text, agent.Source{Origin: agent.OriginTyped, Person: who.String(), Text: m.Text}
	case chat.Forwarded:
		return Frame("forwarded message", "", m.Text), agent.Source{Origin: agent.OriginForward}
	case chat.ByBot:
		return Frame("message written by another bot", "", m.Text), agent.Source{Origin: agent.OriginBot}
	default: // the text from a pipe is the whole message and needs no frame
		return m.Text, agent.Source{Origin: agent.Origin(m.Origin)}
	}
}

// Question returns the text of messages as the model reads it, with its provenance, without attachments.
func Question(e chat.EndpointID, messages ...chat.Inbound) agent.Message {
	q := agent.Message{Role: agent.User}
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			text, source := Words(chat.Person{Endpoint: e, User: m.Sender.ID}, m)
			texts, q.Sources = append(texts, text), append(q.Sources, source)
		}
	}
	q.Text = strings.Join(texts, "\n\n")
	return q
}

// Join appends a message to a question.
func Join(question, more agent.Message) agent.Message {
	if len(question.Sources) == 0 && question.Text != "" { // stored by an older version: its origin is unknown
		question.Sources = []agent.Source{{}}
	}
	if question.Text != "" && more.Text != "" {
		question.Text += "\n\n"
	}
	question.Text += more.Text
	question.Images = append(slices.Clip(question.Images), more.Images...)
	question.Files = append(slices.Clip(question.Files), more.Files...)
	question.Sources = append(slices.Clip(question.Sources), more.Sources...)
	return question
}

// Frame puts external content between two marker lines. The content can't contain the closing marker, which is
// random and chosen afterwards.
func Frame(kind, name, text string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	mark := kind + " " + hex.EncodeToString(b[:])
	head := mark
	if name != "" {
		head += ": " + name
	}
	return "[" + head + "]\n" + text + "\n[end of " + mark + "]"
}
