package preview

import (
	"slices"
	"strings"

	"telex/internal/markup"
)

// A stopped text looks complete, so a mark is shown below its last message. The mark is not part of the text: it
// is not recorded, and no message is created for it.

// markAt returns the part that shows the mark, or false if there is none.
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

// marked returns the display d with the mark, if the mark belongs to part i and fits.
func (s *state) marked(i int, d display) display {
	if at, ok := s.markAt(); ok && at == i && s.fits(s.withMark(d.body.rendered)) {
		d.mark = s.cfg.StopMark
	}
	return d
}

// withMark returns body with the mark below it.
func (s *state) withMark(body markup.Rendered) markup.Rendered {
	return s.join(body, s.dialect.Render(markup.Piece{Text: s.cfg.StopMark}))
}

// incomplete reports whether some of a text is not visible yet.
func (s *state) incomplete(text string) bool {
	return s.displayed && s.visible() < len(strings.TrimSpace(text))
}
