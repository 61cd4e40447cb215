package preview

import (
	"slices"
	"strings"
	"time"

	"telex/internal/markup"
)

// frame is what a preview shows around its text. The zero value is an empty frame. The store records only that a
// preview had a frame, not its content.
type frame struct {
	above      string // the model's thoughts
	below      string // the status
	code       Span   // the bytes of the field below that are formatted as code
	actionIDs  string // ids of the status's buttons
	asksPerson bool   // the frame contains a question; while a person is asked, the model writes no text, so there is no cursor
}

// wantedFrame returns the frame for part i at the time now. If a tool or the model's thinking began too recently to be
// shown, the result due is the time when it will be shown.
func (s *state) wantedFrame(now time.Time, i int, text string) (f frame, due time.Time) {
	v := s.view.Status
	longEnough := func(since time.Time) bool {
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
		f.actionIDs, f.asksPerson = v.actionIDs(), true
	case !v.empty() && s.cfg.Progress && s.cfg.Enabled && longEnough(v.Since):
		f.below, f.actionIDs = strings.Join(v.Lines, "\n"), v.actionIDs()
	}
	if thought := strings.TrimSpace(v.Thought); thought != "" && i == 0 && s.cfg.Enabled && longEnough(v.ThoughtSince) {
		f.above = "💭 " + thought
	}
	return f, due
}

// actionIDs returns the ids of the buttons, one per line.
func (s Status) actionIDs() string {
	var b strings.Builder
	for _, a := range s.Actions {
		b.WriteString(a.ID + "\n")
	}
	return b.String()
}

// mustClearFrame reports whether part i shows an outdated frame and a cursor can take the frame's place.
func (s *state) mustClearFrame(i int) bool {
	stale := s.at(i).exists() && s.at(i).shown.frame != frame{} || s.drafted() && s.draft.part == i && s.draft.frame != frame{}
	return stale && s.cfg.Cursor != ""
}

// withFrame returns body with the frame f around it.
func (s *state) withFrame(body markup.Rendered, f frame) markup.Rendered {
	if f.above != "" {
		quote := markup.Format{Style: markup.Quote, End: len(f.above)}
		body = s.join(s.dialect.Render(markup.Piece{Text: f.above, Formats: []markup.Format{quote}}), body)
	}
	if f.below != "" {
		body = s.join(body, s.dialect.Render(lines(f.below, f.code)))
	}
	return body
}

// join returns a with b below it.
func (s *state) join(a, b markup.Rendered) markup.Rendered {
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

// plain returns text with the frame around it, as plain text.
func (f frame) plain(text string) string {
	var all []string
	for _, paragraph := range []string{f.above, text, f.below} {
		if paragraph != "" {
			all = append(all, paragraph)
		}
	}
	return strings.Join(all, "\n\n")
}

// fitFrame returns as much of the frame as fits into the message together with the text. If the whole frame does not
// fit, fitFrame drops the model's thoughts before the status.
func (s *state) fitFrame(body markup.Rendered, want frame) frame {
	lines, thought := want, frame{above: want.above}
	lines.above = ""
	for _, f := range []frame{want, lines, thought} {
		if s.fits(s.withFrame(body, f)) {
			return f
		}
	}
	return frame{}
}

// fits reports whether a message has room for r.
func (s *state) fits(r markup.Rendered) bool { return s.dialect.Len(r) <= s.limit }

// questionVisible reports whether people can see the current question.
func (s *state) questionVisible() bool {
	if !s.view.Status.urgent() {
		return false
	}
	question, _ := s.questionText()
	if s.question.exists() && !s.question.unsure() && s.question.shown.body.plain == question || s.drafted() && s.draft.frame.below == question {
		return true
	}
	return slices.ContainsFunc(s.parts, func(p message) bool { return p.exists() && !p.unsure() && p.shown.frame.below == question })
}
