package preview

import (
	"time"

	"telex/internal/chat"
)

// actionKind is what an action does.
type actionKind uint8

const (
	doWait actionKind = iota
	doType
	doSend
	doEdit
	doDelete
	doFile     // create a message that is a file
	doDraft    // show the part as an ephemeral preview
	doStart    // create a message that only grows
	doAppend   // let it grow
	doStop     // make it a message like any other
	doProbe    // show that the bot is at work, to learn whether the platform answers at all
	doFind     // ask whether a create of unknown outcome took effect
	doSkip     // no call: what was laid out shows nothing new
	doMessages // no call: previews are messages from now on, since drafts and streams can't show what is asked
	doSeal     // no call: the part is full and already shows what it must, or a question is left as it stands
	doEnd
)

// action is one decision of next.
type action struct {
	kind  actionKind
	until time.Time // doWait: zero waits for news only
	deaf  bool      // doWait: new text changes nothing before until
	desired
	calls int    // how many calls are known to follow, this one included; 0 counts as 1
	added string // doAppend, doStop: the text that is new
}

// Places of messages that are not of the text.
const (
	questionAt   = -1
	supersededAt = -2 // of the first superseded message; the others follow downwards
)

// creates says that a makes a new message.
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

// same says that b is still the call that a queued for, perhaps with newer text.
func (a action) same(b action) bool {
	return a.kind == b.kind && a.part == b.part
}
