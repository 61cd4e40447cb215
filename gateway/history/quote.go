package history

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/agent"
	"telex/internal/chat"
)

// These limits apply to messages that a question refers to, such as quoted messages.
const (
	maxQuote          = 8 << 10  // maximum length of one quoted text, in bytes
	maxThread         = 16 << 10 // maximum length of a thread's earlier messages, in bytes: the first one and the newest ones
	MaxThreadMessages = 40       // maximum number of messages that are read from a thread
)

// Quoted returns, for the model, the text and the provenance of a quoted message. The parameter files is the text of
// the message's attachments. If the platform hides the content of the message, the returned text says so. If the
// message has neither text nor files, Quoted returns an empty text. Even the text of a message that the bot wrote
// counts as outside content, because the bot may repeat something that it read elsewhere.
func (r Reading) Quoted(q chat.Quote, files string) (string, agent.Source) {
	if q.Hidden {
		return strings.TrimSuffix("[this refers to a message "+author(q), " ") + ", which the chat does not show you]", agent.Source{Origin: agent.OriginProgram}
	}
	text := below(beginning(q.Text, maxQuote), files)
	if text == "" {
		return "", agent.Source{}
	}
	kind := "message that this refers to"
	if q.Part {
		kind = "part of the message that this refers to"
	}
	return Frame(kind, author(q), text), agent.Source{Origin: agent.OriginQuote}
}

// below joins two texts with an empty line between them.
func below(text, more string) string {
	if text != "" && more != "" {
		text += "\n\n"
	}
	return text + more
}

// Thread returns, as one text for the model, the messages that people wrote in a thread before they asked the bot there. If
// there are no such messages, Thread returns "". The parameter files is the text of the attachments of the thread's messages.
// If the thread is too long, Thread leaves out messages between the first message and the newest ones.
func Thread(quotes []chat.Quote, files string) (string, agent.Source) {
	var lines []string
	for _, q := range quotes {
		if text := strings.TrimSpace(q.Text); text != "" {
			lines = append(lines, cmp.Or(OneLine(q.Author, maxSpeaker), "somebody")+": "+beginning(text, maxThread/4))
		}
	}
	const kind = "earlier messages of this thread"
	source := agent.Source{Origin: agent.OriginQuote}
	if len(lines) == 0 {
		if files == "" {
			return "", agent.Source{}
		}
		return Frame(kind, "", files), source
	}
	size, from := len(lines[0]), len(lines)
	for from > 1 && size+len(lines[from-1]) <= maxThread {
		from--
		size += len(lines[from])
	}
	kept := lines[:1:1]
	if from > 1 {
		kept = append(kept, "[messages between these are left out]")
	}
	return Frame(kind, "", below(strings.Join(append(kept, lines[from:]...), "\n"), files)), source
}

// Unquoted removes quotes of the bot's newest answer from people's messages. The model does not need a quote of the
// newest answer, because it reads this answer in the history.
func (h History) Unquoted(messages []chat.Inbound) []chat.Inbound {
	newest := ""
	for _, m := range slices.Backward(h.Messages) {
		if m.Role == agent.Assistant && m.Text != "" {
			newest = letters(m.Text)
			break
		}
	}
	known := func(q chat.Quote) bool {
		text := letters(q.Text)
		return q.Own && !q.Part && text != "" && (text == newest || len(text) > sameText && strings.HasPrefix(newest, text[:sameText]))
	}
	out := slices.Clone(messages)
	for i := range out {
		out[i].Quotes = slices.DeleteFunc(slices.Clone(out[i].Quotes), known)
	}
	return out
}

// WithoutGreeting returns the messages of a thread without the bot's greeting, because the greeting does not help the
// model to answer the question.
func WithoutGreeting(quotes []chat.Quote, greeting string) []chat.Quote {
	return slices.DeleteFunc(quotes, func(q chat.Quote) bool { return q.Own && letters(q.Text) == letters(greeting) })
}

// sameText is the number of bytes at the beginning of an answer by which Unquoted recognizes a quote of the answer. Unquoted
// ignores the text after these bytes, because the quote may hide the addresses of links, or the platform may have changed the
// text. If Unquoted does not recognize a quote, the model reads the answer twice, which only costs tokens.
const sameText = 200

// letters returns only the letters and digits of a text. The letters and digits are the same in the Markdown source
// and in the text that a chat shows.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// author returns words that name the author of a quote, such as "by you".
func author(q chat.Quote) string {
	if q.Own {
		return "by you"
	}
	return by(q.Author)
}

// beginning returns at most the first maxBytes of a text. If the text is longer than maxBytes, the function beginning adds a
// note that the text goes on.
func beginning(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for maxBytes > 0 && !utf8.RuneStart(text[maxBytes]) {
		maxBytes--
	}
	return text[:maxBytes] + "… [it goes on]"
}
