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
	absent    phase = iota // the bot knows of no existing message
	standing               // the message exists and can be edited
	streaming              // the message exists, and until its stream is stopped, text can only be appended
	gone                   // a person deleted the message
)

// certainty tells whether a message is known to show the content of the last call. If the content of a stream is not
// known, the bot must stop and then edit the stream, so that its content is known again.
type certainty uint8

const (
	sure   certainty = iota
	unsure           // the message may still show its earlier content
)

// role is the purpose of a message.
type role uint8

const (
	roleText       role = iota // part of the text
	roleQuestion               // a question that no preview can show
	roleSuperseded             // can't be edited any more: another message replaces it, and then it is deleted
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
	source      string  // the Markdown that this message shows and earlier messages don't

	start markup.Mark // where the message's text starts in the Markdown
	// foreignEdits is the time until which an edit that another process made may still take effect. If this process
	// made its last edit before foreignEdits, the process repeats the edit after foreignEdits.
	foreignEdits time.Time
	nextStart    *markup.Mark // where the next message's text starts; nil: this message is not full and gets more previews
	streamStart  time.Time    // time when the stream began
	gen          int          // number of earlier messages that this message replaces; each has its own idempotency key
	place        int          // index of the message that replaces this message; only for superseded messages

	abandoned bool // the platform refuses the message's content permanently
	plain     bool // the platform refused the message's markup, so only plain text is sent
	file      bool // the message contains a file, so it can't be edited
	stored    bool // the store contains the record of this message; only for superseded messages
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

// unfinished reports whether the message must still change, because it shows a cursor, its visible content is
// uncertain, or its stream is not stopped.
func (m *message) unfinished() bool {
	return m.exists() && (m.shown.cursor || m.unsure() || m.streams())
}

// blank reports whether the message certainly shows no text.
func (m *message) blank() bool { return m.shown.body.blank() && m.earlierBody.blank() }

// visibleText returns the text that the message shows or may show, without the frame, the cursor and the stop mark.
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

// replace records that a call that should make the message show d has an unknown outcome. replace keeps the message's
// earlier text, which may still be visible, so that the message does not count as blank.
func (m *message) replace(d display) {
	if !m.shown.body.blank() {
		m.earlierBody = m.shown.body
	}
	m.shown = d
}

// revert is called when the platform has refused a payload. If an earlier call of unknown outcome sent the same
// payload, the message then counts as showing the text from before that call. revert returns false if there was no such
// call, or if no such text is known.
func (m *message) revert(refused payload) bool {
	if !m.unsure() || m.earlierBody.blank() || !m.shown.body.equal(refused) && !plainPayload(m.shown.body).equal(refused) {
		return false
	}
	m.shown, m.earlierBody = display{body: m.earlierBody, cursor: true}, payload{}
	return true
}

// certaintyAfter returns the certainty of the message after a successful create call that sent d.
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

// resolution is the way to learn whether a create call of unknown outcome made its message.
type resolution uint8

const (
	known resolution = iota // the outcome is known, or there is no way to learn it
	// Repeat the create call with the same idempotency key, so that the platform makes no second message.
	byKey
	byFind // search the platform for the message
)

// attempt is the state of the create calls for one message.
type attempt struct {
	resolution resolution
	firstAt    time.Time // time of the first create call with the current idempotency key
	unresolved int       // number of create calls whose outcome can't be learned any more
	processes  int       // number of earlier processes that ended before the outcome of their create call was known
	mixed      bool      // the create calls sent different payloads, and it is unknown which one is visible
	streams    bool      // a create call may have started a stream
	mayBeAbove bool      // the message may be above messages that were sent again after its create call

	create     *chat.Create // the last create call, for Finder.Find; nil: Find does not need it
	searchNext string       // chat.Found.Next of the last search
	searchDue  time.Time    // earliest time of the search

	pendingUntil time.Time // until when an earlier process may still wait for the response to its create call
}

// open reports whether the outcome of a create call is unknown but can still be learned.
func (a *attempt) open() bool { return a.resolution != known }

// givenUp reports whether the outcome of so many create calls is unknown that no further create call is allowed.
func (m *message) givenUp() bool { return m.attempt.unresolved >= maxUncertainCreates }

// doubtful reports whether a create call of unknown outcome may have made a message whose id is unknown.
func (m *message) doubtful() bool {
	return m.attempt.unresolved > 0 || !m.exists() && m.attempt.open()
}

// resolve records that the outcome of the create calls is known.
func (a *attempt) resolve() {
	a.resolution, a.mixed, a.streams = known, false, false
	a.create, a.searchNext, a.searchDue, a.pendingUntil = nil, "", time.Time{}, time.Time{}
}

// forget resets the attempt, so that the next create call counts as the first one with its idempotency key.
func (a *attempt) forget() {
	a.resolve()
	a.firstAt, a.mayBeAbove = time.Time{}, false
}

// giveUp records that there is no way to learn the outcome of the last create call.
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
	cursor bool   // the message has a cursor, a button or a frame, because body is unfinished
	frame  frame  // shown around body
	mark   string // the stop mark, such as "(stopped)", below the text of a stopped reply
}

// like reports whether two displays are equal, except for their stop marks.
func (d display) like(e display) bool {
	return d.body.equal(e.body) && d.cursor == e.cursor && d.frame == e.frame
}

// shortenText shortens the text of a message whose edit the platform refuses, because the removed text may be the cause
// of the refusal. If the platform accepted no edit, the message would keep its cursor or its question. The new text is
// half of the old one, or its first word, or the constant shortest. shortenText returns false if there is nothing to
// shorten.
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
