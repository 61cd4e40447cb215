package history

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Reading configures how people's messages become text for a model.
type Reading struct {
	Endpoint chat.EndpointID
	Names    bool // in groups, the text of a message begins with its sender's name
}

// Words returns the text of a message as the model reads it, with the text's provenance. If the text was forwarded or comes
// from another bot, Words encloses the text in a frame. The frame keeps the model from attributing the text to the sender.
func (r Reading) Words(m chat.Inbound) (string, agent.Source) {
	switch m.Origin {
	case chat.Typed:
		who := chat.Person{Endpoint: r.Endpoint, User: m.Sender.ID}
		return r.speaker(m) + m.Text, agent.Source{Origin: agent.OriginTyped, Person: who.String(), Text: m.Text}
	case chat.Forwarded:
		return r.speaker(m) + Frame("forwarded message", by(m.Author), m.Text), agent.Source{Origin: agent.OriginForward}
	case chat.ByBot:
		return r.speaker(m) + Frame("message written by another bot", "", m.Text), agent.Source{Origin: agent.OriginBot}
	default: // a text from a pipe or a report is a whole message, so a frame is not needed
		return m.Text, agent.Source{Origin: agent.Origin(m.Origin)}
	}
}

// speaker returns the prefix that tells the model who sent a message in a group: the sender's name in brackets. The
// chat completions API has a field for the sender's name. speaker does not use the API's field for names, because the
// field allows only a few ASCII characters, and many providers refuse or ignore it.
func (r Reading) speaker(m chat.Inbound) string {
	if name := OneLine(m.Sender.Name, maxSpeaker); r.Names && m.To.Kind == chat.Group && name != "" {
		return "[" + name + "] "
	}
	return ""
}

// maxSpeaker is the maximum length of a person's name, in characters.
const maxSpeaker = 64

// OneLine returns a name that somebody else chose, on one line of at most maxChars characters. OneLine replaces
// square brackets in the name, because a model reads the name in square brackets.
func OneLine(name string, maxChars int) string {
	s := strings.Join(strings.Fields(strings.NewReplacer("[", "(", "]", ")").Replace(name)), " ")
	if r := []rune(s); len(r) > maxChars {
		return string(r[:maxChars]) + "…"
	}
	return s
}

// The function by returns the word "by" and the author of a text, or "" if the author is unknown.
func by(author string) string {
	if author = OneLine(author, maxSpeaker); author != "" {
		return "by " + author
	}
	return ""
}

// Question returns one message for the model that contains the texts of people's messages, with the provenance of
// each text. Question does not include attachments.
func (r Reading) Question(messages ...chat.Inbound) agent.Message {
	q := agent.Message{Role: agent.User}
	var texts []string
	for _, m := range messages {
		for _, quote := range m.Quotes {
			if text, source := r.Quoted(quote, ""); text != "" {
				texts, q.Sources = append(texts, text), append(q.Sources, source)
			}
		}
		if m.Text != "" {
			text, source := r.Words(m)
			texts, q.Sources = append(texts, text), append(q.Sources, source)
		}
	}
	q.Text = strings.Join(texts, "\n\n")
	return q
}

// Join appends a message to a question.
func Join(question, more agent.Message) agent.Message {
	if len(question.Sources) == 0 && question.Text != "" { // an older version stored the question, so its origin is unknown
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

// Frame puts outside content, such as a quoted message, between two marker lines. The author of the content can't
// forge the closing marker, because Frame chooses a random marker.
func Frame(kind, name, text string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	mark := kind + " " + hex.EncodeToString(b[:])
	head := mark
	if name != "" {
		head += ": " + name
	}
	return "[" + head + "]\n" + text + "\n[end of " + mark + "]"
}
