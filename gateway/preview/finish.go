package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

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
	if a := s.resend(now); a.kind != doEnd {
		return a
	}
	if a, ok := s.dismiss(now); ok {
		return a
	}
	return s.reclaim()
}

// trim takes from part i what one before it shows too: that one was made final before the rest was given up, and the final
// is cut in other places than the previews were. False means that there is nothing to take.
func (s *state) trim(i int) (action, bool) {
	p := &s.parts[i]
	if !p.editable() || p.streams() || !s.can(chat.OpEdit) || s.literal || p.shown.body.end > len(s.view.Text) {
		return action{}, false
	}
	if i < len(s.final) && p.shown.body.equal(s.payload(i, s.final[i])) {
		return action{}, false // it is made final too
	}
	k := i - 1
	for k >= 0 && (!s.parts[k].exists() || s.parts[k].blank()) { // all of it was taken
		k--
	}
	if k < 0 || k >= len(s.final) || !s.parts[k].shows(s.payload(k, s.final[k])) {
		return action{}, false
	}
	before := s.final[k]
	a := action{kind: doEdit, part: i, display: display{body: nothing()}, class: chat.ClassFinal}
	switch {
	case k == len(s.final)-1 && s.can(chat.OpDelete): // the whole final stands, which may be another text than this
		a.kind = doDelete
		return a, true
	case before.Next == p.start, k < i-1 && before.Next.Before(p.start):
		return action{}, false
	}
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
	return s.reclaim()
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
	case uncertain >= uncertainCreates, p.abandoned, uncertain > 0 && s.ending == nil && a.part != questionAt:
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
