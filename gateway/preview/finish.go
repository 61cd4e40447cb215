package preview

import (
	"slices"
	"time"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"telex/internal/chat"
	"telex/internal/markup"
)

// remaining returns the next action that shows the ending, even if the deadline has passed. remaining returns doEnd if
// nothing is left to do.
func (s *state) remaining(now time.Time) action {
	first, later, calls := action{kind: doEnd}, action{kind: doEnd}, 0
	for _, d := range s.atEnd() {
		a := s.plan(d, now)
		if a.kind == doEnd {
			a = s.repeat(d, now)
		}
		switch {
		case a.kind == doEnd:
			continue
		case a.kind == doWait && (a.repeats || d.part <= supersededAt):
			// The calls for other messages need not wait until a late search is due.
			if later.kind == doEnd || a.until.Before(later.until) {
				later = a
			}
			continue
		}
		if calls++; calls == 1 {
			first = a
		}
	}
	if first.kind == doEnd {
		return later
	}
	first.calls = calls
	return first
}

// repeat returns an action that repeats the last edit of a message, because an edit that another process made may have
// replaced the content since. If the edit of another process may still arrive, the function repeat first returns an
// action that waits.
func (s *state) repeat(d desired, now time.Time) action {
	m := s.at(d.part)
	if m.foreignEdits.IsZero() || !m.editable() || !s.can(chat.OpEdit) || d.aim != aimShow && d.aim != aimStay {
		return action{kind: doEnd}
	}
	if d.aim == aimStay {
		d = desired{part: d.part, display: s.withoutCursor(d.part), keepsText: true, class: d.class}
	}
	if now.Before(m.foreignEdits) {
		return action{kind: doWait, until: m.foreignEdits, ignoreText: true, desired: d, repeats: true}
	}
	return action{kind: doEdit, desired: d, repeats: true}
}

// atEnd returns the desired state of all messages at the end of the reply. Superseded messages come last, so they are
// deleted after their replacements are visible.
func (s *state) atEnd() []desired {
	list := s.textsAtEnd()
	list = append(list, desired{part: questionAt, aim: aimGone})
	for n, m := range s.superseded {
		if s.replaced(m) && s.can(chat.OpDelete) {
			list = append(list, desired{part: supersededAt - n, aim: aimGone})
		}
	}
	return list
}

// textsAtEnd returns the desired state of the text's messages at the end of the reply, in order.
func (s *state) textsAtEnd() (list []desired) {
	n := len(s.final)
	if s.ending.Keep {
		if n = s.seam.first + s.seam.length(); s.keepsDraft() {
			n = max(n, s.draft.part+1)
		}
	}
	for i := range max(n, len(s.parts)) {
		switch {
		case s.ending.Keep:
			list = append(list, s.aimWhenKept(i))
		case i >= n:
			list = append(list, desired{part: i, aim: aimGone})
		default:
			d := desired{part: i, aim: aimShow, display: display{body: s.payload(i, s.final[i])}, file: s.fileOf(i)}
			if s.deleted(i, n) {
				d.aim = aimNone
			}
			list = append(list, d)
		}
	}
	return list
}

// keepsDraft reports whether a message must replace the draft, because only the draft shows some of the text and the
// platform will remove the draft. keepsDraft returns false if the text of the draft is laid out again anyway (see type
// seam).
func (s *state) keepsDraft() bool {
	return s.drafted() && s.draft.body.rendered.Text != "" && !s.at(s.draft.part).exists() && !s.seam.covers(s.draft.part)
}

// aimWhenKept returns the desired state of part i when the ending keeps the visible messages.
func (s *state) aimWhenKept(i int) desired {
	d := desired{part: i, aim: aimStay}
	if s.keepsDraft() && i == s.draft.part {
		d.aim, d.body = aimShow, s.draft.body
		if s.at(i).plain {
			d.body = plainPayload(d.body)
		}
		d.display = s.marked(i, d.display)
		return d
	}
	if s.seam.covers(i) {
		return s.aimBehindSeam(i)
	}
	m := &s.parts[i]
	switch {
	case !m.exists() && s.mustResend(i):
		d.aim, d.body, d.keepsText = aimShow, m.visibleText(), true
	case m.exists() && m.blank() && !m.file && m.ref.ID != "" && s.can(chat.OpDelete):
		// The message shows no text, only the progress of tools.
		d.aim = aimGone
	}
	return d
}

// mustResend reports whether part i, whose message was superseded and not replaced yet, must be created again. Part i
// must be created again if the superseded message of this part or of an earlier part shows a cursor that no edit can
// remove.
func (s *state) mustResend(i int) bool {
	replaced, cursor := false, false
	for _, m := range s.superseded {
		replaced, cursor = replaced || m.exists() && m.place == i, cursor || m.place <= i && m.unfinished()
	}
	return replaced && cursor && s.can(chat.OpDelete) && !s.parts[i].blank()
}

// replaced reports whether superseded message m may be deleted now. The message may be deleted if its replacement
// exists or if no replacement is needed. If the replacement may be missing, people can read the text only in the
// superseded message, so that message stays. If it is unknown whether message m exists, replaced returns true, so that
// the bot searches for m.
func (s *state) replaced(m message) bool {
	p := s.at(m.place)
	switch {
	case p.exists(), !m.exists():
		return true
	case s.ending.Keep:
		return p.blank() || s.movedUp(m.place)
	}
	return p.phase == gone || m.place >= len(s.final)
}

// If the bot gives up the rest of a final, seam is the border between the messages that show the final and the later
// messages that still show previews. The final is cut into messages at other places than the previews. The bot
// therefore lays out the text of the later messages again. Otherwise, words at the border could be missing or appear
// twice.
type seam struct {
	first    int           // index of the first message whose text is laid out again
	messages int           // number of messages that can show the text that is laid out again
	parts    []markup.Part // the text that is laid out again; surplus parts get new messages, and surplus messages are deleted
}

// length returns the number of message indexes, from s.first on, whose messages are laid out again.
func (s seam) length() int { return max(s.messages, len(s.parts)) }

// covers reports whether the text of part i is laid out again.
func (s seam) covers(i int) bool { return i >= s.first && i < s.first+s.length() }

// movedUp reports whether part i has no text any more, because after a new layout earlier messages show its text.
func (s *state) movedUp(i int) bool {
	texts := s.seam.first + len(s.seam.parts)
	return s.seam.covers(i) && i >= texts && !slices.ContainsFunc(s.parts[s.seam.first:min(texts, i)], func(m message) bool { return !m.exists() })
}

// findSeam determines from which message on the text must be laid out again. findSeam is called when the bot gives up
// the final, and again each time a message of the reply turns out to exist.
func (s *state) findSeam() {
	if s.ending != nil && s.ending.Keep && s.seam.length() == 0 {
		s.seam = s.layoutSeam()
	}
}

// When the bot gives up the final, layoutSeam finds the border between messages that show the final and messages that
// show previews. layoutSeam returns the zero seam if no message must be laid out again.
func (s *state) layoutSeam() seam {
	last, i := -1, 0
	for ; i < len(s.parts); i++ {
		p := &s.parts[i]
		if !p.exists() || p.blank() {
			continue
		}
		if i >= len(s.final) || !p.shown.body.equal(s.payload(i, s.final[i])) {
			// A message whose content is uncertain counts as showing its part of the final, because an edit will make the
			// message show this part.
			break
		}
		last = i
	}
	draft := s.keepsDraft()
	if i == len(s.parts) && draft {
		i = s.draft.part
	}
	if last < 0 || i == len(s.parts) && !draft || s.literal || !s.can(chat.OpEdit) {
		return seam{}
	}
	from, end := s.final[last].Next, -1
	if start := s.at(i).start; last < len(s.final)-1 && (from == start || last < i-1 && from.Before(start)) {
		return seam{}
	}
	found := seam{first: i}
	for ; i < len(s.parts); i++ {
		if p := &s.parts[i]; !p.editable() && (p.exists() || !p.attempt.open()) {
			break
		}
		found.messages, end = found.messages+1, max(end, s.parts[i].shown.body.end)
	}
	if draft && i == s.draft.part { // no message follows a draft
		found.messages, end, i = found.messages+1, max(end, s.draft.body.end), max(i+1, len(s.parts))
	}
	if found.messages == 0 {
		return seam{}
	}
	if last < s.textCount-1 { // if last is the index of the last part with text, no text is left for later messages
		found.parts = markup.Layout(firstBytes(s.markdown, end), markup.Options{Dialect: s.dialect, Limit: s.limit, From: from, Open: true, Paused: true})
	}
	if i < len(s.parts) && len(found.parts) > found.messages {
		// A new message would appear below all existing ones, in the wrong order.
		found.parts = found.parts[:found.messages]
	}
	return found
}

// firstBytes returns the first n bytes of a text. If byte n is inside a character, firstBytes includes the whole
// character.
func firstBytes(text string, n int) string {
	end := 0
	for g := graphemes.FromString(text); end < n && g.Next(); {
		end = g.End()
	}
	return text[:end]
}

// aimBehindSeam returns the desired state of part i, whose text is laid out again (see type seam).
func (s *state) aimBehindSeam(i int) desired {
	d := desired{part: i, aim: aimShow}
	switch n := i - s.seam.first; {
	case n < len(s.seam.parts):
		d.body = s.payload(i, s.seam.parts[n])
	case s.can(chat.OpDelete):
		return desired{part: i, aim: aimGone}
	default:
		d.body = nothing()
	}
	d.display = s.marked(i, d.display)
	return d
}

// deleted reports whether a person deleted part i, while later ones of the reply's n parts exist. A deleted part is not
// sent again, since it would appear below the later parts. If the outcome of too many create calls for the part is
// unknown, the part does not count as deleted.
func (s *state) deleted(i, n int) bool {
	if m := s.at(i); m.phase != gone || m.givenUp() {
		return false
	}
	later := s.parts[i+1 : max(i+1, min(n, len(s.parts)))]
	return slices.ContainsFunc(later, func(m message) bool { return m.exists() })
}

// payload returns w as the content of part i. payload removes the markup if the platform refused markup in this part
// before.
func (s *state) payload(i int, w markup.Part) payload {
	b := payload{rendered: w.Rendered, plain: w.Plain, end: w.End}
	if s.at(i).plain {
		b.rendered = markup.Rendered{Text: w.Plain}
	}
	return b
}

// delivered reports whether the visible messages show exactly the content that the ending requires.
func (s *state) delivered() bool {
	switch {
	case s.ending == nil || s.unreachable:
		return false
	case s.ending.Stand:
		return true
	case s.ending.Keep:
		return !s.keepsDraft() && !slices.ContainsFunc(s.parts, func(m message) bool { return m.unfinished() || m.abandoned && m.exists() })
	}
	return !slices.ContainsFunc(s.textsAtEnd(), func(d desired) bool { return !s.atAim(d) })
}

// atAim reports whether a message is known to be in the desired state d.
func (s *state) atAim(d desired) bool {
	m := s.at(d.part)
	switch {
	case d.aim == aimNone:
		return true
	case d.aim == aimGone:
		return !m.exists()
	case d.file != nil:
		return m.exists() || m.abandoned
	}
	return m.shows(d.display)
}
