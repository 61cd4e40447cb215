package preview

import (
	"time"

	"telex/internal/chat"
)

// actionKind is the kind of an action.
type actionKind uint8

const (
	doWait actionKind = iota
	doType
	doSend
	doEdit
	doDelete
	doFile     // create a message that is a file
	doDraft    // show the part as an ephemeral preview
	doStart    // create a message that only grows (a native stream)
	doAppend   // append to the stream
	doStop     // stop the stream; the message can be edited from then on
	doProbe    // send a typing indicator, to learn whether the platform answers at all
	doFind     // ask the platform whether a create of unknown outcome took effect
	doSkip     // no call: the new layout shows nothing new
	doMessages // no call: use messages for previews from now on, since drafts and streams can't show a question
	doSeal     // no call: mark a part as full that already shows its text, or leave a question as it is
	doEnd
)

// action is one decision of next.
type action struct {
	kind       actionKind
	until      time.Time // doWait: the end of the wait; zero: only an event ends it
	ignoreText bool      // doWait: new text does not end the wait
	desired
	repeats bool   // the action repeats an edit, or waits until it may
	calls   int    // number of calls known to follow, including this one; 0 counts as 1
	added   string // doAppend, doStop: the text to append
}

// Indexes of messages that are not part of the text.
const (
	questionAt   = -1
	supersededAt = -2 // index of the first superseded message; the next ones have -3, -4 and so on
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

// same reports whether a and b are the same call for the same message. Their texts may differ.
func (a action) same(b action) bool {
	return a.kind == b.kind && a.part == b.part
}
