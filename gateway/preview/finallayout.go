package preview

import (
	"slices"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
)

// finalLayout is the division of the ending's text into parts, and the files that follow them.
type finalLayout struct {
	finalBegan bool          // an earlier process may have shown some of the final
	markdown   string        // the text of the ending
	final      []markup.Part // the parts of the ending; nil until they are laid out, and again after the limit has changed
	textCount  int           // number of parts that show text; parts that show only the ending's note don't count
	noteText   string        // plain text of the ending's note
	noteAt     int           // index in final of the part that ends with the note; -1: there is no note
	restFile   *chat.File    // the text that does not fit into the parts; nil: all text fits
	restAt     int           // index in final of the caption of restFile
	restAsText bool          // the platform refused restFile, so its text is sent as messages
	files      []chat.File   // files of the ending that can be sent
	filesAt    int           // index in final of the caption of the first file
	keptParts  []markup.Part // the first parts of final, which were cut when the limit was larger
	literal    bool          // the Markdown renders to nothing, so its source is shown
	seam       seam          // the border between messages with the final and messages with previews; used if Ending.Keep is set
	relaid     bool          // the method resend replaced the ending: the visible text is sent again, in more messages
}

// layoutFinal lays out the ending if it has no layout yet. If the Markdown of the text renders to nothing, for example
// because it is only a link definition, layoutFinal shows the Markdown source.
func (s *state) layoutFinal() {
	if s.final != nil || s.ending == nil || s.ending.Keep {
		return
	}
	s.markdown = s.ending.Text
	text := s.layoutText()
	if len(text) == 0 && strings.TrimSpace(s.ending.Text) != "" {
		s.literal = true
		text = s.layoutText()
	}
	text = s.layoutRest(text)
	note := s.layoutNote(len(text))
	s.final, s.textCount, s.noteAt = text, len(text), -1
	if s.restFile != nil {
		s.textCount = s.restAt
	}
	if len(note) > 0 {
		s.final = s.addNote(text, note)
		s.noteAt = len(s.final) - 1
	}
	s.filesAt = len(s.final)
	s.final = append(s.final[:s.filesAt:s.filesAt], make([]markup.Part, len(s.files))...)
}

// layoutText returns the parts that show the text of the final, without the note.
func (s *state) layoutText() []markup.Part {
	text, o := s.ending.Text, markup.Options{Dialect: s.dialect, Limit: s.limit, Open: s.ending.Cut, Paused: true}
	if s.literal {
		text, o.Open = verbatim(text), false
	}
	if o.Open {
		text += "\n" // the text is complete; without the newline, an unfinished last table row would be hidden
	}
	if grown := s.layoutAppendOnly(text, o); grown != nil {
		return grown
	}
	if len(s.keptParts) == 0 {
		s.keptParts = s.layoutStanding(text, o)
	}
	return layoutBehind(s.keptParts, text, o)
}

// layoutBehind returns the given parts, followed by new parts that show the rest of the text.
func layoutBehind(parts []markup.Part, text string, o markup.Options) []markup.Part {
	if n := len(parts); n > 0 {
		last := parts[n-1]
		if last.End >= len(text) { // in the last part of a text, the field Next has no meaning
			return parts
		}
		o.From = last.Next
	}
	return slices.Concat(parts, markup.Layout(text, o))
}

// layoutAppendOnly divides the final at the places where a stream would be divided, so that full messages need no edit.
// layoutAppendOnly returns nil if no part was streamed, or if the result would show different text than the usual
// layout.
func (s *state) layoutAppendOnly(text string, o markup.Options) []markup.Part {
	if !s.grows || s.literal || len(s.keptParts)+len(s.cuts) > 0 || !slices.ContainsFunc(s.parts, func(p message) bool { return p.sealed() }) {
		return nil
	}
	return layoutAppended(text, o)
}

// layoutAppended divides a text at the places where a stream would be divided. layoutAppended returns nil if the result
// would show different text than the usual layout.
func layoutAppended(text string, o markup.Options) []markup.Part {
	whole := markup.Layout(text, o)
	o.Append, o.Open = true, false
	parts := markup.Layout(text, o)
	if plainText(whole) != plainText(parts) {
		return nil
	}
	return parts
}

// plainText returns the text of the parts without white space, so that texts that are cut at different places can be
// compared.
func plainText(parts []markup.Part) string {
	var b strings.Builder
	for _, p := range parts {
		for w := range strings.FieldsSeq(p.Plain) {
			b.WriteString(w)
		}
	}
	return b.String()
}

// layoutStanding returns the parts that an earlier process sent, and cuts the text at the same places as that process.
// The stored records don't say whether the earlier process streamed the text. Therefore, layoutStanding divides the
// text both for a stream and for edited messages, and returns the layout that has more parts in common with the sent
// messages.
func (s *state) layoutStanding(text string, o markup.Options) []markup.Part {
	kept := layoutCuts(s.cuts, text, o)
	fixed := slices.ContainsFunc(s.parts, func(m message) bool { return m.exists() && m.ref.ID == "" }) // a message without an id can't be edited
	if !s.grows || layoutAppended(text, o) == nil && !fixed {
		return kept
	}
	o.Append, o.Open = true, false
	if parts := layoutCuts(s.cuts, text, o); s.countMatching(parts) > s.countMatching(kept) {
		return parts
	}
	return kept
}

// countMatching counts the messages that already show their part of the final.
func (s *state) countMatching(parts []markup.Part) (n int) {
	for i, p := range parts {
		if i < len(s.parts) && s.parts[i].exists() && s.parts[i].shown.body.equal(s.payload(i, p)) {
			n++
		}
	}
	return n
}

// layoutCuts lays out the first parts of the text with the maximum lengths that the records contain.
func layoutCuts(cuts []int, text string, o markup.Options) []markup.Part {
	var kept []markup.Part
	for _, o.Limit = range cuts {
		laid := markup.Layout(text, o)
		if len(laid) == 0 {
			break
		}
		kept, o.From = append(kept, laid[0]), laid[0].Next
		if laid[0].End >= len(text) {
			break // the remaining maximum lengths belong to parts of the note
		}
	}
	return kept
}

// layoutRest puts the text beyond the first MaxParts parts into a file. The caption of the file becomes the last part.
func (s *state) layoutRest(text []markup.Part) []markup.Part {
	s.restFile = nil
	n := s.cfg.MaxParts
	if !s.can(chat.OpFile) || s.restAsText || n <= 0 || len(text) <= n || s.literal {
		return text
	}
	p := s.at(n)
	if !p.file && (p.exists() || p.attempt.unresolved > 0) {
		return text // an earlier process already sent the rest as text
	}
	caption := markup.Layout(s.cfg.FileLine, markup.Options{Dialect: s.dialect, Limit: s.limit})
	if p.file && p.exists() {
		caption = []markup.Part{{Rendered: p.shown.body.rendered, Plain: p.shown.body.plain}} // the caption was already sent
	}
	if len(caption) != 1 {
		return text
	}
	s.restAt = n
	s.restFile = &chat.File{
		Name: "answer.md", MediaType: "text/markdown; charset=utf-8",
		Content: []byte(markup.Rest(s.ending.Text, text[n-1])),
	}
	return append(text[:n:n], caption[0])
}

// verbatim returns Markdown that shows text as it is, in a code block.
func verbatim(text string) string {
	fence := "~~~~~~"
	for strings.Contains(text, fence) {
		fence += "~"
	}
	return fence + "\n" + text + "\n" + fence
}

// addNote puts the ending's note below the text. If the note fits into the last part, addNote adds it after rendering,
// so that the note does not become part of an open code block. If the note does not fit, it gets parts of its own.
func (s *state) addNote(text, note []markup.Part) []markup.Part {
	if len(text) == 0 || s.restFile != nil || len(note) != 1 {
		return append(text, note...)
	}
	last := text[len(text)-1]
	last.Rendered = s.join(last.Rendered, note[0].Rendered)
	last.Plain += "\n\n" + note[0].Plain
	if s.dialect.Len(last.Rendered) > s.limit {
		return append(text, note...)
	}
	return append(text[:len(text)-1:len(text)-1], last)
}
