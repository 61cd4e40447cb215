package preview

import (
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// finale is the layout of the ending.
type finale struct {
	final    []markup.Part // its parts, made once per limit; nil until then
	texts    int           // how many of them show text, not the note alone
	remark   string        // what stands below the text, as people read it
	noteAt   int           // which of final the note ends in; -1: there is none
	rest     *chat.File    // what does not fit into the parts; nil: everything does
	restAt   int           // which of final is the caption of rest
	restText bool          // what is beyond the most parts is text all the same
	files    []chat.File   // of the ending, as far as they can be sent
	filesAt  int           // which of final is the caption of the first of them
	kept     []markup.Part // the first of them, cut when limit was larger
	literal  bool          // Markdown shows nothing of the final: it is shown as it was written
	relaid   bool          // the ending is what was shown, in more messages than before
}

// keep takes cursors away and leaves everything else as it stands. A draft, which would
// vanish, becomes a message.
func (s *state) keep(now time.Time) action {
	for i, p := range s.parts {
		if a, ok := s.seek(i, now); ok {
			return a
		}
		if a, ok := s.trim(i); ok {
			return a
		}
		switch {
		case p.exists() && p.streams():
			return s.stop(i)
		case p.blank() && !p.file && p.exists() && p.ref.ID != "" && s.can(chat.OpDelete): // only what tools did
			return action{kind: doDelete, part: i, class: chat.ClassFinal}
		case s.can(chat.OpEdit) && p.editable() && (p.unfinished() || s.lacksMark(i)):
			return s.bare(i)
		}
	}
	if i := s.draft.part; s.drafted() && s.draft.body.rendered.Text != "" && (i >= len(s.parts) || !s.parts[i].exists()) {
		a := action{kind: doSend, part: i, display: display{body: s.draft.body}, class: chat.ClassFinal}
		if i < len(s.parts) && s.parts[i].plain {
			a.body = plainPayload(a.body)
		}
		return s.create(s.marked(a), now)
	}
	if a := s.unfreeze(now); a.kind != doEnd {
		return a
	}
	if a, ok := s.dismiss(now); ok {
		return a
	}
	return s.thaw()
}

// trim takes from part i what the part before it shows too: that one was made final before the rest was given up, and the final
// is cut in other places than the previews were. False means that there is nothing to take.
func (s *state) trim(i int) (action, bool) {
	p := &s.parts[i]
	if i == 0 || i > len(s.final) || !p.editable() || p.streams() || !s.can(chat.OpEdit) || s.literal {
		return action{}, false
	}
	before := s.final[i-1]
	if !s.parts[i-1].shows(s.payload(i-1, before)) || before.Next == p.start || p.shown.body.end > len(s.view.Text) {
		return action{}, false
	}
	a := action{kind: doEdit, part: i, display: display{body: nothing()}, class: chat.ClassFinal}
	o := markup.Options{Dialect: s.dialect, Limit: s.limit, From: before.Next, Open: true, Paused: true}
	if laid := markup.Layout(s.view.Text[:p.shown.body.end], o); len(laid) > 0 {
		a.body = s.payload(i, laid[0])
	} else if s.can(chat.OpDelete) {
		a.kind = doDelete
	}
	return s.marked(a), a.kind == doDelete || p.unfinished() || !p.shown.body.equal(a.body)
}

// bare shows part i as it is, without its cursor.
func (s *state) bare(i int) action {
	a := action{kind: doEdit, part: i, display: display{body: s.parts[i].standing()}, stands: true, class: chat.ClassFinal}
	if s.parts[i].plain {
		a.body = plainPayload(a.body)
	}
	return s.marked(a)
}

// finish makes the messages equal to the rendered final, in order; then it removes what was
// replaced.
func (s *state) finish(now time.Time) action {
	want := s.final
	first, calls := action{kind: doEnd}, 0
	for i := range max(len(want), len(s.parts)) {
		a := s.finishPart(i, want, now)
		if a.kind == doEnd {
			continue
		}
		if calls++; calls == 1 {
			first = a
		}
	}
	if calls > 0 {
		first.calls = calls
		return first
	}
	if a, ok := s.dismiss(now); ok {
		return a
	}
	return s.thaw()
}

// finishPart is what part i still needs: doEnd is nothing.
func (s *state) finishPart(i int, want []markup.Part, now time.Time) action {
	if i >= len(want) {
		return s.remove(i, now)
	}
	a := action{kind: doSend, part: i, display: display{body: s.payload(i, want[i])}, class: chat.ClassFinal}
	if a.file = s.fileOf(i); a.file != nil {
		a.kind = doFile
	}
	if i >= len(s.parts) {
		return a
	}
	if a.kind == doFile && !s.parts[i].file { // under the key of a text the file would not be sent
		if found, ok := s.seek(i, now); ok {
			return found
		}
	}
	switch p := &s.parts[i]; {
	case p.abandoned && p.unfinished() && !p.streams() && s.can(chat.OpEdit) && !p.file && p.ref.ID != "": // what stands stays, without the cursor
		return s.bare(i)
	case p.abandoned, s.deleted(i, len(want)):
	case !p.exists(), p.ref.ID == "" && !p.shows(a.body):
		return s.create(a, now)
	case a.kind == doFile && !p.file: // text that nobody wants is in its place
		return s.remove(i, now)
	case a.kind == doFile: // there is one, and it can't be edited
	case p.file && s.can(chat.OpDelete):
		return action{kind: doDelete, part: i, class: chat.ClassFinal}
	case p.streams():
		added, ok := p.lacks(a.body)
		if !ok {
			return s.stop(i)
		}
		a.kind, a.added = doStop, added
		return a
	case s.can(chat.OpEdit) && p.editable() && !p.shows(a.body):
		a.kind = doEdit
		return a
	}
	return action{kind: doEnd}
}

// create is a, unless the outcome of an earlier try must be learned first or forbids it.
func (s *state) create(a action, now time.Time) action {
	s.prepare(&a, now)
	return a
}

// prepare makes a the create that it is, or what must come before it.
func (s *state) prepare(a *action, now time.Time) {
	if a.part >= len(s.parts) {
		return
	}
	p := s.at(a.part)
	uncertain := p.attempt.unresolved
	if p.attempt.resolution == byKey && !s.resendable(p, now) {
		uncertain++
	}
	switch {
	case s.missing(p, now):
		*a = action{kind: doFind, part: a.part, class: a.class}
	case uncertain >= uncertainCreates, p.abandoned, uncertain > 0 && s.ending == nil && a.part != apart:
		*a = action{kind: doEnd}
	case uncertain == uncertainCreates-1 && s.can(chat.OpTyping) && !s.probed:
		// The last try must not be spent on a platform that is still down.
		*a = action{kind: doType, part: a.part, class: chat.ClassFinal}
	}
}

// seek learns which message an earlier create of part i made, where that is possible.
func (s *state) seek(i int, now time.Time) (action, bool) {
	p := s.at(i)
	switch {
	case s.missing(p, now):
		return action{kind: doFind, part: i, class: chat.ClassFinal}, true
	case p.attempt.resolution == byKey && !p.exists() && !p.abandoned && !p.file && s.resendable(p, now):
		return action{kind: doSend, part: i, display: display{body: p.standing()}, stands: true, class: chat.ClassFinal}, true
	}
	return action{}, false
}

// missing says that the platform must be asked whether a create of p took effect: it does not know the
// key any more, if it ever did.
func (s *state) missing(p *message, now time.Time) bool {
	return p.attempt.resolution == byFind || p.attempt.resolution == byKey && !p.exists() && !p.abandoned && s.can(chat.OpFind) && !s.resendable(p, now)
}

// resendable says that another create of p under its key makes no second message.
func (s *state) resendable(p *message, now time.Time) bool {
	return now.Sub(p.attempt.first) < s.keyFor
}

// remove takes away part i, which the final does not have.
func (s *state) remove(i int, now time.Time) action {
	if a, ok := s.seek(i, now); ok {
		return a
	}
	switch p := &s.parts[i]; {
	case p.exists() && p.streams():
		return s.stop(i)
	case !p.exists(), p.abandoned, p.ref.ID == "":
	case s.can(chat.OpDelete):
		return action{kind: doDelete, part: i, class: chat.ClassFinal}
	case s.can(chat.OpEdit) && p.editable() && p.unfinished():
		return s.bare(i)
	}
	return action{kind: doEnd}
}

// deleted says that a person deleted part i of n and left later ones: it does not come back
// below them. One that could not be put back before they came is not deleted but missing.
func (s *state) deleted(i, n int) bool {
	p, later := s.parts[i], s.parts[i+1:max(i+1, min(n, len(s.parts)))]
	return p.phase == gone && p.attempt.unresolved < uncertainCreates && slices.ContainsFunc(later, func(p message) bool { return p.exists() })
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
	if n := len(s.kept); n > 0 {
		last := s.kept[n-1]
		if last.End >= len(text) { // where a part would go on that has no successor means nothing
			return s.kept
		}
		o.From = last.Next
	}
	return slices.Concat(s.kept, markup.Layout(text, o))
}

// layoutGrown returns the parts of the final cut where streams were cut, so that what is full stays as it is;
// nil where there are none, or where that would show anything else.
func (s *state) layoutGrown(text string, o markup.Options) []markup.Part {
	if !s.grows || s.literal || len(s.kept)+len(s.cuts) > 0 || !slices.ContainsFunc(s.parts, func(p message) bool { return p.sealed() }) {
		return nil
	}
	whole := markup.Layout(text, o)
	o.Append, o.Open = true, false
	grown := markup.Layout(text, o)
	if shownBy(whole) != shownBy(grown) {
		return nil
	}
	return grown
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

// layoutStanding returns the parts that an earlier process sent, cut as it had cut them.
func (s *state) layoutStanding(text string, o markup.Options) []markup.Part {
	var kept []markup.Part
	for _, o.Limit = range s.cuts {
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
	if n < len(s.parts) && !s.parts[n].file && (s.parts[n].exists() || s.parts[n].attempt.unresolved > 0) {
		return text // an earlier process sent the rest as text
	}
	caption := markup.Layout(s.cfg.FileLine, markup.Options{Dialect: s.dialect, Limit: s.limit})
	if n < len(s.parts) && s.parts[n].file && s.parts[n].exists() {
		caption = []markup.Part{{Rendered: s.parts[n].shown.body.rendered, Plain: s.parts[n].shown.body.plain}} // it stands
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

// payload is what part i looks like with the content w, plainly once its markup was refused.
func (s *state) payload(i int, w markup.Part) payload {
	b := payload{rendered: w.Rendered, plain: w.Plain, end: w.End}
	if i < len(s.parts) && s.parts[i].plain {
		b.rendered = markup.Rendered{Text: w.Plain}
	}
	return b
}

// delivered judges by content whether everything that was wanted is visible, and nothing else.
func (s *state) delivered() bool {
	switch {
	case s.ending == nil || s.dead:
		return false
	case s.ending.Stand:
		return true
	case s.ending.Keep:
		i := s.draft.part
		kept := !s.drafted() || s.draft.body.rendered.Text == "" || i < len(s.parts) && s.parts[i].exists()
		return kept && !slices.ContainsFunc(s.parts, func(p message) bool { return p.unfinished() })
	}
	want := s.final
	for i, w := range want {
		if i >= len(s.parts) || !s.deleted(i, len(want)) && !s.stands(i, w) {
			return false
		}
	}
	return len(s.parts) <= len(want) || !slices.ContainsFunc(s.parts[len(want):], func(p message) bool { return p.exists() })
}

// stands says that part i surely is what the final wants.
func (s *state) stands(i int, w markup.Part) bool {
	if s.fileOf(i) != nil {
		return s.parts[i].exists() || s.parts[i].abandoned
	}
	return s.parts[i].shows(s.payload(i, w))
}
