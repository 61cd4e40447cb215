package preview

import (
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Span is a range of bytes of a text.
type Span struct{ From, To int }

// lines returns the lines of a status, with a part of them as code.
func lines(text string, code Span) markup.Piece {
	p := markup.Piece{Text: text}
	if code.From < code.To {
		p.Formats = []markup.Format{{Style: markup.Pre, Start: code.From, End: code.To}}
	}
	return p
}

// codeIn returns where in a shortened question its code is, as whole lines. The code is what a model wants to do, so whatever
// is shown of it must not become a link, a mention or a command; in doubt all is code.
func codeIn(shortened, question string, code Span) Span {
	if code.From >= code.To {
		return Span{}
	}
	before, after := question[:code.From], question[code.To:]
	if len(shortened) < len(before)+len(after) || !strings.HasPrefix(shortened, before) || !strings.HasSuffix(shortened, after) {
		return Span{0, len(shortened)}
	}
	in := Span{strings.LastIndexByte(before, '\n') + 1, len(shortened)}
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		in.To = len(shortened) - len(after) + i
	}
	return in
}

// questionText returns what asks a person, as much of it as fits into a message, and which part of it is code.
func (s *state) questionText() (text string, code Span) {
	whole := strings.Join(s.view.Status.Lines, "\n")
	find := func(text string) Span { return codeIn(text, whole, s.view.Status.Code) }
	text = clip(whole, func(text string) bool { return s.fits(s.dialect.Render(lines(text, find(text)))) })
	return text, find(text)
}

// Shows says that a message with room for the cursor has room for all of a question, with a part of it as code.
func Shows(e Endpoint, to chat.Target, cursor, question string, code Span) bool {
	dialect := e.Sender.Dialect(to)
	room := e.Sender.Profile(to).TextLimit - dialect.Len(markup.Rendered{Text: cursor})
	return dialect.Len(dialect.Render(lines(question, codeIn(question, question, code)))) <= room
}
