package preview

import (
	"slices"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
)

// finale is the layout of the ending.
type finale struct {
	final    []markup.Part // its parts, made once per limit; nil until then
	texts    int           // how many of them show text, not the note alone
	remark   string        // what stands below the text, as people read it
	noteAt   int           // index in final of the part that ends with the note; -1: no note
	rest     *chat.File    // what does not fit into the parts; nil: everything does
	restAt   int           // which of final is the caption of rest
	restText bool          // what is beyond the most parts is text all the same
	files    []chat.File   // of the ending, as far as they can be sent
	filesAt  int           // which of final is the caption of the first of them
	kept     []markup.Part // the first of them, cut when limit was larger
	literal  bool          // Markdown shows nothing of the final: it is shown as it was written
	seam     seam          // where the ending keeps what is visible, and some of that is a final
	relaid   bool          // the ending is what was shown, in more messages than before
}

// layoutFinal lays out the ending, unless that was done. A text of which Markdown shows nothing, such
// as a lone link definition, is shown as it was written.
func (s *state) layoutFinal() {
	if s.final != nil || s.ending == nil || s.ending.Keep {
		return
	}
	text := s.layoutText()
	if len(text) == 0 && strings.TrimSpace(s.ending.Text) != "" {
		s.literal = true
		text = s.layoutText()
	}
	text = s.layoutRest(text)
	note := s.layoutNote(len(text))
	s.final, s.texts, s.noteAt = text, len(text), -1
	if s.rest != nil {
		s.texts = s.restAt
	}
	if len(note) > 0 {
		s.final = s.addNote(text, note)
		s.noteAt = len(s.final) - 1
	}
	s.filesAt = len(s.final)
	s.final = append(s.final[:s.filesAt:s.filesAt], make([]markup.Part, len(s.files))...)
}

// layoutText returns the parts of the final without its note.
func (s *state) layoutText() []markup.Part {
	text, o := s.ending.Text, markup.Options{Dialect: s.dialect, Limit: s.limit, Open: s.ending.Cut, Paused: true}
	if s.literal {
		text, o.Open = verbatim(text), false
	}
	if o.Open {
		text += "\n" // nothing more comes: else the last row of a table would be one that goes on, and not be shown
	}
	if grown := s.layoutGrown(text, o); grown != nil {
		return grown
	}
	if len(s.kept) == 0 {
		s.kept = s.layoutStanding(text, o)
	}
	return layoutBehind(s.kept, text, o)
}

// layoutBehind returns parts of a text and those that follow them.
func layoutBehind(parts []markup.Part, text string, o markup.Options) []markup.Part {
	if n := len(parts); n > 0 {
		last := parts[n-1]
		if last.End >= len(text) { // where a part would go on that has no successor means nothing
			return parts
		}
		o.From = last.Next
	}
	return slices.Concat(parts, markup.Layout(text, o))
}

// layoutGrown returns the parts of the final cut where streams were cut, so that what is full stays as it is;
// nil where there are none, or where that would show anything else.
func (s *state) layoutGrown(text string, o markup.Options) []markup.Part {
	if !s.grows || s.literal || len(s.kept)+len(s.cuts) > 0 || !slices.ContainsFunc(s.parts, func(p message) bool { return p.sealed() }) {
		return nil
	}
	return grown(text, o)
}

// grown returns the parts of a text cut as streams are; nil where that would show anything else.
func grown(text string, o markup.Options) []markup.Part {
	whole := markup.Layout(text, o)
	o.Append, o.Open = true, false
	parts := markup.Layout(text, o)
	if shownBy(whole) != shownBy(parts) {
		return nil
	}
	return parts
}

// shownBy is what parts show, wherever they are cut.
func shownBy(parts []markup.Part) string {
	var b strings.Builder
	for _, p := range parts {
		for w := range strings.FieldsSeq(p.Plain) {
			b.WriteString(w)
		}
	}
	return b.String()
}

// layoutStanding returns the parts that an earlier process sent, cut as it had cut them. Whether it had cut a stream is not
// recorded: what stands tells.
func (s *state) layoutStanding(text string, o markup.Options) []markup.Part {
	kept := layoutCuts(s.cuts, text, o)
	if !s.grows || grown(text, o) == nil && !s.nameless { // what nobody can change stays, whatever it shows
		return kept
	}
	o.Append, o.Open = true, false
	if parts := layoutCuts(s.cuts, text, o); s.standing(parts) > s.standing(kept) {
		return parts
	}
	return kept
}

// standing counts the messages that show one of these parts each.
func (s *state) standing(parts []markup.Part) (n int) {
	for i, p := range parts {
		if i < len(s.parts) && s.parts[i].exists() && s.parts[i].shown.body.equal(s.payload(i, p)) {
			n++
		}
	}
	return n
}

// layoutCuts returns the parts that the recorded cuts make.
func layoutCuts(cuts []int, text string, o markup.Options) []markup.Part {
	var kept []markup.Part
	for _, o.Limit = range cuts {
		laid := markup.Layout(text, o)
		if len(laid) == 0 {
			break
		}
		kept, o.From = append(kept, laid[0]), laid[0].Next
		if laid[0].End >= len(text) {
			break // further cuts are those of the note
		}
	}
	return kept
}

// layoutRest puts what is beyond the most parts into a file, whose caption is the last part.
func (s *state) layoutRest(text []markup.Part) []markup.Part {
	s.rest = nil
	n := s.cfg.MaxParts
	if !s.can(chat.OpFile) || s.restText || n <= 0 || len(text) <= n || s.literal {
		return text
	}
	p := s.at(n)
	if !p.file && (p.exists() || p.attempt.unresolved > 0) {
		return text // an earlier process sent the rest as text
	}
	caption := markup.Layout(s.cfg.FileLine, markup.Options{Dialect: s.dialect, Limit: s.limit})
	if p.file && p.exists() {
		caption = []markup.Part{{Rendered: p.shown.body.rendered, Plain: p.shown.body.plain}} // it stands
	}
	if len(caption) != 1 {
		return text
	}
	s.restAt = n
	s.rest = &chat.File{
		Name: "answer.md", MediaType: "text/markdown; charset=utf-8",
		Content: []byte(markup.Rest(s.ending.Text, text[n-1])),
	}
	return append(text[:n:n], caption[0])
}

// verbatim returns Markdown that shows text as it was written.
func verbatim(text string) string {
	fence := "~~~~~~"
	for strings.Contains(text, fence) {
		fence += "~"
	}
	return fence + "\n" + text + "\n" + fence
}

// addNote puts the note below the text: into the last part when it fits, so that it is never
// swallowed by a code block that the text left open, else into parts of its own.
func (s *state) addNote(text, note []markup.Part) []markup.Part {
	if len(text) == 0 || s.rest != nil || len(note) != 1 || len(note[0].Rendered.Spans) > 0 {
		return append(text, note...)
	}
	last := text[len(text)-1]
	last.Rendered.Text += "\n\n" + note[0].Rendered.Text
	last.Plain += "\n\n" + note[0].Plain
	if s.dialect.Len(last.Rendered) > s.limit {
		return append(text, note...)
	}
	return append(text[:len(text)-1:len(text)-1], last)
}
