package chat

import "time"

// InboundKind says how an inbound message wants to be handled.
type InboundKind uint8

// The kinds of inbound message.
const (
	Text          InboundKind = iota
	Command                   // a message that starts with a platform command addressed to this bot
	Button                    // a press of a button that this bot showed: Action says which
	AccessRequest             // anything from a person who is not let in: without its text, to be answered with a pairing code
	Oversized                 // a message longer than any may be: without its text
	Migration                 // the platform says that the chat To has a new id: MovedTo. Nobody said anything
)

// Origin says who wrote the text of a message. Only typed text has the sender's authority.
type Origin string

// The origins.
const (
	Typed     Origin = ""        // the sender
	Forwarded Origin = "forward" // somebody else: the sender passed it on
	ByBot     Origin = "bot"     // a program, in the sender's name: an inline bot
	Piped     Origin = "pipe"    // whatever was on standard input that is no terminal
)

// Sender is who wrote an inbound message.
type Sender struct {
	ID   UserID
	Name string // for people to read; never an identity
	Bot  bool   // another bot
}

// Inbound is one message from a person, decoded by an adapter.
type Inbound struct {
	To          Target // where an answer goes
	Sender      Sender
	ID          MessageID // dedupe key within the conversation, and what a reply refers to: whatever an adapter needs to answer can be in it
	Resume      string    // where Run may continue once this message is accepted
	Kind        InboundKind
	Text        string // the whole text as the person meant it, the bot's own mention removed
	Origin      Origin `json:",omitempty"` // of Text
	Command     string // Kind Command: the name in lower case, without slash and bot name; empty where one command serves for all: then Args begins with the name, or is a question
	Args        string // Kind Command: the rest of the text
	Action      string // Kind Button: the Action's ID
	MovedTo     ChatID `json:",omitempty"` // Kind Migration: the chat's new id
	Addressed   bool   // the bot was meant: private chat, mention, reply to the bot, or command
	Reply       bool   // the answer should visibly refer to this message (groups)
	Attachments []Attachment
	More        bool      // the platform shows signs that more of the same follows at once: an album, a paste that was split
	At          time.Time // when the person sent it, by the platform's clock
	// Missed says that it waited with the platform when the adapter connected: only then its age is known to be real.
	// At and the local clock alone don't tell it, since one of the two may be wrong.
	Missed bool `json:",omitempty"`
	// Unattended says that nobody watches the answer come and says anything to it: nobody can be asked.
	Unattended bool `json:",omitempty"`
}

// Screen is what a platform needs that must answer a message before it can be stored.
type Screen struct {
	// Refusal returns the line for the sender of a message who is not let in, and "" when the message is for accept to judge.
	// It does not wait for the store.
	Refusal func(Inbound) string
	// Unstored is the line for the sender of a message that could not be stored.
	Unstored string
}

// Attachment is a file that came with a message. Its content is not fetched yet.
type Attachment struct {
	Name, MediaType string // what the sender's side says of it, and may be empty or wrong
	Size            int64  // bytes; 0 when the platform does not say
	ID              string // by which the adapter fetches it
}

// CommandSpec is a command as a platform offers it to people.
type CommandSpec struct {
	Name        string // in lower case, without slash
	Description string // one line
	Argument    string // what may follow the name, in one word; empty: nothing
	Asks        bool   // what follows is a question, which there must be: only where writing to the bot is not enough
	Admin       bool   // for admins only, and in private
}

// Action is a button below a message.
type Action struct {
	ID    string // what comes back in Inbound.Action: at most 64 bytes of a-z, 0-9, "-" and ":"
	Label string // what people read on it
}

// Resume says where receiving goes on.
type Resume struct {
	Cursor string   // of the newest message that was accepted; empty: none was
	Places []Target // where turns began lately, newest first: for platforms that must be asked place by place
}

// Outgoing is one message to be sent, or the new state of one that exists. The gateway has
// rendered, split and measured it; an adapter only encodes it.
type Outgoing struct {
	Text    string    // rendered in the platform's dialect
	Spans   []Span    // formatting by offset, for dialects that format so
	Plain   string    // the same text without any markup
	Source  string    // the Markdown of what this message shows of the text: those of a reply, joined, are its text as the model wrote it
	Note    string    // the line at the end of Text that is none of the model's: why the text broke off, or why there is none
	ReplyTo MessageID // the message this one visibly refers to; a missing one must not fail the call
	Answers MessageID // the same in every part of a reply: what all of them answer
	Key     string    // idempotency key: equal for every try of the same create
	Preview bool      // not the final text: no notification beyond the first

	// LinkPreview is the address that the platform may open to show a preview of it. Empty, which is usual, means that it
	// must open none: a model could tell anybody's server what it knows by an address that is opened without a click. Where
	// a platform can't be told which address, all that are in the text may be opened: the asker typed each.
	LinkPreview string
	Actions     []Action // buttons, where there are any; none: those that the message had go away
}

// File is what a message of its own is sent as. Its caption is the text of the Outgoing it
// comes with.
type File struct {
	Name      string // with an extension that says what it is; no path
	MediaType string
	Content   []byte // the reader must not change it
}

// Span formats Length units of text from Offset on. The unit is the dialect's.
type Span struct {
	Kind           string // as the dialect names it
	Offset, Length int
	URL            string
	Language       string
}

// Receipt is what a platform said about a message it took.
type Receipt struct {
	Ref MessageRef
	// Told is what the answer said of the limits that the call counted against. It refines
	// what the profile declares.
	Told []Told
}

// Told is the state of one limit as the platform reports it, most often in headers.
type Told struct {
	Scope     Scope
	Ops       Op // the kinds of calls that count against it
	Limit     int
	Remaining int
	Reset     time.Duration // until Remaining is Limit again, counted from the answer
}
