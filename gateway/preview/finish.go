package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// remaining is what the ending still wants, whatever the time: doEnd is nothing.
func (s *state) remaining(now time.Time) action {
	first, calls := action{kind: doEnd}, 0
	for _, d := range s.atEnd() {
		a := s.plan(d, now)
		if a.kind == doEnd {
			continue
		}
		if calls++; calls == 1 {
			first = a
		}
	}
	first.calls = calls
	return first
}

// atEnd is what all messages shall be at the end. What was replaced goes last.
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

// textsAtEnd is what the messages of the text shall be at the end, in order.
func (s *state) textsAtEnd() (list []desired) {
	n := len(s.final)
	if s.ending.Keep {
		if n = s.seam.first + s.seam.behind(); s.keepsDraft() {
			n = max(n, s.draft.part+1)
		}
	}
	for i := range max(n, len(s.parts)) {
		switch {
		case s.ending.Keep:
			list = append(list, s.staying(i))
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

// keepsDraft says that a draft shows text that no message shows. It would vanish: a message takes its place.
func (s *state) keepsDraft() bool {
	return s.drafted() && s.draft.body.rendered.Text != "" && !s.at(s.draft.part).exists()
}

// staying is what part i shall be where what is visible stays.
func (s *state) staying(i int) desired {
	d := desired{part: i, aim: aimStay}
	if s.keepsDraft() && i == s.draft.part {
		d.aim, d.body = aimShow, s.draft.body
		if s.at(i).plain {
			d.body = plainPayload(d.body)
		}
		d.display = s.marked(i, d.display)
		return d
	}
	if n := i - s.seam.first; n >= 0 && n < s.seam.behind() {
		return s.behindSeam(i)
	}
	m := &s.parts[i]
	switch {
	case !m.exists() && s.resent(i):
		d.aim, d.body, d.stands = aimShow, m.standing(), true
	case m.exists() && m.blank() && !m.file && m.ref.ID != "" && s.can(chat.OpDelete): // only what tools did
		d.aim = aimGone
	}
	return d
}

// resent says that part i, which was replaced by nothing yet, is made again, because it or one before it would stay with its cursor.
func (s *state) resent(i int) bool {
	replaced, cursor := false, false
	for _, m := range s.superseded {
		replaced, cursor = replaced || m.place == i, cursor || m.place <= i && m.unfinished()
	}
	return replaced && cursor && s.can(chat.OpDelete) && !s.parts[i].blank()
}

// replaced says that a superseded message can go: another took its place, or nobody wants it. One whose replacement may
// not have arrived is all that the person has.
func (s *state) replaced(m message) bool {
	p := &s.parts[m.place]
	switch {
	case p.exists():
		return true
	case s.ending.Keep:
		return p.blank()
	}
	return p.phase == gone || m.place >= len(s.final)
}

// seam is where what a final already shows meets what previews showed behind it, when the rest of the final is given up. The final is
// cut in other places than they were: what stands behind the seam is laid out anew, so that no word stands twice or is missing.
type seam struct {
	first    int           // the first message behind it
	messages int           // how many messages there are to show what is behind it
	parts    []markup.Part // what they show: what is more gets messages of its own, and messages that are too many go
}

// behind is how many messages stand behind the seam, or did.
func (s seam) behind() int { return max(s.messages, len(s.parts)) }

// layoutSeam finds the seam, once for what was visible when the final was given up. The zero seam has no messages.
func (s *state) layoutSeam() seam {
	text, recovered := s.view.Text, len(s.view.Text) < s.recovered
	if recovered { // the model was not asked again
		text = s.source
	}
	last, i := -1, 0
	for ; i < len(s.parts); i++ {
		p := &s.parts[i]
		if !p.exists() || p.blank() {
			continue
		}
		if i >= len(s.final) || !p.shown.body.equal(s.payload(i, s.final[i])) { // unsure or not: it is made to show that
			break
		}
		last = i
	}
	if last < 0 || i == len(s.parts) || s.literal || !s.can(chat.OpEdit) {
		return seam{}
	}
	from, end := s.final[last].Next, -1
	if start := s.parts[i].start; last < len(s.final)-1 && (from == start || last < i-1 && from.Before(start)) {
		return seam{}
	}
	found := seam{first: i}
	for ; i < len(s.parts); i++ {
		p := &s.parts[i]
		if !p.editable() || p.streams() || p.shown.body.end > len(text) || recovered && p.source == "" {
			break // its text is that of a final, or nobody knows it
		}
		found.messages, end = found.messages+1, max(end, p.shown.body.end)
	}
	if found.messages == 0 {
		return seam{}
	}
	if last < len(s.final)-1 { // else the whole final stands, which may be another text than this
		found.parts = markup.Layout(text[:end], markup.Options{Dialect: s.dialect, Limit: s.limit, From: from, Open: true, Paused: true})
	}
	if i < len(s.parts) && len(found.parts) > found.messages { // nothing can come between
		found.parts = found.parts[:found.messages]
	}
	return found
}

// behindSeam is what part i shall be, which is behind the seam.
func (s *state) behindSeam(i int) desired {
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

// deleted says that a person deleted part i of n and left later ones: it does not come back
// below them. One that could not be put back before they came is not deleted but missing.
func (s *state) deleted(i, n int) bool {
	if m := s.at(i); m.phase != gone || m.attempt.unresolved >= uncertainCreates {
		return false
	}
	later := s.parts[i+1 : max(i+1, min(n, len(s.parts)))]
	return slices.ContainsFunc(later, func(m message) bool { return m.exists() })
}

// payload is what part i looks like with the content w, plainly once its markup was refused.
func (s *state) payload(i int, w markup.Part) payload {
	b := payload{rendered: w.Rendered, plain: w.Plain, end: w.End}
	if s.at(i).plain {
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
		return !s.keepsDraft() && !slices.ContainsFunc(s.parts, func(m message) bool { return m.unfinished() || m.abandoned && m.exists() })
	}
	return !slices.ContainsFunc(s.textsAtEnd(), func(d desired) bool { return !s.reached(d) })
}

// reached says that a message of the final surely is what it shall be.
func (s *state) reached(d desired) bool {
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
