package preview

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"telex/internal/chat"
	"telex/internal/markup"
)

// next names the one thing to do now. It changes nothing but what it remembers of its layouts.
func (s *state) next(now time.Time) action {
	switch {
	case s.dead:
		return action{kind: doEnd}
	case now.Before(s.hold):
		return action{kind: doWait, until: s.hold, deaf: true}
	case s.ending == nil:
		return s.preview(now)
	case now.After(s.deadline):
		return action{kind: doEnd}
	case s.ending.Keep:
		return s.keep()
	}
	return s.finish()
}

// keep takes the cursor away and leaves everything else as it stands.
func (s *state) keep() action {
	for i, p := range s.parts {
		if s.canEdit && p.editable() && (p.cursor || p.unsure) {
			return s.bare(i)
		}
	}
	return action{kind: doEnd}
}

// bare shows part i as it is, without its cursor.
func (s *state) bare(i int) action {
	a := action{kind: doEdit, part: i, body: s.parts[i].shown, class: chat.ClassFinal}
	if s.parts[i].plain {
		a.body = plainPayload(a.body)
	}
	return a
}

// finish makes the messages equal to the rendered final: first what exists and what is
// missing, in order, then what is too much.
func (s *state) finish() action {
	want := s.layoutFinal()
	for i, w := range want {
		a := action{kind: doSend, part: i, body: s.payload(i, w), class: chat.ClassFinal}
		if i >= len(s.parts) {
			return a
		}
		switch p := s.parts[i]; {
		case p.given, s.deleted(i):
		case !p.exists:
			if p.uncertain < uncertainCreates {
				return a
			}
		case s.canEdit && p.editable() && !p.shows(a.body):
			a.kind = doEdit
			return a
		}
	}
	for i := len(want); i < len(s.parts); i++ {
		switch p := s.parts[i]; {
		case !p.editable():
		case s.canDelete:
			return action{kind: doDelete, part: i, class: chat.ClassFinal}
		case s.canEdit && p.cursor:
			return s.bare(i)
		}
	}
	return action{kind: doEnd}
}

// deleted says that a person deleted part i and left later ones: it does not come back below
// them. One that could not be put back before they came is not deleted but missing.
func (s *state) deleted(i int) bool {
	p := s.parts[i]
	return p.gone && p.uncertain < uncertainCreates && slices.ContainsFunc(s.parts[i+1:], func(p part) bool { return p.exists })
}

// layoutFinal returns the parts of the final. A text of which Markdown shows nothing, such
// as a lone link definition, is shown as it was written.
func (s *state) layoutFinal() []markup.Part {
	if s.final != nil {
		return s.final
	}
	text := s.layoutText()
	if len(text) == 0 && strings.TrimSpace(s.ending.Text) != "" {
		s.literal = true
		text = s.layoutText()
	}
	s.final, s.texts = text, len(text)
	if s.ending.Note != "" {
		s.final = s.addNote(text, markup.Layout(s.ending.Note, markup.Options{Dialect: s.dialect, Limit: s.limit}))
	}
	return s.final
}

// layoutText returns the parts of the final without its note.
func (s *state) layoutText() []markup.Part {
	text, o := s.ending.Text, markup.Options{Dialect: s.dialect, Limit: s.limit, Open: s.ending.Cut}
	if s.literal {
		text, o.Open = verbatim(text), false
	}
	if n := len(s.kept); n > 0 {
		o.From = s.kept[n-1].Next
	}
	return slices.Concat(s.kept, markup.Layout(text, o))
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
	if len(text) == 0 || len(note) != 1 || len(note[0].Rendered.Spans) > 0 {
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

// preview shows the newest view when it is due.
func (s *state) preview(now time.Time) action {
	if !s.cfg.Enabled || !s.canEdit || s.muted {
		return s.pause(now, time.Time{}, false)
	}
	text, due := s.shownText(now)
	if text == "" || len(text) == s.drawn {
		return s.pause(now, due, false)
	}
	if due = s.due(); now.Before(due) {
		return s.pause(now, due, true)
	}
	i, from := s.active()
	laid := markup.Layout(text, markup.Options{Dialect: s.dialect, Limit: s.limit, From: from, Open: true})
	if len(laid) == 0 {
		s.looked, s.drawn = now, len(text)
		return s.pause(now, time.Time{}, false)
	}
	a := action{kind: doSend, part: i, body: s.payload(i, laid[0]), start: from, size: len(text), class: chat.ClassPreview}
	a.seal, a.next = len(laid) > 1, laid[0].Next
	a.cursor = !a.seal && s.cfg.Cursor != ""
	switch {
	case i == len(s.parts) || !s.parts[i].exists:
		if i == 0 {
			a.class = chat.ClassFirst
		}
	case s.parts[i].cursor != a.cursor || s.parts[i].unsure || !s.parts[i].shown.equal(a.body):
		a.kind = doEdit
	case a.seal:
		a.kind = doSeal
	default:
		s.looked, s.drawn = now, len(text)
		return action{kind: doWait}
	}
	return a
}

// due is when the next preview may be made.
func (s *state) due() time.Time {
	due := s.looked.Add(lookEvery)
	if next := s.lastCall.Add(s.cfg.Interval); next.After(due) && !s.continues() {
		due = next
	}
	return due
}

// continues says that a part was sealed and its successor is not there yet: the text that
// overflowed is shown without waiting another interval.
func (s *state) continues() bool {
	return len(s.parts) > 0 && s.parts[len(s.parts)-1].sealed
}

// active returns the part that grows, and where it begins in the source.
func (s *state) active() (int, markup.Mark) {
	n := len(s.parts)
	if n == 0 {
		return 0, markup.Mark{}
	}
	if last := s.parts[n-1]; !last.sealed {
		return n - 1, last.start
	}
	return n, s.parts[n-1].next
}

// shownText returns the text to show: all of it once there is enough for the first display,
// whole words when the model is slow. While it returns none, due is when that will have
// changed even without more text; the zero time when it will not.
func (s *state) shownText(now time.Time) (text string, due time.Time) {
	text = s.view.Text
	if s.displayed && !s.restored || s.view.Tokens >= s.cfg.MinTokens {
		return text, time.Time{}
	}
	if slow := s.started.Add(slowAfter); now.Before(slow) {
		return "", slow
	}
	text = text[:strings.LastIndexFunc(text, unicode.IsSpace)+1]
	return strings.TrimRightFunc(text, unicode.IsSpace), time.Time{}
}

// pause waits until due, or without it for news alone. Until something is visible it keeps
// the typing indicator alive meanwhile. A deaf pause is not ended by new text.
func (s *state) pause(now, due time.Time, deaf bool) action {
	a := action{kind: doWait, until: due, deaf: deaf}
	if s.displayed || !s.canType || s.typing <= 0 {
		return a
	}
	renew := s.lastType.Add(s.typing)
	if !now.Before(renew) {
		return action{kind: doType, class: chat.ClassTyping}
	}
	if due.IsZero() || renew.Before(due) {
		a.until = renew
	}
	return a
}
