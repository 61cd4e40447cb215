package chat

import "time"

// Capabilities says what an adapter can do on its platform. If a flag is set, the adapter must implement the optional
// interface of the same subject. The gateway checks the interfaces once, at the start.
type Capabilities struct {
	Edit      bool
	Delete    bool
	Typing    bool
	File      bool // it can send a message that is a file
	Draft     bool // it can show drafts, at least in some chats
	Stream    bool // it has native streams, at least in some chats
	Find      bool // it can find the message of a create with an unknown outcome
	Fetch     bool // it can download attachments
	Thread    bool // it can read the earlier messages of a thread
	Menu      bool // it can show people a menu of commands
	Concludes bool // it implements gateway.Concluder: it must be told when messages have been answered
	Pane      bool // it has a pane for conversations with the bot, at least in some chats
	// Buttons: the adapter shows Outgoing.Actions, and an edit without Actions removes the buttons.
	Buttons bool
	// OneReceiver: the platform lets only one process receive for a bot, so the replicas elect one of them as the
	// receiver.
	OneReceiver bool
	// ReceiverAnswers: if OneReceiver is set, the process that received a message must also answer it, because its
	// receiving loop waits for the answer.
	ReceiverAnswers bool
}

// Profile says what one chat or thread allows: how long a message may be, and how often calls may be made. Getting a
// Profile is cheap and has no side effects.
type Profile struct {
	TextLimit    int           // longest message, in the dialect's unit, after rendering
	EditInterval time.Duration // the platform's default for the time between two edits of a preview
	TypingEvery  time.Duration // how long a typing indicator lasts before it must be renewed; 0: the platform has no indicator
	DraftFor     time.Duration // how long a draft stays before it must be renewed; 0: no drafts here
	StreamFor    time.Duration // how long a stream may last before it must be stopped; 0: no streams here
	KeyFor       time.Duration // how long after a create repeating it with its key makes no second message; 0: never
	LateFor      time.Duration // how long a failed create may still take effect, so Find must be repeated; 0: never
	FileLimit    int64         // maximum size of a file in bytes; 0: unknown
	Limits       []Limit       // all published limits that count calls to this place
	NoCommands   bool          // people can't type commands with a slash here; they use the bare names
	Slash        string        // what people type before a command's name here; empty: "/", or nothing if NoCommands is set
}

// Scope is the range in which a limit counts calls.
type Scope uint8

// The scopes. A 429 that does not name its scope blocks ScopeChat. The store contains these numbers.
const (
	ScopeMessage  Scope = 1 // one message: its edits
	ScopeThread   Scope = 4 // one thread of a chat, or the chat outside of its threads
	ScopeChat     Scope = 2 // one chat, threads included
	ScopeEndpoint Scope = 3 // all calls of the bot account
)

// String returns the scope as logs show it.
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

// The kinds of calls that platforms count. The store contains these numbers.
const (
	OpSend Op = 1 << iota
	OpEdit
	OpDelete
	OpTyping
	OpDraft  // show a draft
	OpStart  // begin a native stream
	OpAppend // add text to a native stream
	OpStop   // end a native stream
	OpFind   // search for a message
	OpFile   // send a message that is a file
	OpPane   // suggest questions in the bot's pane, or name a thread there
	OpAll    = OpSend | OpEdit | OpDelete | OpTyping | OpDraft | OpStart | OpAppend | OpStop | OpFind | OpFile | OpPane
)

// Limit is one published limit: at most Count calls of the kinds in Ops within any Window. The budget spreads these
// calls out with a token bucket, which holds Burst calls and refills at Count/Window.
//
// A process that continues after another process does not know the other's calls. Together, the two processes comply
// only with the bucket. So a window of more than five seconds may contain up to Count+Burst-1 calls of both processes.
// An adapter for a platform that allows n calls in such a window therefore declares a Count of n-Burst+1.
type Limit struct {
	Scope  Scope
	Ops    Op
	Count  int
	Window time.Duration
	Burst  int
}
