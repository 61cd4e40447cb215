package preview

import (
	"strings"
	"time"
	"unicode"

	"telex/internal/chat"
	"telex/internal/markup"
)

// phase is the known state of one message in the chat.
type phase uint8

const (
	absent    phase = iota // no existing message is known
	standing               // it exists and can be edited
	streaming              // it exists and only grows until the stream is stopped
	gone                   // a person deleted it
)

// certainty tells whether a message is known to show the content of the last call. An unsure stream must be stopped
// and edited.
type certainty uint8

const (
	sure   certainty = iota
	unsure           // it may still show its earlier content
)

// role is the purpose of a message.
type role uint8

const (
	roleText       role = iota // part of the text
	roleQuestion               // a question that no preview can show
	roleSuperseded             // can't be edited any more: another message replaces it in the text, then it is deleted
)

// message is one message in the chat, or one that is planned.
type message struct {
	role        role
	ref         chat.MessageRef
	phase       phase
	attempt     attempt
	certainty   certainty
	shown       display // the last acknowledged display; while unsure, the display of the last call
	earlierBody payload // text that the message may still show if shown has no text
	source      string  // Markdown of its text, without that of earlier messages

	start markup.Mark // start of its text
	// foreignEdits is the time until which edits of another process may take effect. If the last edit of this process was
	// earlier, it is repeated.
	foreignEdits time.Time
	nextStart    *markup.Mark // start of the next message's text; nil: this message is not full and gets more previews
	streamStart  time.Time    // time when the stream began
	gen          int          // number of earlier messages in this place; each has its own idempotency key
	place        int          // of a superseded message: its index in the text

	abandoned bool // the platform refuses its content permanently
	plain     bool // the platform refused its markup: plain text only
	file      bool // it has a file: its caption can't be edited
	stored    bool // of a superseded message: its record is stored
}

// exists reports whether the message is in the chat.
func (m *message) exists() bool { return m.phase == standing || m.phase == streaming }

func (m *message) streams() bool { return m.phase == streaming }

func (m *message) sealed() bool { return m.nextStart != nil }

func (m *message) unsure() bool { return m.certainty != sure }

// editable reports whether the message exists and can be edited.
func (m *message) editable() bool {
	return m.exists() && !m.abandoned && !m.file && m.ref.ID != ""
}

// shows reports whether the message is known to show d.
func (m *message) shows(d display) bool {
	return m.phase == standing && !m.unsure() && m.shown.like(d) && m.shown.mark == d.mark
}

// unfinished reports whether the message must still change: it shows a cursor, its content is uncertain, or it
// is still a stream.
func (m *message) unfinished() bool {
	return m.exists() && (m.shown.cursor || m.unsure() || m.streams())
}

// blank reports whether the message certainly shows no text.
func (m *message) blank() bool { return m.shown.body.blank() && m.earlierBody.blank() }

// visibleText returns the text that the message shows or may show, without frame, cursor and mark.
func (m *message) visibleText() payload {
	switch {
	case !m.shown.body.blank():
		return m.shown.body
	case !m.earlierBody.blank():
		return m.earlierBody
	case m.shown.body.rendered.Text != "":
		return m.shown.body
	}
	return nothing()
}

// replace records that a call should show d and that its outcome is unknown. It remembers the earlier text, which may
// still be visible, so that the message does not count as blank.
func (m *message) replace(d display) {
	if !m.shown.body.blank() {
		m.earlierBody = m.shown.body
	}
	m.shown = d
}

// revert handles the refusal of a payload that an earlier call of unknown outcome may have applied. From then on the
// message counts as showing its earlier text. It returns false if no earlier text is known.
func (m *message) revert(refused payload) bool {
	if !m.unsure() || m.earlierBody.blank() || !m.shown.body.equal(refused) && !plainPayload(m.shown.body).equal(refused) {
		return false
	}
	m.shown, m.earlierBody = display{body: m.earlierBody, cursor: true}, payload{}
	return true
}

// certaintyAfter returns the certainty of the message after a successful create with d.
func (m *message) certaintyAfter(d display) certainty {
	if m.attempt.resolution == byKey && (m.attempt.mixed || !m.shown.like(d)) {
		return unsure
	}
	return sure
}

// renew prepares the creation of a new message in place of the existing one.
func (m *message) renew() {
	m.phase, m.certainty, m.file, m.shown.cursor, m.shown.mark = absent, sure, false, false, ""
	m.attempt.forget()
	m.foreignEdits = time.Time{}
	m.gen++
}

// resolution is the way to learn the outcome of a create.
type resolution uint8

const (
	known  resolution = iota // the outcome is known, or can't be learned
	byKey                    // repeat the create under its key, which creates no second message
	byFind                   // ask the platform for the message
)

// attempt is the state of the creates of one message.
type attempt struct {
	resolution resolution
	firstAt    time.Time // time of the first create under the key
	unresolved int       // number of creates whose outcome is unknown and can't be learned
	processes  int       // number of earlier processes that ended with a create of unknown outcome
	mixed      bool      // the creates had different payloads; which of them is visible is unknown
	streams    bool      // a create may have started a stream
	mayBeAbove bool      // a created message may be above messages that were sent again later

	create     *chat.Create // the last create, for Find; nil: not needed
	searchNext string       // chat.Found.Next of the last search
	searchDue  time.Time    // earliest time of the search

	pendingUntil time.Time // until when an earlier process may still wait for the answer to a create
}

// open reports whether the outcome of a create is unknown and can still be learned.
func (a *attempt) open() bool { return a.resolution != known }

// givenUp reports whether so many creates have an unknown outcome that no further one may follow.
func (m *message) givenUp() bool { return m.attempt.unresolved >= maxUncertainCreates }

// doubtful reports whether a create may have made a message that the reply does not know.
func (m *message) doubtful() bool {
	return m.attempt.unresolved > 0 || !m.exists() && m.attempt.open()
}

// resolve records that the outcome is known.
func (a *attempt) resolve() {
	a.resolution, a.mixed, a.streams = known, false, false
	a.create, a.searchNext, a.searchDue, a.pendingUntil = nil, "", time.Time{}, time.Time{}
}

// forget makes the next create the first one under its key.
func (a *attempt) forget() {
	a.resolve()
	a.firstAt, a.mayBeAbove = time.Time{}, false
}

// giveUp records that the outcome can't be learned.
func (a *attempt) giveUp() {
	a.resolution = known
	a.unresolved++
}

// payload is the content of one message without its cursor.
type payload struct {
	rendered markup.Rendered
	plain    string
	end      int // number of source bytes shown up to the end of this message
}

// display is the complete visible content of a message.
type display struct {
	body   payload
	cursor bool   // body is unfinished: there is a cursor, a button, or a frame
	frame  frame  // shown around body
	mark   string // shown below a stopped body
}

// like reports whether two displays are equal except for their marks.
func (d display) like(e display) bool {
	return d.body.equal(e.body) && d.cursor == e.cursor && d.frame == e.frame
}

// shortenText shortens the text of a message whose edit the platform refuses: to half of it, or to its first word, or
// to the constant shortest. The cause of the refusal may be in the rest of the text. Without an accepted edit, the
// message would keep its cursor or its question. It returns false if there is nothing to shorten.
func (m *message) shortenText() bool {
	text := m.shown.body.plain
	if m.blank() || text == shortest {
		return false
	}
	end := strings.LastIndexFunc(text[:len(text)/2], unicode.IsSpace)
	if end <= 0 {
		end = strings.IndexFunc(text, unicode.IsSpace)
	}
	if end <= 0 {
		text, end = shortest, len(shortest)
	}
	text = strings.TrimRightFunc(text[:end], unicode.IsSpace)
	m.shown.body = payload{rendered: markup.Rendered{Text: text}, plain: text, end: m.shown.body.end}
	return true
}
