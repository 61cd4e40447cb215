package receiving

import (
	"regexp"
	"strings"

	"telex/internal/chat"
)

// typedCommand is a command that is typed as text, such as after a mention, where the apps offer none.
var typedCommand = regexp.MustCompile(`(?s)^/([A-Za-z][A-Za-z0-9_-]{0,31})(?:\s+(.*))?$`)

// Command returns in as a command, if its text is one.
func Command(in chat.Inbound) chat.Inbound {
	if parts := typedCommand.FindStringSubmatch(in.Text); parts != nil {
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(parts[1]), strings.TrimSpace(parts[2])
	}
	return in
}

// Words is a text that is read piece by piece, without the mentions of the bot in it.
type Words struct {
	text      strings.Builder
	mentioned bool // the bot, just now
}

// Add adds a piece of the text. With a mention that opened the text goes the comma or colon after it; with one that stood
// between two spaces, one of these.
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

// Mention leaves a mention of the bot out.
func (w *Words) Mention() { w.mentioned = true }

// String returns the text.
func (w *Words) String() string { return strings.TrimSpace(w.text.String()) }
