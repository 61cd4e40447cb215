package preview

import (
	"strings"
	"time"
	"unicode"

	"telex/internal/chat"
	"telex/internal/markup"
)

// next names the one thing to do now. It changes nothing but the cached layout of the final.
func (s *state) next(now time.Time) action {
	switch {
	case s.dead:
		return action{kind: doEnd}
	case now.Before(s.hold):
		return action{kind: doWait, until: s.hold}
	case s.ending != nil && now.After(s.deadline):
		return action{kind: doEnd}
	case s.ending != nil && s.ending.Keep:
		return s.keep()
	case s.ending != nil:
		return s.finish()
	}
	return s.preview(now)
}

// keep takes the cursor away and leaves everything else as it stands.
func (s *state) keep() action {
	for i, p := range s.parts {
		if p.editable() && p.cursor {
			return action{kind: doEdit, part: i, body: p.shown, class: chat.ClassFinal}
		}
	}
	return action{kind: doEnd}
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
		p := s.parts[i]
		switch {
		case p.given, p.gone && i < len(s.parts)-1:
			// Refused for good, or deleted by a person while later parts stand.
		case p.gone, !p.exists && p.uncertain < uncertainCreates:
			return a
		case p.editable() && s.canEdit && (p.cursor || !p.shown.equal(a.body)):
			a.kind = doEdit
			return a
		}
	}
	for i := len(want); i < len(s.parts); i++ {
		if s.parts[i].editable() && s.canDelete {
			return action{kind: doDelete, part: i, class: chat.ClassFinal}
		}
	}
	return action{kind: doEnd}
}

// layoutFinal returns the parts of the final. A text of which Markdown shows nothing, such
// as a lone link definition, is shown as it was written.
func (s *state) layoutFinal() []markup.Part {
	if s.final != nil {
		return s.final
	}
	o := markup.Options{Dialect: s.dialect, Limit: s.limit, Open: s.ending.Cut}
	s.final = markup.Layout(s.ending.Text, o)
	o.Open = false
	if len(s.final) == 0 && strings.TrimSpace(s.ending.Text) != "" {
		s.final = markup.Layout("~~~~~~\n"+s.ending.Text+"\n~~~~~~", o)
	}
	if s.ending.Note != "" {
		s.final = s.addNote(s.final, markup.Layout(s.ending.Note, o))
	}
	return s.final
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
		return s.indicate(now)
	}
	text := s.view.Text
	if !s.displayed() {
		var ready bool
		if text, ready = s.firstText(now); !ready {
			return s.indicate(now)
		}
	}
	i, from := s.active()
	if due := s.lastCall.Add(s.cfg.Interval); now.Before(due) && !s.continues() {
		return action{kind: doWait, until: due, deaf: true}
	}
	laid := markup.Layout(text, markup.Options{Dialect: s.dialect, Limit: s.limit, From: from, Open: true})
	if len(laid) == 0 {
		return s.indicate(now)
	}
	a := action{kind: doSend, part: i, body: s.payload(i, laid[0]), start: from, class: chat.ClassPreview}
	a.seal, a.next = len(laid) > 1, laid[0].Next
	a.cursor = !a.seal && s.cfg.Cursor != ""
	if i == 0 {
		a.class = chat.ClassFirst
	}
	if i < len(s.parts) && s.parts[i].exists {
		a.kind, a.class = doEdit, chat.ClassPreview
		if p := s.parts[i]; p.shown.equal(a.body) && p.cursor == a.cursor {
			if !a.seal {
				return action{kind: doWait}
			}
			a.kind = doSeal
		}
	}
	return a
}

// displayed says whether a person has seen anything of this reply.
func (s *state) displayed() bool { return len(s.parts) > 0 && s.parts[0].exists }

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

// firstText returns what the first display would show, and whether it is time for it.
func (s *state) firstText(now time.Time) (string, bool) {
	if s.view.Tokens >= s.cfg.MinTokens && s.view.Text != "" {
		return s.view.Text, true
	}
	if now.Before(s.started.Add(slowAfter)) {
		return "", false
	}
	text := s.view.Text
	if i := strings.LastIndexFunc(text, unicode.IsSpace); i >= 0 {
		text = text[:i]
	}
	return text, strings.TrimSpace(text) != ""
}

// indicate keeps the typing indicator alive until something is visible, and otherwise waits for
// the moment when a slow model's words are due.
func (s *state) indicate(now time.Time) action {
	if s.displayed() {
		return action{kind: doWait}
	}
	var until time.Time
	if slow := s.started.Add(slowAfter); s.cfg.Enabled && !s.muted && now.Before(slow) {
		until = slow
	}
	if s.canType && s.typing > 0 {
		due := s.lastType.Add(s.typing)
		if !now.Before(due) {
			return action{kind: doType, class: chat.ClassTyping}
		}
		if until.IsZero() || due.Before(until) {
			until = due
		}
	}
	return action{kind: doWait, until: until}
}
