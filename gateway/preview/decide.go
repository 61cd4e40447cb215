package preview

import (
	"strings"
	"time"
	"unicode"

	"telex/internal/chat"
	"telex/internal/markup"
)

// The method next returns what the reply must do next, without changing the state.
func (s *state) next(now time.Time) action {
	switch {
	case s.unreachable:
		return action{kind: doEnd}
	case now.Before(s.holdUntil):
		return action{kind: doWait, until: s.holdUntil, ignoreText: true}
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

// timedOut reports whether the reply ended only because its deadline passed, while some calls were still needed.
func (s *state) timedOut(now time.Time) bool {
	return s.ending != nil && !s.ending.Stand && !s.unreachable && now.After(s.deadline) && s.remaining(now).kind != doEnd
}

// The method preview returns what the reply must do next while it has no ending. The action shows the newest view, or
// waits until the next preview is due.
func (s *state) preview(now time.Time) action {
	if i, until := s.streaming(); i >= 0 && (s.parts[i].unsure() || !now.Before(until)) {
		return s.stop(i)
	}
	i, from := s.active()
	open := s.mayPreview(i)
	text, due := s.shownText(now)
	want, frameDue := s.wantedFrame(now, i, text)
	separate := s.view.Status.urgent() && !(open && s.hasRoomForQuestion(i, from, text, want))
	if a := s.planQuestion(now, separate); a.kind != doEnd {
		return a
	}
	if !open {
		return s.waitOrRenew(now, time.Time{}, false)
	}
	if separate {
		want = frame{above: want.above}
	}
	if due.IsZero() || !frameDue.IsZero() && frameDue.Before(due) {
		due = frameDue
	}
	if text == "" && want == (frame{}) && s.shownFrame == (frame{}) || len(text) == s.laidOutLength && want == s.shownFrame {
		return s.waitOrRenew(now, due, false)
	}
	asks := s.view.Status.urgent() && (want.below != s.shownFrame.below || want.actionIDs != s.shownFrame.actionIDs)
	if due = s.due(); now.Before(due) && !asks {
		return s.waitOrRenew(now, due, true)
	}
	if s.view.Status.urgent() && !separate {
		switch exists := s.at(i).exists(); {
		case exists && s.parts[i].streams():
			return s.stop(i)
		case s.draftFor > 0, s.streamFor > 0 && !exists:
			return action{kind: doMessages}
		}
	}
	return s.show(i, from, text, want, asks, now)
}

// hasRoomForQuestion reports whether the question fits into part i or may go into the next part. The parameter from is
// the position in the text at which part i begins.
func (s *state) hasRoomForQuestion(i int, from markup.Mark, text string, want frame) bool {
	if !s.isInFile(i + 1) {
		return true
	}
	return !s.layout(i, from, text, want).seal
}

// isInFile reports whether the text of part i will be sent in a file.
func (s *state) isInFile(i int) bool {
	return s.can(chat.OpFile) && s.cfg.MaxParts > 0 && i >= s.cfg.MaxParts
}

// mayPreview reports whether part i may show a preview.
func (s *state) mayPreview(i int) bool {
	switch {
	case s.muted, s.isInFile(i):
		return false
	case s.view.Status.urgent():
		return s.can(chat.OpEdit)
	case !s.cfg.Enabled: // without streaming, a preview is only needed to remove an answered question
		return s.can(chat.OpEdit) && s.shownFrame != (frame{})
	}
	return s.can(chat.OpEdit) || s.draftFor > 0 || s.streamFor > 0
}

// show returns the call that makes part i show the text and, around the text, the frame that the parameter want
// contains. If part i already shows the text and the frame, show returns doSkip.
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
	if d.body.rendered.Text != "" || d.frame != (frame{}) || s.mustClearFrame(i) {
		if a := s.plan(d, now); a.kind != doEnd {
			return a
		}
	}
	return action{kind: doSkip, desired: desired{size: len(text), display: display{frame: want}}}
}

// fillPlaceholder chooses the body of a message for which there is no new text yet. If an earlier process showed text,
// the message keeps that text until the new text is longer. If previews have no cursor, fillPlaceholder replaces an
// outdated frame with the placeholder, because platforms refuse empty messages.
func (s *state) fillPlaceholder(a *desired, want frame) {
	if a.body.rendered.Text != "" || !s.at(a.part).exists() {
		return
	}
	switch p := &s.parts[a.part]; {
	case s.isBehind() && !p.blank():
		shown := p.shown.body
		if p.plain {
			shown = plainPayload(shown)
		}
		f := s.fitFrame(shown.rendered, want)
		if s.view.Status.urgent() && f.below != want.below {
			return // the earlier text leaves no room for the question, so only the question is shown
		}
		if a.body, a.keepsText = shown, true; !p.streams() {
			a.frame = f
		}
	case a.frame == frame{} && p.shown.frame != frame{} && s.cfg.Cursor == "":
		a.body = nothing()
	}
}

// layout returns the content of part i: the text from the position from on, with as much of the frame as fits. A
// question is never left out. If the question does not fit below the text, layout marks the part as full, and the
// question goes into the next part.
func (s *state) layout(i int, from markup.Mark, text string, want frame) desired {
	a := desired{part: i, aim: aimShow, start: from, next: from, size: len(text), class: chat.ClassPreview}
	o := markup.Options{
		Dialect: s.dialect, Limit: s.limit, From: from, Open: true, Paused: s.view.Paused && len(text) == len(s.view.Text),
		Append: s.grows, // also for edited parts, since streams and edited messages must divide the text at the same places
	}
	laid := markup.Layout(text, o)
	if s.grows && !s.streamed(i) && len(laid) < 2 {
		// A stream omits the end of the text if this end may still change. An edited message can show all of the text. Above
		// a question, the text must be complete, since people may need a long time to answer. layout uses the complete text
		// only if it fits into this part.
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
	a.frame = s.fitFrame(a.body.rendered, want)
	a.seal = a.body.rendered.Text != "" && a.frame.below == "" && want.below != "" && s.view.Status.urgent()
	return a
}

// due returns the earliest time at which the next preview may be sent.
func (s *state) due() time.Time {
	due := s.unchangedAt.Add(layoutInterval)
	if next := s.lastCall.Add(s.cfg.Interval); next.After(due) && !s.overflowed() {
		due = next
	}
	return due
}

// overflowed reports whether the last part is full and the next part does not exist yet. Text that does not fit into
// the last part is shown at once, without waiting for Config.Interval.
func (s *state) overflowed() bool {
	n := len(s.parts)
	return n > 0 && s.parts[n-1].sealed() && (s.draft.at.IsZero() || s.draft.part < n)
}

// active returns the index of the part that grows, and the position in the Markdown at which its text starts.
func (s *state) active() (int, markup.Mark) {
	n := len(s.parts)
	if n == 0 {
		return 0, markup.Mark{}
	}
	if last := s.parts[n-1]; !last.sealed() {
		return n - 1, last.start
	}
	return n, *s.parts[n-1].nextStart
}

// shownText returns the text to show. shownText returns all of the text once there is enough for the first display. If
// the model is slow, shownText returns the complete words even if there is not enough text yet. If shownText returns no
// text, the result due is the time when shownText will return text even if the model writes no more. If due is zero,
// there is no such time.
func (s *state) shownText(now time.Time) (text string, due time.Time) {
	text = s.view.Text
	if s.isBehind() {
		return "", time.Time{}
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

// isBehind reports whether an earlier process showed at least as much text as this process has now.
func (s *state) isBehind() bool {
	return s.recoveredLength > 0 && len(s.view.Text) <= s.recoveredLength
}

// waitOrRenew returns an action that waits until the time due. If due is zero, the action waits for an event. If the
// typing indicator or a draft expires earlier, the action renews it. If ignoreText is true, new text does not end the
// wait.
func (s *state) waitOrRenew(now, due time.Time, ignoreText bool) action {
	a := action{kind: doWait, until: due, ignoreText: ignoreText}
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
