package preview

import (
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
		return s.keep(now)
	}
	return s.finish(now)
}

// preview shows the newest view when it is due.
func (s *state) preview(now time.Time) action {
	if a, ok := s.mend(now); ok {
		return a
	}
	i, from := s.active()
	if !s.cfg.Enabled || s.muted || !s.showable() || s.canFile && s.cfg.MaxParts > 0 && i >= s.cfg.MaxParts {
		return s.pause(now, time.Time{}, false)
	}
	text, due := s.shownText(now)
	if text == "" || len(text) == s.drawn {
		return s.pause(now, due, false)
	}
	if due = s.due(); now.Before(due) {
		return s.pause(now, due, true)
	}
	streams := s.streamed(i)
	laid := markup.Layout(text, markup.Options{
		Dialect: s.dialect, Limit: s.limit, From: from, Open: true,
		Append: s.streamFor > 0, // in all parts, also once they are edited: the places where they begin are the same
	})
	if len(laid) == 0 {
		s.looked, s.drawn = now, len(text)
		return s.pause(now, time.Time{}, false)
	}
	a := action{part: i, body: s.payload(i, laid[0]), start: from, size: len(text), class: chat.ClassPreview}
	a.seal, a.next = len(laid) > 1, laid[0].Next
	if !s.displayed {
		a.class = chat.ClassFirst
	}
	a.cursor = !a.seal && !streams && (s.cfg.Cursor != "" || s.cfg.Button != nil)
	if !s.put(&a, streams, now) {
		s.looked, s.drawn = now, len(text)
		return s.pause(now, time.Time{}, false)
	}
	return a
}

// put chooses the call that makes part a.part show a.body. It returns false when it does so
// already.
func (s *state) put(a *action, streams bool, now time.Time) bool {
	exists := a.part < len(s.parts) && s.parts[a.part].exists
	switch {
	case exists && s.parts[a.part].streams:
		return s.grow(a)
	case exists && (s.parts[a.part].cursor != a.cursor || s.parts[a.part].unsure || !s.parts[a.part].shown.equal(a.body)):
		a.kind = doEdit
	case exists && a.seal:
		a.kind = doSeal
	case exists:
		return false
	case streams && !a.seal:
		a.kind = doStart
		*a = s.create(*a, now)
	case s.draftFor > 0 && !a.seal:
		a.kind = doDraft
		return s.draft.at.IsZero() || s.draft.part != a.part || s.draft.cursor != a.cursor || !s.draft.body.equal(a.body)
	default:
		a.kind = doSend
		*a = s.create(*a, now)
	}
	return a.kind != doEnd
}

// showable says that previews have a way to the platform.
func (s *state) showable() bool { return s.canEdit || s.draftFor > 0 || s.streamFor > 0 }

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
	n := len(s.parts)
	return n > 0 && s.parts[n-1].sealed && (s.draft.at.IsZero() || s.draft.part < n)
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
	if len(text) < s.recovered {
		return "", time.Time{} // a person has seen more than that
	}
	if s.displayed || s.view.Tokens >= s.cfg.MinTokens {
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
	case !s.displayed && s.canType && s.typing > 0:
		renew := s.lastType.Add(s.typing)
		if !now.Before(renew) {
			return action{kind: doType, class: chat.ClassTyping}
		}
		sooner(renew)
	case s.drafted() && s.draftFor > 0:
		renew := s.draft.at.Add(s.draftFor)
		if !now.Before(renew) {
			return s.redraft()
		}
		sooner(renew)
	}
	if until, ok := s.expiry(); ok {
		sooner(until)
	}
	return a
}
