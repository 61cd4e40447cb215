package preview

import (
	"slices"
	"strings"

	"telex/internal/markup"
)

// The visible text of an interrupted answer may look complete, so the bot shows a stop mark, usually "(stopped)", below
// the last message of the answer. The stop mark is not part of the text. The stop mark is not stored, and the bot
// creates no message only to show the stop mark. If the next process continues the answer, it edits the message to
// remove the stop mark. If the platform returned no id for the message, the message keeps its stop mark.

// markAt returns the index of the part that shows the stop mark. markAt returns false if no part shows it.
func (s *state) markAt() (int, bool) {
	if s.ending == nil || !s.ending.Stopped || s.cfg.StopMark == "" {
		return 0, false
	}
	if s.keepsDraft() {
		return s.draft.part, true
	}
	for i, p := range slices.Backward(s.parts) {
		if p.exists() && !p.file && !p.blank() {
			return i, true
		}
	}
	return 0, false
}

// marked returns display d of part i. If part i must show the stop mark and has room for it, marked adds the stop mark.
func (s *state) marked(i int, d display) display {
	if at, ok := s.markAt(); ok && at == i && s.fits(s.withMark(d.body.rendered)) {
		d.mark = s.cfg.StopMark
	}
	return d
}

// withMark returns body with the stop mark below it.
func (s *state) withMark(body markup.Rendered) markup.Rendered {
	return s.join(body, s.dialect.Render(markup.Piece{Text: s.cfg.StopMark}))
}

// incomplete reports whether people see only the beginning of the text.
func (s *state) incomplete(text string) bool {
	return s.displayed && s.visible() < len(strings.TrimSpace(text))
}
