package history

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Words returns the text of a message as the model reads it, with its provenance. What the sender did not type is framed,
// so that the model does not take it for theirs.
func Words(who chat.Person, m chat.Inbound) (string, agent.Source) {
	switch m.Origin {
	case chat.Typed:
		return m.Text, agent.Source{Origin: agent.OriginTyped, Person: who.String(), Text: m.Text}
	case chat.Forwarded:
		return Frame("forwarded message", "", m.Text), agent.Source{Origin: agent.OriginForward}
	case chat.ByBot:
		return Frame("message written by another bot", "", m.Text), agent.Source{Origin: agent.OriginBot}
	default: // a pipe's text is all that there is: it needs no frame
		return m.Text, agent.Source{Origin: agent.Origin(m.Origin)}
	}
}

// Question is the text of messages as the model reads it, with its provenance, without what is attached.
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

// Join returns a question with what belongs to it.
func Join(question, more agent.Message) agent.Message {
	if len(question.Sources) == 0 && question.Text != "" { // an older version stored it: its origin stays unknown
		question.Sources = []agent.Source{{}}
	}
	if question.Text != "" && more.Text != "" {
		question.Text += "\n\n"
	}
	question.Text += more.Text
	question.Images = append(slices.Clip(question.Images), more.Images...)
	question.Sources = append(slices.Clip(question.Sources), more.Sources...)
	return question
}

// Frame puts outside content between two lines that name it. The content can't contain the second one: its mark is random, and
// made after the content.
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
