package preview

import (
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// actionKind is what an action does.
type actionKind uint8

const (
	doWait actionKind = iota
	doType
	doSend
	doEdit
	doDelete
	doSeal // no call: the part is full and already shows what it must
	doEnd
)

// action is one decision of next.
type action struct {
	kind   actionKind
	until  time.Time // doWait: zero waits for news only
	deaf   bool      // doWait: new text changes nothing before until
	part   int
	body   payload
	cursor bool
	size   int         // how much of the text was laid out for body
	start  markup.Mark // doSend: where the part begins in the source
	seal   bool        // after success the part is full and the next one begins at next
	next   markup.Mark
	class  chat.Class
}

func (a action) op() chat.Op {
	switch a.kind {
	case doSend:
		return chat.OpSend
	case doEdit:
		return chat.OpEdit
	case doDelete:
		return chat.OpDelete
	default:
		return chat.OpTyping
	}
}

// same says that b is still the call that a queued for, perhaps with newer text.
func (a action) same(b action) bool {
	return a.kind == b.kind && a.part == b.part
}
