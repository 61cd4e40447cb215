package chat

import "time"

// Capabilities states what an adapter can do at all. Each flag promises that the adapter
// implements the matching optional interface; that is checked once, at start.
type Capabilities struct {
	Edit      bool
	Delete    bool
	Typing    bool
	File      bool // it can send a message that is a file
	Draft     bool // it has ephemeral previews, somewhere
	Stream    bool // it has append-only streams, somewhere
	Find      bool // it can find the message of a create of unknown outcome
	Fetch     bool // it can download attachments
	Thread    bool // it can read what was written in a thread
	Menu      bool // it has a menu of commands
	Concludes bool // it wants to know when messages have been answered
	Pane      bool // it has a pane for conversations with the bot, somewhere
	// Buttons: it shows Outgoing.Actions, and takes them away from a message that is edited without.
	Buttons bool
	// OneReceiver: the platform lets only one process of a bot receive, so that replicas must take turns.
	OneReceiver bool
	// ReceiverAnswers: with OneReceiver, the process that receives also answers: it waits for its answers.
	ReceiverAnswers bool
}

// Profile states what holds in one place: how long a message may be and how often one may
// call. It is a value; asking for it is pure and cheap.
type Profile struct {
	TextLimit    int           // longest message, in the dialect's unit, after rendering
	EditInterval time.Duration // the platform's own default between two preview edits
	TypingEvery  time.Duration // how long a typing indicator lasts before it must be renewed; 0: none
	DraftFor     time.Duration // how long a draft stays before it must be renewed; 0: no drafts here
	StreamFor    time.Duration // how long a stream may last before it must be stopped; 0: no streams here
	KeyFor       time.Duration // how long a create that is repeated with its key makes no second message; 0: not at all
	LateFor      time.Duration // how long after its failure a create may still take effect, so that Find is asked again; 0: not at all
	FileLimit    int64         // longest file, in bytes; 0: none is known
	Limits       []Limit       // every published limit that a call to this place counts against
	NoCommands   bool          // commands with a slash can't be typed here; their bare names are used
	Slash        string        // what people type before a command's name here; empty: "/", with NoCommands nothing
}

// Scope is what a limit counts over.
type Scope uint8

// The scopes. A 429 that does not name its scope blocks ScopeChat. The numbers are stored.
const (
	ScopeMessage  Scope = 1 // one message: its edits
	ScopeThread   Scope = 4 // one thread of a chat, or the chat outside of its threads
	ScopeChat     Scope = 2 // one chat, threads included
	ScopeEndpoint Scope = 3 // everything the bot account does
)

// String returns the scope as it stands in logs.
func (s Scope) String() string {
	switch s {
	case ScopeMessage:
		return "message"
	case ScopeThread:
		return "thread"
	case ScopeChat:
		return "chat"
	case ScopeEndpoint:
		return "endpoint"
	}
	return "unknown"
}

// Op is a set of kinds of calls.
type Op uint16

// The kinds of calls that platforms count. The numbers are stored.
const (
	OpSend Op = 1 << iota
	OpEdit
	OpDelete
	OpTyping
	OpDraft  // show an ephemeral preview
	OpStart  // begin an append-only stream
	OpAppend // add to one
	OpStop   // end one
	OpFind   // look for a message
	OpFile   // send a message that is a file
	OpPane   // suggest questions in the bot's pane, or name a thread there
	OpAll    = OpSend | OpEdit | OpDelete | OpTyping | OpDraft | OpStart | OpAppend | OpStop | OpFind | OpFile | OpPane
)

// Limit is one published limit: at most Count calls of the kinds in Ops within any Window,
// spread out as a bucket that holds Burst calls and refills at Count/Window. A process that continues after another one does not
// know the other's calls, and keeps only to the bucket together with it: a window of more than five seconds may then have Count and
// Burst-1 calls. So an adapter whose platform counts n calls in such a window declares a Count of n-Burst+1.
type Limit struct {
	Scope  Scope
	Ops    Op
	Count  int
	Window time.Duration
	Burst  int
}
