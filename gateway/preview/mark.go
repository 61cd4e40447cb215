package preview

import (
	"slices"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
)

// A text that was stopped looks complete. Below its last message stands a mark that says otherwise. The mark is no part of
// the text: nothing of it is recorded, and no message is made for it.

// markAt returns the part that the mark belongs to; false where there is none.
func (s *state) markAt() (int, bool) {
	if s.ending == nil || !s.ending.Stopped || s.cfg.StopMark == "" {
		return 0, false
	}
	if i := s.draft.part; s.drafted() && s.draft.body.rendered.Text != "" && (i >= len(s.parts) || !s.parts[i].exists()) {
		return i, true
	}
	for i, p := range slices.Backward(s.parts) {
		if p.exists() && !p.file && !p.blank() {
			return i, true
		}
	}
	return 0, false
}

// marked returns a with the mark, if it belongs there and there is room for it.
func (s *state) marked(a action) action {
	if i, ok := s.markAt(); ok && i == a.part && s.fits(s.withMark(a.body.rendered)) {
		a.mark = s.cfg.StopMark
	}
	return a
}

// lacksMark reports whether part i must be edited for the mark.
func (s *state) lacksMark(i int) bool {
	return s.parts[i].shown.mark == "" && s.bare(i).mark != ""
}

// withMark returns what a message shows that has the mark.
func (s *state) withMark(body markup.Rendered) markup.Rendered {
	return s.joined(body, s.dialect.Render(markup.Piece{Text: s.cfg.StopMark}))
}

// decorateMark adds the mark to a message.
func (s *state) decorateMark(m *chat.Outgoing, a action) {
	whole := s.withMark(a.body.rendered)
	m.Text, m.Plain, m.Note, m.Spans = whole.Text, a.body.plain+"\n\n"+a.mark, a.mark, nil
	for _, span := range whole.Spans {
		m.Spans = append(m.Spans, chat.Span(span))
	}
}

// incomplete reports whether people do not see all of a text yet.
func (s *state) incomplete(text string) bool {
	return s.displayed && s.visible() < len(strings.TrimSpace(text))
}
