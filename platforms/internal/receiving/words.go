package receiving

import (
	"regexp"
	"strings"

	"telex/internal/chat"
)

// typedCommand matches a command that was typed as text, for example after a mention, where the platform's apps offer
// no commands.
var typedCommand = regexp.MustCompile(`(?s)^/([A-Za-z][A-Za-z0-9_-]{0,31})(?:\s+(.*))?$`)

// Command returns the message in. If its text is a command, the result has Kind chat.Command.
func Command(in chat.Inbound) chat.Inbound {
	if parts := typedCommand.FindStringSubmatch(in.Text); parts != nil {
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(parts[1]), strings.TrimSpace(parts[2])
	}
	return in
}

// Words collects the pieces of a text without the mentions of the bot.
type Words struct {
	text      strings.Builder
	mentioned bool // the last element was a mention of the bot
}

// Add adds a piece of the text. After a mention at the start, it removes a following comma or colon. After a mention
// between two spaces, it removes one of them.
func (w *Words) Add(piece string) {
	if w.mentioned && piece != "" {
		w.mentioned = false
		switch before := w.text.String(); {
		case strings.TrimSpace(before) == "":
			piece = strings.TrimLeft(piece, " \t,:")
		case strings.HasSuffix(before, " "):
			piece = strings.TrimPrefix(piece, " ")
		}
	}
	w.text.WriteString(piece)
}

// Mention records a mention of the bot, which is left out of the text.
func (w *Words) Mention() { w.mentioned = true }

// String returns the text.
func (w *Words) String() string { return strings.TrimSpace(w.text.String()) }
