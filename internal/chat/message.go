package chat

import (
	"strconv"
	"strings"
	"time"
)

// InboundKind says how an inbound message must be handled.
type InboundKind uint8

// The kinds of inbound message.
const (
	Text          InboundKind = iota
	Command                   // a message that starts with a platform command addressed to this bot
	Button                    // a press of a button that this bot showed: Action says which
	AccessRequest             // a message of a person who is not let in, without its text; the answer is a pairing code
	Oversized                 // a message that is too long, without its text
	Migration                 // the chat To has a new id, MovedTo; no person wrote anything
	Edited                    // the sender changed the message ID; Text is its new text. It is not stored
	Deleted                   // the message ID was deleted; Sender may be empty. It is not stored
	Forgotten                 // an operator deletes the conversation. It is not stored
	Erased                    // an operator deletes what the sender asked in the conversation. It is not stored
	Opened                    // the sender opened the bot's pane and wrote nothing. To is a new thread, or without a thread a place that is opened again and again
)

// Origin says who wrote the text of a message. Only typed text has the sender's authority.
type Origin string

// The origins.
const (
	Typed     Origin = ""        // the sender
	Forwarded Origin = "forward" // somebody else; the sender forwarded it
	ByBot     Origin = "bot"     // a program, in the sender's name: an inline bot
	Piped     Origin = "pipe"    // read from standard input that is not a terminal
	Reported  Origin = "report"  // nobody: a device or service reports that something happened
)

// Sender is who wrote an inbound message.
type Sender struct {
	ID   UserID
	Name string // for people to read; never an identity
	Bot  bool   // another bot
}

// Inbound is one message from a person, decoded by an adapter.
type Inbound struct {
	To     Target // where an answer goes
	Sender Sender
	ID     MessageID // deduplication key within the conversation, and the target of replies; an adapter may store in it what it needs for an answer
	Resume string    // where Run may continue once this message is accepted
	Kind   InboundKind
	Text   string // the whole text as the person meant it, the bot's own mention removed
	Origin Origin `json:",omitempty"` // of Text
	Author string `json:",omitempty"` // Origin Forwarded: who wrote Text, for people to read; empty: unknown
	// Quotes are the messages that this one refers to, oldest first: the one that it replies to, or the one it was asked about.
	Quotes    []Quote `json:",omitempty"`
	Command   string  // Kind Command: the name in lower case, without slash and bot name; empty where one command serves for all: then Args begins with the name, or is a question
	Args      string  // Kind Command: the rest of the text
	Action    string  // Kind Button: the Action's ID
	MovedTo   ChatID  `json:",omitempty"` // Kind Migration: the chat's new id
	Addressed bool    // the bot was meant: private chat, mention, reply to the bot, or command
	// Follows means that the message may continue a conversation with the bot although it does not name it: it stands in a
	// thread, and it mentions nobody else. Whether the bot takes part in the thread is the gateway's to know.
	Follows     bool `json:",omitempty"`
	Reply       bool // the answer should visibly refer to this message (groups)
	Attachments []Attachment
	More        bool      // more messages probably follow that belong to this one: an album, a split paste
	At          time.Time // when the person sent it, by the platform's clock
	// Missed means that the message was already waiting on the platform when the adapter connected. Only then its age is
	// reliable: At and the local clock may differ.
	Missed bool `json:",omitempty"`
	// Unattended means that nobody can answer questions while the reply is written.
	Unattended bool `json:",omitempty"`
}

// Quote is another message that a message refers to. The sender of the message did not write it for the bot: it is outside
// content.
type Quote struct {
	Author      string       // who wrote it, for people to read; empty: unknown
	Own         bool         `json:",omitempty"` // the bot wrote it
	Text        string       // without markup; for a picture or file, its caption
	Part        bool         `json:",omitempty"` // Text is only the part of the message that the sender marked
	Attachments []Attachment `json:",omitempty"`
	Hidden      bool         `json:",omitempty"` // the platform does not tell the bot what the message says
	ID          MessageID    `json:",omitempty"` // of the message, if the adapter did not know what it says
}

// Screen holds the lines that an adapter needs if it must answer a message before it is stored.
type Screen struct {
	// Refusal returns the line for a sender who is not let in, and "" for everybody else. It does not wait for the store.
	Refusal func(Inbound) string
	// Unstored returns the line for the sender of a message that could not be stored.
	Unstored func() string
	// Commands returns the commands that people can use.
	Commands func() []CommandSpec
}

// Attachment is a file that came with a message. Its content is not fetched yet.
type Attachment struct {
	Name, MediaType string // as the sender's client reports them; may be empty or wrong
	Size            int64  // bytes; 0 when the platform does not say
	ID              string // by which the adapter fetches it
}

// CommandSpec is a command as a platform offers it to people.
type CommandSpec struct {
	Name        string // in lower case, without slash
	Description string // one line
	Argument    string // what may follow the name, in one word; empty: nothing
	Asks        bool   // a question must follow; used where people can't simply write to the bot
	Admin       bool   // for admins only, and in private
	Alone       bool   // only the asker needs to see the answer; the platform may hide it from others
}

// Action is a button below a message.
type Action struct {
	ID    string // what comes back in Inbound.Action: at most 64 bytes of a-z, 0-9, "-" and ":"
	Label string // what people read on it
}

// draftAction begins the Action of a press on the button of a draft, before the draft's id.
const draftAction = "draft:"

// DraftAction returns the Inbound.Action of a press on the one button that a platform shows with a draft. The platform says only
// which draft it was.
func DraftAction(draft int64) string { return draftAction + strconv.FormatInt(draft, 10) }

// PressedDraft returns the id of the draft whose button was pressed; false if it was another button.
func PressedDraft(action string) (draft int64, ok bool) {
	id, found := strings.CutPrefix(action, draftAction)
	draft, err := strconv.ParseInt(id, 10, 64)
	return draft, found && err == nil
}

// Prompt is a question that a platform suggests to people.
type Prompt struct {
	Label string // what people read
	Text  string // what they ask by pressing it
}

// Resume says where receiving continues.
type Resume struct {
	Cursor string   // of the newest accepted message; empty: none
	Places []Target // where turns began recently, newest first; for platforms that must be queried per chat
	// Sent are the newest messages that the bot sent and that the store knows; for platforms where Find depends on that.
	Sent []MessageRef
	// Received are the newest messages of people, if several processes share the store: another one received them.
	Received []MessageRef
	// Fellows returns how many other processes receive from the endpoint at this moment, and how many of them began before this
	// one; nil: none ever does. Calls that the gateway does not pace, such as those that read missed messages, must leave them
	// their part of a limit. What all of them need, such as a webhook, must stay while there are any.
	Fellows func() (all, older int) `json:"-"`
}

// Others calls Fellows, if there is one.
func (r Resume) Others() (all, older int) {
	if r.Fellows == nil {
		return 0, 0
	}
	return r.Fellows()
}

// Outgoing is one message to be sent, or the new state of one that exists. The gateway has
// rendered, split and measured it; an adapter only encodes it.
type Outgoing struct {
	Text    string    // rendered in the platform's dialect
	Spans   []Span    // formatting by offset, for dialects that format so
	Plain   string    // the same text without any markup
	Source  string    // the Markdown that this message shows. The sources of all parts, joined, are the text as the model wrote it
	Note    string    // the line at the end of Text that telex adds, such as the reason why the text ends
	ReplyTo MessageID // the message this one visibly refers to; a missing one must not fail the call
	Answers MessageID // the question; the same in every part of a reply
	Key     string    // idempotency key: the same for every attempt of one create
	Preview bool      // not the final text: no notification beyond the first

	// LinkPreview is the address that the platform may open to show a preview. Usually it is empty and the platform must
	// open none: with an address that is opened without a click, a model could send data to any server. If a platform
	// can't be restricted to one address, it may open all addresses in the text: the asker typed each of them.
	LinkPreview string
	Actions     []Action // buttons; without any, an edit removes the message's buttons
}

// File is sent as a message of its own. Its caption is the text of the Outgoing beside it.
type File struct {
	Name      string // with an extension, without a path
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

// Receipt is the platform's answer to a successful send or edit.
type Receipt struct {
	Ref MessageRef
	// RateLimits are the limits that the call counted against, as the answer reports them. They refine
	// what the profile declares.
	RateLimits []RateLimitInfo
}

// Create is a create as it was tried: what a platform needs to find the message that it may have made.
type Create struct {
	Key     string
	After   MessageID // the newest message that was known before the call; empty: none, or the platform does not need it
	File    bool      // it was to send a file
	Message Outgoing
	KeyOnly bool // where messages have keys, only one with its key is it: others may have been made since
}

// Found is what one call that looks for the message of a create learned.
type Found struct {
	Ref    MessageRef // the message; without an id, the call found none
	Next   string     // not empty: the search continues with this
	Unsure bool       // the search has ended, and the message may exist nevertheless
	// Taken means that the message at Ref was made by another create of unknown outcome, and shows the content of this one
	// now. The message of this one may exist too.
	Taken bool
}

// RateLimitInfo is the state of one limit as the platform reports it, mostly in headers.
type RateLimitInfo struct {
	Scope     Scope
	Ops       Op // the kinds of calls that count against it
	Limit     int
	Remaining int
	Reset     time.Duration // until Remaining is Limit again, counted from the answer
}
