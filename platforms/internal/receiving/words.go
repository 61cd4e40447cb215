package receiving

import (
	"regexp"
	"strings"

	"telex/internal/chat"
)

// typedCommand matches a text that is a command, such as "/stop". People type a command as text where the platform's
// apps offer no commands, for example after a mention.
var typedCommand = regexp.MustCompile(`(?s)^/([A-Za-z][A-Za-z0-9_-]{0,31})(?:\s+(.*))?$`)

// Command returns a copy of the message in. If the text of the message in is a command, the returned message has the
// Kind chat.Command.
func Command(in chat.Inbound) chat.Inbound {
	if parts := typedCommand.FindStringSubmatch(in.Text); parts != nil {
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(parts[1]), strings.TrimSpace(parts[2])
	}
	return in
}

// Words builds the text of a message without mentions of the bot. The caller passes the text piece by piece.
type Words struct {
	text      strings.Builder
	mentioned bool // the last part of the text was a mention of the bot
}

// Add adds the next piece of the message's text. If a mention at the start of the text precedes the piece, Add removes
// a comma or colon at the start of the piece. If the mention before the piece was between two spaces, Add removes one
// of these spaces.
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

// Mention records that the next part of the text is a mention of the bot, which the result does not contain.
func (w *Words) Mention() { w.mentioned = true }

// String returns the collected text, without white space at its ends.
func (w *Words) String() string { return strings.TrimSpace(w.text.String()) }
