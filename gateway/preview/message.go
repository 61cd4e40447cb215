package preview

import (
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// phase is what is known of one message on the screen.
type phase uint8

const (
	absent    phase = iota // nobody knows of a message that stands
	standing               // it is there, and can be edited
	streaming              // it is there, and only grows until the stream is stopped
	gone                   // a person deleted it
)

// certainty says how sure it is that a message looks like what was last tried. A stream that is not sure must be
// stopped and edited.
type certainty uint8

const (
	sure   certainty = iota
	unsure           // it may also look as it did before
)

// role is what a message is there for.
type role uint8

const (
	roleText       role = iota // it is a message of the text
	roleQuestion               // it asks a person what no preview can show
	roleSuperseded             // it can't be edited any more: another one takes its place in the text, then it is deleted
)

// message is one message on the screen, or one that is to be.
type message struct {
	role      role
	ref       chat.MessageRef
	phase     phase
	attempt   attempt
	certainty certainty
	shown     display // what the platform last acknowledged, or was asked for when unsure
	before    payload // what it may still show in place of shown, which has nothing of the text
	source    string  // Markdown of what it shows, less that of the messages before

	start markup.Mark  // where it begins in the text
	next  *markup.Mark // where the following message begins; nil: this one is not full, and gets more previews
	begun time.Time    // when the stream began
	gen   int          // how many messages it had before: each create for a new one has a key of its own
	place int          // superseded: its place in the text

	abandoned bool // the platform refuses it whatever we do
	plain     bool // its markup was refused: text only
	file      bool // it is a file: its caption can't be edited
	stored    bool // superseded: the store knows
}

// exists says that the message is on the screen.
func (m *message) exists() bool { return m.phase == standing || m.phase == streaming }

func (m *message) streams() bool { return m.phase == streaming }

func (m *message) sealed() bool { return m.next != nil }

func (m *message) unsure() bool { return m.certainty != sure }

// editable says that the message is there and can be changed.
func (m *message) editable() bool {
	return m.exists() && !m.abandoned && !m.file && m.ref.ID != ""
}

// shows says that the message surely looks like this.
func (m *message) shows(d display) bool {
	return m.phase == standing && !m.unsure() && m.shown.like(d) && m.shown.mark == d.mark
}

// unfinished says that the message is more, or perhaps other, than its text: a cursor stands in it, it is not known what
// stands in it, or it is still a stream.
func (m *message) unfinished() bool {
	return m.exists() && (m.shown.cursor || m.unsure() || m.streams())
}

// blank says that the message shows nothing of the text, and can't.
func (m *message) blank() bool { return m.shown.body.blank() && m.before.blank() }

// standing is what the message shows or may show, without what stood around it.
func (m *message) standing() payload {
	switch {
	case !m.shown.body.blank():
		return m.shown.body
	case !m.before.blank():
		return m.before
	case m.shown.body.rendered.Text != "":
		return m.shown.body
	}
	return nothing()
}

// replace notes that d was tried where something else may still stand: unless that had nothing of the text, nobody
// may take the message for one without text.
func (m *message) replace(d display) {
	if !m.shown.body.blank() {
		m.before = m.shown.body
	}
	m.shown = d
}

// takeBack notes that a payload is refused which the message may show after an earlier try: it shows what it did before. It returns
// false if nothing is known of that.
func (m *message) takeBack(refused payload) bool {
	if !m.unsure() || m.before.blank() || !m.shown.body.equal(refused) && !plainPayload(m.shown.body).equal(refused) {
		return false
	}
	m.shown, m.before = display{body: m.before, cursor: true}, payload{}
	return true
}

// after is how sure it is that the message looks like d, of which a create succeeded.
func (m *message) after(d display) certainty {
	if m.attempt.resolution == byKey && (m.attempt.mixed || !m.shown.like(d)) {
		return unsure
	}
	return sure
}

// renew says that a new message is needed in place of the one that there was.
func (m *message) renew() {
	m.phase, m.certainty, m.file, m.shown.cursor, m.shown.mark = absent, sure, false, false, ""
	m.attempt.forget()
	m.gen++
}

// resolution is how the outcome of a create is learned.
type resolution uint8

const (
	known  resolution = iota // there is nothing to learn
	byKey                    // the create is repeated under its key, which makes no second message
	byFind                   // the platform is asked which message was made with the key
)

// attempt is what is known of the creates of one message.
type attempt struct {
	resolution resolution
	first      time.Time // when the create was first tried under its key
	unresolved int       // creates of unknown outcome that nothing can resolve
	processes  int       // earlier processes that ended with a create of unknown outcome
	mixed      bool      // it was tried with more than one payload: which of them stands is not known
	streams    bool      // it may have made a stream
	above      bool      // what it may have made stands above messages that were sent anew
}

// open says that the outcome of a create is not known yet, and can be learned.
func (a *attempt) open() bool { return a.resolution != known }

// doubtful says that a create of the message may have taken effect that nothing is known of.
func (m *message) doubtful() bool {
	return m.attempt.unresolved > 0 || !m.exists() && m.attempt.open()
}

// learned notes that the outcome is known.
func (a *attempt) learned() { a.resolution, a.mixed, a.streams = known, false, false }

// forget makes the next create the first one under its key.
func (a *attempt) forget() {
	a.learned()
	a.first, a.above = time.Time{}, false
}

// giveUp notes that the outcome will not be learned.
func (a *attempt) giveUp() {
	a.resolution = known
	a.unresolved++
}

// payload is the content of one message without its cursor.
type payload struct {
	rendered markup.Rendered
	plain    string
	end      int // source bytes that are shown up to here
}

// display is all that a message looks like.
type display struct {
	body   payload
	cursor bool   // body is not all: there is a cursor, a button, or a frame
	frame  frame  // what stands around body
	mark   string // what stands below body that was stopped
}

// like says that two displays differ in their marks at most.
func (d display) like(e display) bool {
	return d.body.equal(e.body) && d.cursor == e.cursor && d.frame == e.frame
}
