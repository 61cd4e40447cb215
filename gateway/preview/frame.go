package preview

import (
	"strings"
	"time"

	"telex/internal/markup"
)

// frame is what a preview shows around its text. The zero frame is nothing. Nothing of it is recorded, but
// that there was some.
type frame struct {
	below string // the status
	asks  string // which buttons of the status there are
}

// wanted returns what belongs around the text of part i now; while it lacks something that is wanted, due
// is when that will have changed even without news.
func (s *state) wanted(now time.Time, i int, text string) (f frame, due time.Time) {
	v := s.view.Status
	if v.empty() || !v.Urgent && !(s.cfg.Progress && s.cfg.Enabled) {
		return frame{}, time.Time{}
	}
	if text == "" && !s.displayed && !v.Urgent {
		if open := v.Since.Add(statusAfter); now.Before(open) {
			return frame{}, open
		}
	}
	if f.below = strings.Join(v.Lines, "\n"); v.Urgent {
		f.below = s.clipped(f.below)
	}
	f.asks = v.asks()
	return f, time.Time{}
}

// asks names the buttons.
func (s Status) asks() string {
	var b strings.Builder
	for _, a := range s.Actions {
		b.WriteString(a.ID + "\n")
	}
	return b.String()
}

// clears says that part i shows lines that are over, and nothing else: its cursor alone takes their place.
func (s *state) clears(i int) bool {
	stale := i < len(s.parts) && s.parts[i].exists && s.parts[i].frame != frame{} || s.drafted() && s.draft.part == i && s.draft.frame != frame{}
	return stale && s.cfg.Cursor != ""
}

// framed returns what a message shows that has f around its text.
func (s *state) framed(body markup.Rendered, f frame) markup.Rendered {
	if f.below != "" {
		body = s.joined(body, s.dialect.Render(markup.Piece{Text: f.below}))
	}
	return body
}

// joined returns b below a.
func (s *state) joined(a, b markup.Rendered) markup.Rendered {
	if a.Text == "" {
		return b
	}
	const gap = "\n\n"
	shift := s.dialect.Len(markup.Rendered{Text: a.Text + gap + "."}) - s.dialect.Len(markup.Rendered{Text: "."})
	out := markup.Rendered{Text: a.Text + gap + b.Text, Spans: a.Spans[:len(a.Spans):len(a.Spans)]}
	for _, span := range b.Spans {
		span.Offset += shift
		out.Spans = append(out.Spans, span)
	}
	return out
}

// plain returns what is shown without any markup.
func (f frame) plain(text string) string {
	if f.below == "" {
		return text
	}
	return strings.TrimLeft(text+"\n\n", "\n") + f.below
}

// fitting returns what there is room for around the text.
func (s *state) fitting(body markup.Rendered, want frame) frame {
	if s.fits(s.framed(body, want)) {
		return want
	}
	return frame{}
}

// fits says that a message has room for r.
func (s *state) fits(r markup.Rendered) bool { return s.dialect.Len(r) <= s.limit }

// clipped returns what asks a person, as much of it as fits into a message.
func (s *state) clipped(question string) string {
	return clip(question, func(text string) bool { return s.fits(s.dialect.Render(markup.Piece{Text: text})) })
}
