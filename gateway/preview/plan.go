package preview

import (
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// aim is what is to become of a message.
type aim uint8

const (
	aimNone aim = iota // nothing: it is not there, and does not come back
	aimShow            // it shows a display
	aimStay            // what it shows stays, without what only a preview has
	aimGone            // it is taken away
)

// desired is what a message shall be.
type desired struct {
	part int
	aim  aim
	display
	file   *chat.File // aimShow: display is its caption
	stands bool       // display is what the message showed before, whatever the text is now
	size   int        // how much of the text was laid out for display
	start  markup.Mark
	seal   bool // then the message is full, and the following one begins at next
	next   markup.Mark
	class  chat.Class
}

// plan compares a message with what it shall be, and names the call that comes next; doEnd if nothing is left to do.
func (s *state) plan(d desired, now time.Time) action {
	m := s.at(d.part)
	if m.abandoned && d.aim == aimShow { // what stands stays
		d.aim = aimStay
	}
	shows := d.aim == aimShow && m.shows(d.display)
	switch {
	case d.aim == aimNone:
	case !m.exists():
		return s.planAbsent(d, now)
	case m.streams():
		return s.grow(d)
	case d.aim == aimShow && !shows && m.ref.ID == "":
		return s.create(d, now)
	case d.aim == aimGone, d.aim == aimShow && m.file != (d.file != nil):
		return s.remove(d)
	case d.aim == aimStay:
		return s.leave(d)
	case !shows && s.can(chat.OpEdit) && m.editable():
		return action{kind: doEdit, desired: d}
	case shows && d.seal:
		return action{kind: doSeal, desired: d}
	}
	return action{kind: doEnd}
}

// planAbsent plans a message that is not there, as far as that is known. One that may stand is learned of first, unless
// it could not be taken away, or the create that is wanted tells as much.
func (s *state) planAbsent(d desired, now time.Time) action {
	first := true
	switch d.aim {
	case aimGone:
		first = s.can(chat.OpDelete | chat.OpFind)
	case aimShow:
		file := d.file != nil && !s.at(d.part).file // under the key of a text the file would not be sent
		first = file || s.ending != nil && s.ending.Keep
	}
	if first {
		if a := s.learn(d, now); a.kind != doEnd {
			return a
		}
	}
	switch d.aim {
	case aimShow:
		return s.create(d, now)
	case aimGone:
		return s.remove(d)
	}
	return action{kind: doEnd}
}

// create makes a message, unless the outcome of an earlier try must be learned first or forbids it.
func (s *state) create(d desired, now time.Time) action {
	a := action{kind: doSend, desired: d}
	preview := s.ending == nil && d.part >= 0 && !d.seal
	switch {
	case d.file != nil:
		a.kind = doFile
	case preview && s.streamFor > 0:
		a.kind = doStart
	case preview && s.draftFor > 0:
		if s.drafted() && s.draft.part == d.part && s.draft.like(d.display) {
			return action{kind: doEnd}
		}
		return action{kind: doDraft, desired: d}
	}
	m := s.at(d.part)
	uncertain := m.attempt.unresolved
	if m.attempt.resolution == byKey && !s.resendable(m, now) {
		uncertain++
	}
	switch {
	case s.missing(m, now):
		return action{kind: doFind, desired: desired{part: d.part, class: d.class}}
	case uncertain >= uncertainCreates, m.abandoned, uncertain > 0 && s.ending == nil && m.role == roleText:
		return action{kind: doEnd}
	case uncertain == uncertainCreates-1 && s.can(chat.OpTyping) && !s.probed:
		// The last try must not be spent on a platform that is still down.
		return action{kind: doType, desired: desired{part: d.part}}
	}
	return a
}

// learn names the call that tells which message an earlier create made: doEnd where none can.
func (s *state) learn(d desired, now time.Time) action {
	m := s.at(d.part)
	switch {
	case s.missing(m, now):
		return action{kind: doFind, desired: desired{part: d.part, class: d.class}}
	case m.attempt.resolution == byKey && !m.abandoned && !m.file && s.resendable(m, now):
		return action{kind: doSend, desired: desired{part: d.part, display: display{body: m.standing()}, stands: true, class: d.class}}
	}
	return action{kind: doEnd}
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

// grow adds to a stream what it lacks. Where that is not enough it is stopped, and then edited.
func (s *state) grow(d desired) action {
	added, ok := s.at(d.part).lacks(d.body)
	switch {
	case !ok, d.aim != aimShow, d.file != nil:
		return s.stop(d.part)
	case d.seal, s.ending != nil:
		return action{kind: doStop, desired: d, added: added}
	case added != "":
		return action{kind: doAppend, desired: d, added: added}
	}
	return action{kind: doEnd}
}

// lacks returns what must be added to show b, and false when adding is not enough.
func (m *message) lacks(b payload) (string, bool) {
	if len(b.rendered.Spans)+len(m.shown.body.rendered.Spans) > 0 || m.unsure() {
		return "", false
	}
	return strings.CutPrefix(b.rendered.Text, m.shown.body.rendered.Text)
}

// stop ends the stream of part i as it stands.
func (s *state) stop(i int) action {
	return action{kind: doStop, desired: desired{
		part: i, display: display{body: s.parts[i].shown.body}, stands: true, size: s.laidOut, class: s.class(),
	}}
}

// class is how urgent it is that a message is changed whose text is not new.
func (s *state) class() chat.Class {
	if s.ending != nil {
		return chat.ClassFinal
	}
	return chat.ClassPreview
}

// remove takes a message away. Where it can't be deleted it is left as it is, and a question that is over is forgotten.
func (s *state) remove(d desired) action {
	m := s.at(d.part)
	d = desired{part: d.part, display: display{body: m.shown.body}, stands: true, class: d.class}
	if m.exists() && m.ref.ID != "" && s.can(chat.OpDelete) && !(m.abandoned && m.role == roleText) {
		return action{kind: doDelete, desired: d}
	}
	a := s.leave(d)
	if a.kind == doEnd && m.role == roleQuestion && (m.exists() || m.abandoned || m.doubtful()) {
		return action{kind: doSeal, desired: d}
	}
	return a
}

// leave takes from a message what only a preview has.
func (s *state) leave(d desired) action {
	m := s.at(d.part)
	bare := s.bare(d.part)
	lacks := m.shown.mark == "" && bare.mark != ""
	if !m.exists() || !s.can(chat.OpEdit) || m.file || m.ref.ID == "" || !m.unfinished() && !lacks {
		return action{kind: doEnd}
	}
	return action{kind: doEdit, desired: desired{part: d.part, display: bare, stands: true, class: d.class}}
}

// bare is what part i shows, without its cursor.
func (s *state) bare(i int) display {
	m := s.at(i)
	d := display{body: m.standing()}
	if m.plain {
		d.body = plainPayload(d.body)
	}
	return s.marked(i, d)
}
