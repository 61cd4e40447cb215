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

// Limits for messages that a question refers to.
const (
	maxQuote          = 8 << 10  // bytes of one quoted text
	maxThread         = 16 << 10 // bytes of the earlier messages of a thread: the first one and the newest ones
	MaxThreadMessages = 40       // messages of a thread
)

// Quoted returns the text and the provenance of a message that m refers to, for the model. files is the text of its
// attachments. The result is empty if there is neither a text nor a file, unless the platform hides the message's
// content. The message is outside content even if the bot wrote it: its text may repeat something that the bot read
// elsewhere.
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

// below joins two texts by an empty line.
func below(text, more string) string {
	if text != "" && more != "" {
		text += "\n\n"
	}
	return text + more
}

// Thread returns the messages of a thread from before the bot was asked there, as one text for the model; "" if there
// are none. files is the text of their attachments. If the thread is too long, messages between the first one and the
// newest ones are left out.
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

// Unquoted removes quotes of the newest answer from the messages, since the history contains that answer.
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

// WithoutGreeting returns the messages of a thread without the bot's greeting, which does not help to answer the
// question.
func WithoutGreeting(quotes []chat.Quote, greeting string) []chat.Quote {
	return slices.DeleteFunc(quotes, func(q chat.Quote) bool { return q.Own && letters(q.Text) == letters(greeting) })
}

// sameText is how many bytes of letters identify an answer. Only the beginning is compared: later text may contain
// hidden addresses of links, or may have changed when it was quoted. If a quote is not recognized, the model reads
// the answer twice, which only costs tokens.
const sameText = 200

// letters returns only the letters and digits of a text. They are the same in Markdown and on a screen.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// author returns the attribution of a quote.
func author(q chat.Quote) string {
	if q.Own {
		return "by you"
	}
	return by(q.Author)
}

// beginning returns at most maxBytes of a text, and says where it was cut.
func beginning(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for maxBytes > 0 && !utf8.RuneStart(text[maxBytes]) {
		maxBytes--
	}
	return text[:maxBytes] + "… [it goes on]"
}
