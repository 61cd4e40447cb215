package preview

import (
	"slices"
	"strings"

	"telex/internal/markup"
)

// A text that was stopped looks complete. Below its last message stands a mark that says otherwise. The mark is no part of
// the text: nothing of it is recorded, and no message is made for it.

// markAt returns the part that the mark belongs to; false where there is none.
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

// marked returns what part i shows with the mark, if it belongs there and there is room for it.
func (s *state) marked(i int, d display) display {
	if at, ok := s.markAt(); ok && at == i && s.fits(s.withMark(d.body.rendered)) {
		d.mark = s.cfg.StopMark
	}
	return d
}

// withMark returns what a message shows that has the mark.
func (s *state) withMark(body markup.Rendered) markup.Rendered {
	return s.joined(body, s.dialect.Render(markup.Piece{Text: s.cfg.StopMark}))
}

// incomplete reports whether people do not see all of a text yet.
func (s *state) incomplete(text string) bool {
	return s.displayed && s.visible() < len(strings.TrimSpace(text))
}
