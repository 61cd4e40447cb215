package gateway

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// addWords adds the text of a message, with its provenance. What the sender did not type is framed, so that the model
// does not take it for theirs.
func (q *question) addWords(who chat.Person, m chat.Inbound) {
	if m.Text == "" {
		return
	}
	text, source := m.Text, agent.Source{Origin: agent.OriginTyped, Person: who.String(), Text: m.Text}
	switch m.Origin {
	case chat.Typed:
	case chat.Forwarded:
		text, source = framed("forwarded message", "", text), agent.Source{Origin: agent.OriginForward}
	case chat.ByBot:
		text, source = framed("message written by another bot", "", text), agent.Source{Origin: agent.OriginBot}
	default: // a pipe's text is all that there is: it needs no frame
		source = agent.Source{Origin: agent.Origin(m.Origin)}
	}
	q.texts, q.sources = append(q.texts, text), append(q.sources, source)
}

// words is the text of messages as the model reads it, with its provenance, without what is attached.
func (a *actor) words(messages ...chat.Inbound) agent.Message {
	var q question
	for _, m := range messages {
		q.addWords(a.person(m), m)
	}
	return agent.Message{Role: agent.User, Text: strings.Join(q.texts, "\n\n"), Sources: q.sources}
}

// adding returns a question with what belongs to it.
func adding(question, more agent.Message) agent.Message {
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

// framed puts outside content between two lines that name it. The content can't contain the second one: its mark is random, and
// made after the content.
func framed(kind, name, text string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	mark := kind + " " + hex.EncodeToString(b[:])
	head := mark
	if name != "" {
		head += ": " + name
	}
	return "[" + head + "]\n" + text + "\n[end of " + mark + "]"
}
