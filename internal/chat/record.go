package chat

import "time"

// The records of this file are what survives the process. A store keeps them as they are.

// Pending is an accepted message that nothing has answered yet.
type Pending struct {
	Conversation Conversation
	Message      Inbound
	Accepted     time.Time
	Begun        int // how often a turn with it was begun
}

// TurnState is how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnRunning TurnState = "running" // the model is being asked
	TurnDecided TurnState = "decided" // the ending is known and must be delivered
	TurnDone    TurnState = "done"    // nothing is left to do
)

// Turn is the record of one reply and of what it answers.
type Turn struct {
	ID           string
	Conversation Conversation
	To           Target
	ReplyTo      MessageID
	State        TurnState
	Began        time.Time // when its oldest message was accepted
	Runs         int       // how often it was begun, by this process or an earlier one
	Void         bool      // its session was forgotten: it must not be run again
	Messages     []Inbound // what it answers, oldest first
	Ending       []byte    // State decided: how the reply must end, as the gateway wrote it
	Parts        []Part
}

// Decision is what a turn came to: stored at once, before the last edits.
type Decision struct {
	Ending  []byte   // as the gateway reads it after a restart
	History [][]byte // what the session grows by, in order
	Usage   []byte   // tokens and the model, as the gateway wrote it
}

// PartState is what is known of one message of a reply.
type PartState string

// The states of a part.
const (
	PartIntended PartState = "intended" // a create is under way: it may stand, its id is not known
	PartAbsent   PartState = "absent"   // its create was refused: it surely does not stand
	PartStands   PartState = "stands"
	PartSealed   PartState = "sealed"  // it stands and is full
	PartStreams  PartState = "streams" // it stands and is a stream that was not stopped
	PartGone     PartState = "gone"    // deleted
	PartFrozen   PartState = "frozen"  // it was replaced and waits to be deleted
)

// Part is the record of one message of a reply. Text and Spans are the last payload tried,
// without its cursor: after a crash the message shows this or the payload before.
type Part struct {
	Index  int
	State  PartState
	Ref    MessageRef
	Key    string // idempotency key of its create
	Text   string
	Plain  string // without any markup; empty when that is Text
	Spans  []Span
	Cursor bool
	Source string    // Markdown that this part shows; empty once the ending is decided
	File   bool      // it is a file, with Text as its caption
	Cut    int       // the longest part when it was laid out
	First  time.Time // when its create was first tried
	Tries  int       // State intended: how many processes may have made it by now
}

// Block says that nothing may be sent in a scope for a while.
type Block struct {
	Scope   Scope
	Chat    ChatID
	Message MessageID
	Until   time.Time
}
