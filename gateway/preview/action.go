package preview

import (
	"time"

	"telex/internal/chat"
)

// actionKind tells what an action does.
type actionKind uint8

const (
	doWait actionKind = iota
	doType
	doSend
	doEdit
	doDelete
	doFile     // send a file as a message
	doDraft    // show the part as an ephemeral preview
	doStart    // begin a native stream: create a message to which text is only appended
	doAppend   // append to the stream
	doStop     // stop the stream, so that the message can be edited
	doProbe    // send a typing indicator, to learn whether the platform answers at all
	doFind     // search the platform for the message of a create call whose outcome is unknown
	doSkip     // no call: people would see no change
	doMessages // no call: show previews as edited messages from now on, since drafts and streams can't show a question
	doSeal     // no call: record that a part is full, or that a question can be neither deleted nor edited
	doEnd
)

// action is what the reply does next: a call, a wait, or a change of its state without a call.
type action struct {
	kind       actionKind
	until      time.Time // doWait: the end of the wait; zero: only an event ends it
	ignoreText bool      // doWait: new text does not end the wait
	desired
	repeats bool   // the action repeats an edit, or waits until the edit may be repeated
	calls   int    // known number of calls that the reply still needs, including this one; 0 counts as 1
	added   string // doAppend, doStop: the text to append
}

// Indexes of messages that are not parts of the reply's text.
const (
	questionAt   = -1
	supersededAt = -2 // index of the first superseded message; the next superseded messages have the indexes -3, -4 and so on
)

// creates reports whether the action creates a new message.
func (a action) creates() bool { return a.kind == doSend || a.kind == doFile || a.kind == doStart }

func (a action) op() chat.Op {
	op, ok := map[actionKind]chat.Op{
		doSend: chat.OpSend, doFile: chat.OpFile, doEdit: chat.OpEdit, doDelete: chat.OpDelete, doDraft: chat.OpDraft,
		doStart: chat.OpStart, doAppend: chat.OpAppend, doStop: chat.OpStop, doFind: chat.OpFind,
	}[a.kind]
	if !ok {
		return chat.OpTyping
	}
	return op
}

// same reports whether a and b are the same kind of call for the same message. The texts of a and b may differ.
func (a action) same(b action) bool {
	return a.kind == b.kind && a.part == b.part
}
