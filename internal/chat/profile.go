package chat

import "time"

// Capabilities says what an adapter can do on its platform. If a flag is set, the adapter must implement the optional
// interface that belongs to it. At its start and at each reload, the gateway checks that the adapter implements them.
type Capabilities struct {
	Edit      bool
	Delete    bool
	Typing    bool
	File      bool // the adapter can send files
	Draft     bool // the adapter can show drafts, at least in some chats
	Stream    bool // the adapter has native streams, at least in some chats
	Find      bool // the adapter can search for a message after the response to a send was lost
	Fetch     bool // the adapter can download attachments
	Thread    bool // the adapter can read the earlier messages of a thread
	Menu      bool // the adapter can show people a menu of commands
	Concludes bool // the adapter implements gateway.Concluder: the gateway must tell it when messages have been answered
	Pane      bool // the platform has a pane for conversations with the bot, at least in some chats
	// Buttons: the adapter shows Outgoing.Actions as buttons, and an edit without Actions removes them.
	Buttons bool
	// OneReceiver: the platform delivers a bot's messages to only one process, so the replicas elect one of them as
	// the receiver.
	OneReceiver bool
	// ReceiverAnswers may be set only together with OneReceiver. If ReceiverAnswers is set, the process that received a message
	// must also answer it, because its receiving loop waits for the answer.
	ReceiverAnswers bool
}

// Profile says what the platform allows in one chat or thread: how long a message may be, how often calls may be made,
// and more. Getting a Profile is cheap and has no side effects.
type Profile struct {
	TextLimit    int           // maximum length of a rendered message, in the dialect's unit
	EditInterval time.Duration // the platform's default for the time between two edits of a preview
	TypingEvery  time.Duration // how long a typing indicator lasts before it must be renewed; 0: the platform has no indicator
	DraftFor     time.Duration // how long a draft stays visible before it must be renewed; 0: drafts are impossible here
	StreamFor    time.Duration // how long a stream may last before it must be stopped; 0: streams are impossible here
	KeyFor       time.Duration // for how long a repeated send with the same key makes no second message; 0: not at all
	LateFor      time.Duration // for how long a failed send may still take effect, so that Find must be repeated; 0: not at all
	FileLimit    int64         // maximum size of a file in bytes; 0: unknown
	Limits       []Limit       // all published limits that apply to calls here
	NoCommands   bool          // people can't type commands with a slash here; they type only the names
	Slash        string        // what people type before the name of a command here; empty: "/", or nothing if NoCommands is set
}

// Scope says which calls a limit counts together.
type Scope uint8

// These are the scopes. If a response with status 429 does not say which scope is blocked, telex assumes ScopeChat.
// The store contains these numbers, so they must not change.
const (
	ScopeMessage  Scope = 1 // the edits of one message
	ScopeThread   Scope = 4 // one thread of a chat, or the chat outside of its threads
	ScopeChat     Scope = 2 // one chat with all its threads
	ScopeEndpoint Scope = 3 // all calls of the bot account
)

// String returns the name of the scope in logs.
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

// These are the kinds of calls that platforms count. The store contains these numbers, so they must not change.
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
	OpFile   // send a file
	OpPane   // suggest questions in the bot's pane, or name a thread there
	OpAll    = OpSend | OpEdit | OpDelete | OpTyping | OpDraft | OpStart | OpAppend | OpStop | OpFind | OpFile | OpPane
)

// Limit is one published limit: at most Count calls of the kinds in Ops within any Window. The budget spreads these
// calls out with a token bucket, which holds Burst calls and refills at Count/Window.
//
// A process that continues the work of another process does not know which calls the other one has made. If one process
// continues the work of another, the two processes together comply only with the bucket, and not with Count. So in a window of
// more than five seconds, the two processes may make up to Count+Burst-1 calls. If a platform allows n calls in a window of
// more than five seconds, the adapter therefore declares a Count of n-Burst+1.
type Limit struct {
	Scope  Scope
	Ops    Op
	Count  int
	Window time.Duration
	Burst  int
}
