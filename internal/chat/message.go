package chat

import (
	"strconv"
	"strings"
	"time"
)

// InboundKind says how a received message must be handled.
type InboundKind uint8

// The kinds of received messages.
const (
	Text          InboundKind = iota
	Command                   // a message that starts with a platform command addressed to this bot
	Button                    // the sender pressed a button that this bot showed: Action says which
	AccessRequest             // a message of a stranger, without its text; the bot answers with a pairing code
	Oversized                 // a message that is too long, without its text
	Migration                 // the chat To has a new id, MovedTo; no person wrote anything
	Edited                    // the sender changed the message ID; Text is its new text; it is not stored
	Deleted                   // the message ID was deleted; Sender may be empty; it is not stored
	Forgotten                 // an operator deletes the conversation; it is not stored
	Erased                    // an operator deletes what the sender asked in the conversation; it is not stored
	Opened                    // the sender opened the bot's pane. If To has no thread, this can happen repeatedly
)

// Origin says who wrote the text of a message. Only typed text has the sender's authority.
type Origin string

// These values name the author of the text.
const (
	Typed     Origin = ""        // the sender
	Forwarded Origin = "forward" // somebody else; the sender forwarded it
	ByBot     Origin = "bot"     // a program, in the sender's name: an inline bot
	Piped     Origin = "pipe"    // read from standard input that is not a terminal
	Reported  Origin = "report"  // nobody: a device or service reports that something happened
)

// Sender is the author of a received message.
type Sender struct {
	ID   UserID
	Name string // for display only; never used as an identity
	Bot  bool   // the sender is another bot
}

// Inbound is one received message, decoded by an adapter.
type Inbound struct {
	To     Target // where the answer goes
	Sender Sender
	ID     MessageID // unique within the conversation; replies refer to it; the adapter may append data that it needs to answer
	Resume string    // position from which Run may continue to receive after this message has been accepted
	Kind   InboundKind
	Text   string // the whole text, without the mention of the bot
	Origin Origin `json:",omitempty"` // who wrote Text
	Author string `json:",omitempty"` // Origin Forwarded: the author of Text, for display; empty: unknown
	// Quotes are the messages to which this message refers, oldest first. The sender replied to the quoted messages,
	// or asks about them.
	Quotes []Quote `json:",omitempty"`
	// Command is the name of a command (Kind Command), in lower case and without a slash. If the platform has only one
	// command, Command is empty, and Args begins with the name of a telex command or is a question.
	Command   string
	Args      string // Kind Command: the rest of the text
	Action    string // Kind Button: the Action's ID
	MovedTo   ChatID `json:",omitempty"` // Kind Migration: the chat's new id
	Addressed bool   // the message is meant for the bot: private chat, mention, reply to the bot, or command
	// Follows means that the message may be meant for the bot although it does not mention the bot: it is in a thread
	// and mentions nobody else. The gateway decides, because only the gateway knows whether the bot takes part in the
	// thread.
	Follows     bool `json:",omitempty"`
	Reply       bool // the answer should visibly refer to this message, as in groups
	Attachments []Attachment
	More        bool      // more messages that belong to this one probably follow: an album, a split text
	At          time.Time // when the person sent it, by the platform's clock
	// Missed means that the message was already waiting on the platform when the adapter connected. The waiting time
	// of a missed message begins at At. For other messages, At is ignored, because the clocks may differ.
	Missed bool `json:",omitempty"`
	// Unattended means that nobody can answer a question for approval while the model writes the reply.
	Unattended bool `json:",omitempty"`
}

// Quote is a message to which a received message refers. The author of a quote did not write it for the bot, so a
// quote is outside content, which has no authority.
type Quote struct {
	Author      string       // who wrote it, for display; empty: unknown
	Own         bool         `json:",omitempty"` // the bot wrote it
	Text        string       // without markup; of a picture or file: its caption
	Part        bool         `json:",omitempty"` // Text is only the part of the message that the sender selected
	Attachments []Attachment `json:",omitempty"`
	Hidden      bool         `json:",omitempty"` // the platform does not give the bot the content of the message
	ID          MessageID    `json:",omitempty"` // id of the message, if the adapter does not know its text
}

// Screen contains the lines with which an adapter answers a message that is not stored yet.
type Screen struct {
	// Refusal returns the line for a sender who is not let in, and "" for everybody else. Refusal never waits for the
	// store.
	Refusal func(Inbound) string
	// Unstored returns the line for the sender of a message that could not be stored.
	Unstored func() string
	// Commands returns the commands that people can use.
	Commands func() []CommandSpec
}

// Attachment is a file that belongs to a message. The content of the file has not been downloaded yet.
type Attachment struct {
	Name, MediaType string // as the sender's client reported them; may be empty or wrong
	Size            int64  // in bytes; 0: the platform does not say
	ID              string // id with which the adapter downloads the file
}

// CommandSpec describes a command for the menu that a platform shows to people.
type CommandSpec struct {
	Name        string // in lower case, without slash
	Description string // one line
	Argument    string // what may follow the name, in one word; empty: nothing
	Asks        bool   // a question must follow the name; for platforms on which people can't simply write to the bot
	Admin       bool   // only for admins, and only in private chats
	Alone       bool   // only the asker needs to see the answer; the platform may hide it from others
}

// Action is a button below a message.
type Action struct {
	ID    string // value of Inbound.Action after a press: at most 64 bytes of a-z, 0-9, "-" and ":"
	Label string // text on the button
}

// draftAction is the beginning of Inbound.Action after a press on the button of a draft. The draft's id follows.
const draftAction = "draft:"

// DraftAction returns the Inbound.Action for a press on the only button that a platform shows with a draft. The
// platform reports only the draft's id.
func DraftAction(draft int64) string { return draftAction + strconv.FormatInt(draft, 10) }

// PressedDraft returns the id of the draft whose button was pressed, or false if another button was pressed.
func PressedDraft(action string) (draft int64, ok bool) {
	id, found := strings.CutPrefix(action, draftAction)
	draft, err := strconv.ParseInt(id, 10, 64)
	return draft, found && err == nil
}

// Prompt is a question that a platform suggests to people.
type Prompt struct {
	Label string // text on the button
	Text  string // question that a press asks
}

// Resume says from where an endpoint continues to receive.
type Resume struct {
	Cursor string   // cursor of the newest accepted message; empty: none
	Places []Target // places where turns began recently, newest first; some platforms must be queried chat by chat
	// Sent are the newest messages of the bot in the store. On some platforms, Find needs Sent.
	Sent []MessageRef
	// Received are the newest messages of people in the store. Received is empty unless several processes share the
	// store, because only then another process may have received messages.
	Received []MessageRef
	// Fellows returns how many other processes receive from the endpoint now, and how many of them began before this
	// process. Fellows is nil if no other process ever receives. Adapters need these numbers for calls that the
	// gateway does not pace, such as reading missed messages: each process may use only its part of the limit. An
	// adapter also keeps an object that all processes need, such as a webhook, while another process receives.
	Fellows func() (all, older int) `json:"-"`
}

// Others returns the result of Fellows, or zeros if Fellows is nil.
func (r Resume) Others() (all, older int) {
	if r.Fellows == nil {
		return 0, 0
	}
	return r.Fellows()
}

// Outgoing is one message to be sent, or the new content of an existing message. The gateway has already rendered,
// split and measured the text, so an adapter only encodes it.
type Outgoing struct {
	Text    string    // rendered in the platform's dialect
	Spans   []Span    // formatting by offset, for dialects that use offsets
	Plain   string    // the same text without any markup
	Source  string    // the Markdown of this message; the Sources of all parts of a reply are together the model's whole text
	Note    string    // the line that telex adds at the end of Text, such as the reason why the text ends
	ReplyTo MessageID // the message to which this one visibly refers; if that message is missing, the call must not fail
	Answers MessageID // the asker's message; the same for all parts of a reply
	Key     string    // idempotency key: the same for all attempts of one create
	Preview bool      // this is not the final text; only the first preview may cause a notification

	// LinkPreview is the URL for which the platform may show a preview. Usually LinkPreview is empty, and then the
	// platform must not open any URL in the text. A model could put data into a URL, and a preview would send the data
	// to a server without a click. LinkPreview is set only if the asker typed every URL in the text. A platform that
	// can't be restricted to one URL may then open all URLs in the text.
	LinkPreview string
	Actions     []Action // buttons; if there are none, an edit removes the message's buttons
}

// File is a file that is sent as a separate message. The Text of the Outgoing that is passed with a File is the
// caption.
type File struct {
	Name      string // with an extension, without a path
	MediaType string
	Content   []byte // must not be changed by the reader
}

// Span formats Length units of text, beginning at Offset. The dialect defines the unit.
type Span struct {
	Kind           string // name of the format in the dialect
	Offset, Length int
	URL            string
	Language       string
}

// Receipt is the platform's response to a successful send or edit.
type Receipt struct {
	Ref MessageRef
	// RateLimits are the limits that counted the call, as the platform's response reports them. The reported limits
	// are more exact than those in Profile.
	RateLimits []RateLimitInfo
}

// Create describes an attempted create. With a Create, Find can search the platform for the message that the create
// may have made.
type Create struct {
	Key     string
	After   MessageID // the newest message known before the call; empty: there was none, or the platform does not need it
	File    bool      // the create sends a file
	Message Outgoing
	KeyOnly bool // ignore messages without this Key: messages with the same text may have been sent since
}

// Found is the result of one call that searches for the message of a create.
type Found struct {
	Ref    MessageRef // the message that the call found; its ID is empty if the call found none
	Next   string     // not empty: where the search must continue
	Unsure bool       // the search has ended without a result, but the message may exist nevertheless
	// Taken means that the message at Ref was made by another create of unknown outcome, but now shows the content of
	// the searched create. The message that the searched create made may exist too.
	Taken bool
}

// RateLimitInfo is the state of one limit as the platform reports it, usually in headers.
type RateLimitInfo struct {
	Scope     Scope
	Ops       Op // the kinds of calls that the limit counts
	Limit     int
	Remaining int
	Reset     time.Duration // time until Remaining is Limit again, counted from the response
}
