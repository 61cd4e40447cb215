package preview

import (
	"slices"
	"strings"
	"time"

	"telex/internal/markup"
)

// frame is what a preview shows around its text. The zero frame is nothing. Nothing of it is recorded, but
// that there was some.
type frame struct {
	above string // what the model thinks
	below string // the status
	code  Span   // of below, shown as code
	asks  string // which buttons of the status there are
	waits bool   // a person is asked, so that nothing is being written: there is no cursor
}

// wanted returns what belongs around the text of part i now; while it lacks something that is wanted, due
// is when that will have changed even without news.
func (s *state) wanted(now time.Time, i int, text string) (f frame, due time.Time) {
	v := s.view.Status
	lasts := func(since time.Time) bool {
		at := since.Add(statusAfter)
		if text != "" || s.displayed || !now.Before(at) {
			return true
		}
		if due.IsZero() || at.Before(due) {
			due = at
		}
		return false
	}
	switch {
	case v.urgent():
		f.below, f.code = s.questionText()
		f.asks, f.waits = v.asks(), true
	case !v.empty() && s.cfg.Progress && s.cfg.Enabled && lasts(v.Since):
		f.below, f.asks = strings.Join(v.Lines, "\n"), v.asks()
	}
	if thought := strings.TrimSpace(v.Thought); thought != "" && i == 0 && s.cfg.Enabled && lasts(v.ThoughtSince) {
		f.above = "💭 " + thought
	}
	return f, due
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
	stale := s.at(i).exists() && s.at(i).shown.frame != frame{} || s.drafted() && s.draft.part == i && s.draft.frame != frame{}
	return stale && s.cfg.Cursor != ""
}

// framed returns what a message shows that has f around its text.
func (s *state) framed(body markup.Rendered, f frame) markup.Rendered {
	if f.above != "" {
		quote := markup.Format{Style: markup.Quote, End: len(f.above)}
		body = s.joined(s.dialect.Render(markup.Piece{Text: f.above, Formats: []markup.Format{quote}}), body)
	}
	if f.below != "" {
		body = s.joined(body, s.dialect.Render(lines(f.below, f.code)))
	}
	return body
}

// joined returns b below a.
func (s *state) joined(a, b markup.Rendered) markup.Rendered {
	switch {
	case a.Text == "":
		return b
	case b.Text == "":
		return a
	}
	const gap = "\n\n"
	shift := s.dialect.Len(markup.Rendered{Text: a.Text + gap + "."}) - s.dialect.Len(markup.Rendered{Text: "."})
	out := markup.Rendered{Text: a.Text + gap + b.Text, Spans: slices.Clip(a.Spans)}
	for _, span := range b.Spans {
		span.Offset += shift
		out.Spans = append(out.Spans, span)
	}
	return out
}

// plain returns what is shown without any markup.
func (f frame) plain(text string) string {
	var all []string
	for _, paragraph := range []string{f.above, text, f.below} {
		if paragraph != "" {
			all = append(all, paragraph)
		}
	}
	return strings.Join(all, "\n\n")
}

// fitting returns what there is room for around the text: the thought goes before the status.
func (s *state) fitting(body markup.Rendered, want frame) frame {
	lines, thought := want, frame{above: want.above}
	lines.above = ""
	for _, f := range []frame{want, lines, thought} {
		if s.fits(s.framed(body, f)) {
			return f
		}
	}
	return frame{}
}

// fits says that a message has room for r.
func (s *state) fits(r markup.Rendered) bool { return s.dialect.Len(r) <= s.limit }

// inView says that people see what they are asked now.
func (s *state) inView() bool {
	if !s.view.Status.urgent() {
		return false
	}
	question, _ := s.questionText()
	if s.question.exists() && !s.question.unsure() && s.question.shown.body.plain == question || s.drafted() && s.draft.frame.below == question {
		return true
	}
	return slices.ContainsFunc(s.parts, func(p message) bool { return p.exists() && !p.unsure() && p.shown.frame.below == question })
}
