package preview

import (
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// aim is the intended state of a message.
type aim uint8

const (
	aimNone aim = iota // the message does not exist and is not created again
	aimShow            // show a display
	aimStay            // keep the shown text, but remove the cursor and the frame
	aimGone            // delete the message
)

// desired is the intended state of one message.
type desired struct {
	part int
	aim  aim
	display
	file      *chat.File // aimShow: the file to send, with display as its caption
	keepsText bool       // display contains the message's earlier text, not the newest text of the reply
	size      int        // length of the text that was laid out for display
	start     markup.Mark
	seal      bool // the message becomes full; the next message begins at the position next
	next      markup.Mark
	class     chat.Class
}

// plan compares a message with its desired state and returns the next call, or doEnd if the message has reached that
// state.
func (s *state) plan(d desired, now time.Time) action {
	m := s.at(d.part)
	if m.abandoned && d.aim == aimShow { // an abandoned message keeps its content
		d.aim = aimStay
	}
	shown := d.aim == aimShow && m.shows(d.display)
	switch {
	case d.aim == aimNone:
	case !m.exists():
		return s.planAbsent(d, now)
	case m.streams() && m.role != roleSuperseded: // a superseded stream is deleted without stopping it
		return s.planStream(d)
	case d.aim == aimShow && !shown && m.ref.ID == "":
		return s.create(d, now)
	case d.aim == aimGone, d.aim == aimShow && m.file != (d.file != nil):
		return s.remove(d)
	case d.aim == aimStay:
		return s.removeCursor(d)
	case !shown && s.can(chat.OpEdit) && m.editable():
		return action{kind: doEdit, desired: d}
	case shown && d.seal:
		return action{kind: doSeal, desired: d}
	}
	return action{kind: doEnd}
}

// planAbsent plans the next call for a message that is not known to exist. If an earlier create call may have made the
// message, planAbsent first plans a call that shows whether it did. planAbsent skips that call in two cases: the
// message is not wanted and the platform can neither delete nor search, or the next create call will also show whether
// the message exists.
func (s *state) planAbsent(d desired, now time.Time) action {
	first := true
	switch d.aim {
	case aimGone:
		first = s.can(chat.OpDelete | chat.OpFind)
	case aimShow:
		// The platform would take a create call with the key of a text message for a repetition, and not send the file.
		file := d.file != nil && !s.at(d.part).file
		first = file || s.ending != nil && s.ending.Keep
	}
	if first {
		if a := s.resolveCreate(d, now); a.kind != doEnd {
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

// create plans a call that creates a message. If the outcome of an earlier create call must be learned first, create
// plans a search or a probe instead. If the outcome of too many create calls is unknown, create returns doEnd.
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
	case s.needsFind(m, now):
		return s.find(d.part, now)
	case uncertain >= maxUncertainCreates, m.abandoned, uncertain > 0 && s.ending == nil && m.role == roleText:
		return action{kind: doEnd}
	case uncertain == maxUncertainCreates-1 && s.can(chat.OpTyping) && !s.probed:
		// Only one more create call is permitted for this message. Before this last create call, send a typing
		// indicator, to learn whether the platform answers again.
		return action{kind: doType, desired: desired{part: d.part}}
	}
	return a
}

// resolveCreate returns the call that shows whether an earlier create call made a message. resolveCreate returns doEnd
// if no call can show this.
func (s *state) resolveCreate(d desired, now time.Time) action {
	m := s.at(d.part)
	switch {
	case s.needsFind(m, now):
		return s.find(d.part, now)
	case m.attempt.resolution == byKey && !m.abandoned && !m.file && s.resendable(m, now):
		return action{kind: doSend, desired: desired{part: d.part, display: display{body: m.visibleText()}, keepsText: true, class: d.class}}
	}
	return action{kind: doEnd}
}

// needsFind reports whether only a search can show the outcome of the create call for p. Only a search can show the
// outcome if the platform has forgotten the idempotency key or does not support such keys.
func (s *state) needsFind(p *message, now time.Time) bool {
	return p.attempt.resolution == byFind || p.attempt.resolution == byKey && !p.exists() && !p.abandoned && s.can(chat.OpFind) && !s.resendable(p, now)
}

// resendable reports whether the create call for p can be repeated with the same idempotency key without making a
// second message.
func (s *state) resendable(p *message, now time.Time) bool {
	return now.Sub(p.attempt.firstAt) < s.keyFor
}

// planStream plans a call that appends the missing text to a stream. If appending is not enough, planStream stops the
// stream, so that the message can be edited.
func (s *state) planStream(d desired) action {
	added, ok := s.at(d.part).missingText(d.body)
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

// missingText returns the text to append so that the message shows b. missingText returns false if the message can't
// show b by appending.
func (m *message) missingText(b payload) (string, bool) {
	if len(b.rendered.Spans)+len(m.shown.body.rendered.Spans) > 0 || m.unsure() {
		return "", false
	}
	return strings.CutPrefix(b.rendered.Text, m.shown.body.rendered.Text)
}

// stop ends the stream of part i with its current text.
func (s *state) stop(i int) action {
	return action{kind: doStop, desired: desired{
		part: i, display: display{body: s.parts[i].shown.body}, keepsText: true, size: s.laidOutLength, class: s.class(),
	}}
}

// class returns the class of a call that shows no new text.
func (s *state) class() chat.Class {
	if s.ending != nil {
		return chat.ClassFinal
	}
	return chat.ClassPreview
}

// remove plans the deletion of a message. If the message can't be deleted, remove plans an edit that removes its cursor
// and frame instead. After that, the bot no longer tracks the message if it showed only a question.
func (s *state) remove(d desired) action {
	m := s.at(d.part)
	d = desired{part: d.part, display: display{body: m.shown.body}, keepsText: true, class: d.class}
	if m.exists() && m.ref.ID != "" && s.can(chat.OpDelete) && !(m.abandoned && m.role == roleText) {
		return action{kind: doDelete, desired: d}
	}
	a := s.removeCursor(d)
	if a.kind == doEnd && m.role == roleQuestion && (m.exists() || m.abandoned || m.doubtful()) {
		return action{kind: doSeal, desired: d}
	}
	return a
}

// removeCursor plans an edit that removes the cursor and the frame from a message.
func (s *state) removeCursor(d desired) action {
	m := s.at(d.part)
	bare := s.withoutCursor(d.part)
	lacks := m.shown.mark == "" && bare.mark != ""
	if !m.exists() || !s.can(chat.OpEdit) || m.file || m.ref.ID == "" || !m.unfinished() && !lacks {
		return action{kind: doEnd}
	}
	return action{kind: doEdit, desired: desired{part: d.part, display: bare, keepsText: true, class: d.class}}
}

// withoutCursor returns the display of part i without its cursor and frame.
func (s *state) withoutCursor(i int) display {
	m := s.at(i)
	d := display{body: m.visibleText()}
	if m.plain {
		d.body = plainPayload(d.body)
	}
	return s.marked(i, d)
}
