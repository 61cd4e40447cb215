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
	maxQuote   = 8 << 10  // bytes of one quoted text
	maxThread  = 16 << 10 // bytes of what was written in a thread before: its first message and the newest ones
	MostThread = 40       // messages of a thread
)

// Quoted returns a message that m refers to as the model reads it, with its provenance. files is what the model reads of
// its attachments. "" if there is neither a text nor such a file, unless the platform hides what the message says. The message is
// outside content, also if the bot wrote it: its words may repeat what it read elsewhere, in an answer that the history does not
// hold any more.
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

// below returns a text with another one below it.
func below(text, more string) string {
	if text != "" && more != "" {
		text += "\n\n"
	}
	return text + more
}

// Thread returns what was written in a thread before the bot was asked there, as the model reads it; "" if nothing. files is
// what the model reads of the attachments there. If the thread is too long, the messages between the first one and the newest
// ones are left out.
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

// Unquoted returns messages without the quotes of the newest answer, which the model reads in the history anyway.
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

// WithoutGreeting returns the messages of a thread without the bot's greeting, which says nothing about the question.
func WithoutGreeting(quotes []chat.Quote, greeting string) []chat.Quote {
	return slices.DeleteFunc(quotes, func(q chat.Quote) bool { return q.Own && letters(q.Text) == letters(greeting) })
}

// sameText is how many bytes of letters tell which answer a text is. Further on there may be addresses of links, which people
// don't see, or the answer may still have been growing. A quote that is kept needlessly costs only its tokens.
const sameText = 200

// letters returns the letters and digits of a text, which are the same in Markdown and on a screen.
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

// beginning returns at most most bytes of a text, and says where it was cut.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "… [it goes on]"
}
