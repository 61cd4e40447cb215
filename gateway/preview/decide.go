package preview

import (
	"strings"
	"time"
	"unicode"

	"telex/internal/chat"
	"telex/internal/markup"
)

// next names the one thing to do now. It changes nothing.
func (s *state) next(now time.Time) action {
	switch {
	case s.dead:
		return action{kind: doEnd}
	case now.Before(s.hold):
		return action{kind: doWait, until: s.hold, deaf: true}
	case s.ending == nil:
		return s.preview(now)
	case now.After(s.deadline), s.ending.Stand:
		return action{kind: doEnd}
	}
	if a, ok := s.probe(now); ok {
		return a
	}
	return s.remaining(now)
}

// undone says that nothing but its deadline keeps the reply from what its ending still wants.
func (s *state) undone(now time.Time) bool {
	return s.ending != nil && !s.ending.Stand && !s.dead && now.After(s.deadline) && s.remaining(now).kind != doEnd
}

// preview shows the newest view when it is due.
func (s *state) preview(now time.Time) action {
	if i, until := s.streaming(); i >= 0 && (s.parts[i].unsure() || !now.Before(until)) {
		return s.stop(i)
	}
	i, from := s.active()
	open := s.open(i)
	text, due := s.shownText(now)
	want, later := s.wanted(now, i, text)
	beside := s.view.Status.urgent() && !(open && s.holds(i, from, text, want))
	if a := s.askBeside(now, beside); a.kind != doEnd {
		return a
	}
	if !open {
		return s.pause(now, time.Time{}, false)
	}
	if beside {
		want = frame{above: want.above}
	}
	if due.IsZero() || !later.IsZero() && later.Before(due) {
		due = later
	}
	if text == "" && want == (frame{}) && s.shownFrame == (frame{}) || len(text) == s.laidOut && want == s.shownFrame {
		return s.pause(now, due, false)
	}
	asks := s.view.Status.urgent() && (want.below != s.shownFrame.below || want.asks != s.shownFrame.asks)
	if due = s.due(); now.Before(due) && !asks {
		return s.pause(now, due, true)
	}
	if s.view.Status.urgent() && !beside {
		switch stands := s.at(i).exists(); {
		case stands && s.parts[i].streams():
			return s.stop(i)
		case s.draftFor > 0, s.streamFor > 0 && !stands:
			return action{kind: doMessages}
		}
	}
	return s.show(i, from, text, want, asks, now)
}

// holds says that what is asked can stand in part i, which shows the text from a place on, or in the part behind it.
func (s *state) holds(i int, from markup.Mark, text string, want frame) bool {
	if !s.beyond(i + 1) {
		return true
	}
	return !s.layout(i, from, text, want).seal
}

// beyond says that part i will be in a file.
func (s *state) beyond(i int) bool {
	return s.can(chat.OpFile) && s.cfg.MaxParts > 0 && i >= s.cfg.MaxParts
}

// open says that part i may show a preview.
func (s *state) open(i int) bool {
	switch {
	case s.muted, s.beyond(i):
		return false
	case s.view.Status.urgent():
		return s.can(chat.OpEdit)
	case !s.cfg.Enabled: // what asked a person is taken away
		return s.can(chat.OpEdit) && s.shownFrame != (frame{})
	}
	return s.can(chat.OpEdit) || s.draftFor > 0 || s.streamFor > 0
}

// show returns the call that makes part i show the text and what is wanted around it, or waits when it does so.
func (s *state) show(i int, from markup.Mark, text string, want frame, asks bool, now time.Time) action {
	d, streams := s.layout(i, from, text, want), s.streamed(i)
	if !s.displayed || asks {
		d.class = chat.ClassFirst
	}
	if d.seal || streams {
		d.frame = frame{}
	}
	s.fillPlaceholder(&d, want)
	d.cursor = !d.seal && !streams && (s.cfg.Cursor != "" || s.cfg.Button != nil || d.frame != frame{})
	if d.body.rendered.Text != "" || d.frame != (frame{}) || s.clears(i) {
		if a := s.plan(d, now); a.kind != doEnd {
			return a
		}
	}
	return action{kind: doSkip, desired: desired{size: len(text), display: display{frame: want}}}
}

// fillPlaceholder settles what a message shows that has nothing of the text: what an earlier process left there until there
// is more, and where there is no cursor to take the place of lines that are over, a sign.
func (s *state) fillPlaceholder(a *desired, want frame) {
	if a.body.rendered.Text != "" || !s.at(a.part).exists() {
		return
	}
	switch p := &s.parts[a.part]; {
	case len(s.view.Text) < s.recovered && !p.blank():
		shown := p.shown.body
		if p.plain {
			shown = plainPayload(shown)
		}
		f := s.fitting(shown.rendered, want)
		if s.view.Status.urgent() && f.below != want.below {
			return // what is asked stands alone until there is more text than that
		}
		if a.body, a.stands = shown, true; !p.streams() {
			a.frame = f
		}
	case a.frame == frame{} && p.shown.frame != frame{} && s.cfg.Cursor == "":
		a.body = nothing()
	}
}

// layout returns what part i shows of the text from a place on, with what is wanted around it as far as there is
// room. What is urgent has room: where there is none below the text, it stands in the next part.
func (s *state) layout(i int, from markup.Mark, text string, want frame) desired {
	a := desired{part: i, aim: aimShow, start: from, next: from, size: len(text), class: chat.ClassPreview}
	o := markup.Options{
		Dialect: s.dialect, Limit: s.limit, From: from, Open: true, Paused: s.view.Paused && len(text) == len(s.view.Text),
		Append: s.grows, // in all parts, also once they are edited: the places where they begin are the same
	}
	laid := markup.Layout(text, o)
	if s.grows && !s.streamed(i) && len(laid) < 2 {
		// What is edited can show all there is: above a question nothing more may come for long. It seals nothing.
		o.Append = false
		if whole := markup.Layout(text, o); len(whole) == 1 {
			laid = whole
		}
	}
	if len(laid) > 0 {
		a.body, a.next, a.seal = s.payload(i, laid[0]), laid[0].Next, len(laid) > 1
	}
	if a.seal {
		return a
	}
	a.frame = s.fitting(a.body.rendered, want)
	a.seal = a.body.rendered.Text != "" && a.frame.below == "" && want.below != "" && s.view.Status.urgent()
	return a
}

// due is when the next preview may be made.
func (s *state) due() time.Time {
	due := s.unchangedAt.Add(lookEvery)
	if next := s.lastCall.Add(s.cfg.Interval); next.After(due) && !s.continues() {
		due = next
	}
	return due
}

// continues says that a part was sealed and its successor is not there yet: the text that
// overflowed is shown without waiting another interval.
func (s *state) continues() bool {
	n := len(s.parts)
	return n > 0 && s.parts[n-1].sealed() && (s.draft.at.IsZero() || s.draft.part < n)
}

// active returns the part that grows, and where it begins in the source.
func (s *state) active() (int, markup.Mark) {
	n := len(s.parts)
	if n == 0 {
		return 0, markup.Mark{}
	}
	if last := s.parts[n-1]; !last.sealed() {
		return n - 1, last.start
	}
	return n, *s.parts[n-1].next
}

// shownText returns the text to show: all of it once there is enough for the first display,
// whole words when the model is slow. While it returns none, due is when that will have
// changed even without more text; the zero time when it will not.
func (s *state) shownText(now time.Time) (text string, due time.Time) {
	text = s.view.Text
	if len(text) < s.recovered {
		return "", time.Time{} // a person has seen more than that
	}
	if s.displayed || s.view.Tokens >= s.cfg.MinTokens || s.view.Status.urgent() {
		return text, time.Time{}
	}
	if slow := s.started.Add(slowAfter); now.Before(slow) {
		return "", slow
	}
	text = text[:strings.LastIndexFunc(text, unicode.IsSpace)+1]
	return strings.TrimRightFunc(text, unicode.IsSpace), time.Time{}
}

// pause waits until due, or without it for news alone. Meanwhile it keeps alive what would
// vanish: the typing indicator until something is visible, then a draft. A deaf pause is not
// ended by new text.
func (s *state) pause(now, due time.Time, deaf bool) action {
	a := action{kind: doWait, until: due, deaf: deaf}
	sooner := func(t time.Time) {
		if a.until.IsZero() || t.Before(a.until) {
			a.until = t
		}
	}
	switch {
	case !s.displayed && !s.question.exists() && s.typing > 0:
		renew := s.lastType.Add(s.typing)
		if !now.Before(renew) {
			return action{kind: doType, desired: desired{class: chat.ClassTyping}}
		}
		sooner(renew)
	case s.drafted() && s.draftFor > 0:
		renew := s.draft.at.Add(s.draftFor)
		if !now.Before(renew) {
			return s.redraft()
		}
		sooner(renew)
	}
	if i, until := s.streaming(); i >= 0 {
		sooner(until)
	}
	return a
}
