package chat

import (
	"strconv"
	"strings"
	"time"
)

// InboundKind says how a received message must be handled.
type InboundKind uint8

// These are the kinds of received messages. Edited, Deleted, Forgotten and Erased are events that the gateway handles
// but does not store as messages.
const (
	Text          InboundKind = iota
	Command                   // a message that starts with a platform command addressed to this bot
	Button                    // the sender pressed a button of this bot; Action says which button
	AccessRequest             // a stranger's message, without its text; the bot answers with a pairing code
	Oversized                 // a message that is too long; the Inbound does not contain its text
	Migration                 // the platform reports that the chat To has the new id MovedTo
	Edited                    // the sender edited the message with this ID; Text is the new text
	Deleted                   // somebody deleted the message with this ID; Sender may be empty
	Forgotten                 // an operator deletes the data of the conversation
	Erased                    // an operator deletes the sender's data in the conversation
	Opened                    // the sender opened the bot's pane; if the target To has no thread, this can happen repeatedly
)

// Origin says who wrote the text of a message. Only typed text has the sender's authority.
type Origin string

// These are the possible authors of the text.
const (
	Typed     Origin = ""        // the sender
	Forwarded Origin = "forward" // somebody else; the sender forwarded the message
	ByBot     Origin = "bot"     // an inline bot: a program that wrote the text in the sender's name
	Piped     Origin = "pipe"    // unknown: the text was read from a pipe or a file on standard input
	Reported  Origin = "report"  // no person: a device or service reported that something happened
)

// Sender is the author of a received message.
type Sender struct {
	ID   UserID
	Name string // only shown to people; does not identify the sender
	Bot  bool   // the sender is another bot
}

// Inbound is one received message, decoded by an adapter.
type Inbound struct {
	To     Target // where the bot must send its answer
	Sender Sender
	ID     MessageID // unique in the conversation; replies refer to it; may contain data that the adapter needs to answer
	Resume string    // position from which the adapter may continue once this message is stored
	Kind   InboundKind
	Text   string // the whole text, without the mention of the bot
	Origin Origin `json:",omitempty"` // who wrote Text
	Author string `json:",omitempty"` // Origin Forwarded: the author of Text, for display; empty: unknown
	// Quotes are the messages to which this message refers, oldest first. The sender replied to the quoted messages or asks about
	// them.
	Quotes []Quote `json:",omitempty"`
	// Command is the name of the command (Kind Command), in lower case and without a slash. If the bot has only one command on the
	// platform, Command is empty. If Command is empty, Args begins with the name of a command of telex, or is a question.
	Command   string
	Args      string // Kind Command: the text after the command
	Action    string // Kind Button: the ID of the pressed button's Action
	MovedTo   ChatID `json:",omitempty"` // Kind Migration: the chat's new id
	Addressed bool   // the message is for the bot: it is in a private chat, mentions the bot, replies to it, or is a command
	// Follows means that the message may be for the bot, although it does not mention the bot: the message is in a thread and
	// mentions nobody else. The gateway decides whether a message in a thread is for the bot, because only the gateway knows
	// whether the bot takes part in the thread.
	Follows     bool `json:",omitempty"`
	Reply       bool // the answer should visibly refer to this message, as is usual in groups
	Attachments []Attachment
	More        bool      // more messages that belong to this one probably follow, such as the other pictures of an album
	At          time.Time // when the person sent the message, by the platform's clock
	// Missed means that the message was already waiting on the platform when the adapter connected. A missed message
	// has been waiting since At. For other messages, telex ignores At, because the platform's clock may differ from
	// its own.
	Missed bool `json:",omitempty"`
	// Unattended means that nobody can approve tool calls while the model writes the reply.
	Unattended bool `json:",omitempty"`
}

// Quote is a message to which a received message refers. The author of a quote did not write it for the bot. So the
// model may read a quote, but must not treat it as an instruction of the sender.
type Quote struct {
	Author      string       // who wrote the quoted message, for display; empty: unknown
	Own         bool         `json:",omitempty"` // the bot wrote the quoted message
	Text        string       // text of the quoted message, without markup; for a picture or a file: the caption
	Part        bool         `json:",omitempty"` // Text is only the part of the message that the sender selected
	Attachments []Attachment `json:",omitempty"`
	Hidden      bool         `json:",omitempty"` // the platform does not show the bot the content of the quoted message
	ID          MessageID    `json:",omitempty"` // id of the quoted message; set if the adapter does not know the text
}

// Screen contains what an adapter needs for answering a message itself, before the message is stored.
type Screen struct {
	// Refusal returns the text with which the adapter answers a sender who has no access, and "" for everybody else.
	// Refusal never waits for the store.
	Refusal func(Inbound) string
	// Unstored returns the text with which the adapter answers if a message could not be stored.
	Unstored func() string
	// Commands returns the commands that people can use.
	Commands func() []CommandSpec
}

// Attachment is a file that belongs to a message. The content of the file has not been downloaded yet.
type Attachment struct {
	Name, MediaType string // name and type as the sender's client reported them; may be empty or wrong
	Size            int64  // in bytes; 0: the platform does not say
	ID              string // id by which the adapter downloads the file
}

// CommandSpec describes a command for the menu that a platform shows to people.
type CommandSpec struct {
	Name        string // in lower case, without slash
	Description string // one line
	Argument    string // one word for what may follow the name; empty: nothing may follow
	Asks        bool   // a question must follow the command's name; for platforms where people can ask only with a command
	Admin       bool   // the command is only for admins, and only in private chats
	Alone       bool   // the platform may hide the answer from everybody but the asker
}

// Action is a button below a message.
type Action struct {
	ID    string // value of Inbound.Action when somebody presses the button: at most 64 bytes of a-z, 0-9, "-" and ":"
	Label string // text on the button
}

// draftAction is the beginning of Inbound.Action when somebody has pressed the button of a draft. The draft's id follows this
// beginning.
const draftAction = "draft:"

// DraftAction returns the Inbound.Action for the button of a draft. A draft has only one button, and the platform
// reports only the draft's id when somebody presses it.
func DraftAction(draft int64) string { return draftAction + strconv.FormatInt(draft, 10) }

// PressedDraft returns the id of the draft to whose button the action belongs. If action belongs to another button,
// PressedDraft returns false.
func PressedDraft(action string) (draft int64, ok bool) {
	id, found := strings.CutPrefix(action, draftAction)
	draft, err := strconv.ParseInt(id, 10, 64)
	return draft, found && err == nil
}

// Prompt is a question that a platform suggests to people.
type Prompt struct {
	Label string // text on the button
	Text  string // the question that a person asks by pressing the button
}

// Resume says where an endpoint must continue to receive messages after a restart.
type Resume struct {
	Cursor string   // Inbound.Resume of the newest accepted message; empty: none
	Places []Target // places where turns began recently, newest first; for platforms whose chats must be queried one by one
	// Sent contains the references of the bot's newest messages that the store knows. On some platforms, the adapter's method Find
	// needs Sent.
	Sent []MessageRef
	// Received contains the references of people's newest messages that the store knows. Received is empty unless several
	// processes share the store, because only then other processes may have received messages.
	Received []MessageRef
	// Fellows returns how many other processes receive messages from the endpoint now, and how many of them began earlier than
	// this process. Fellows is nil if no other process can receive from the endpoint. Adapters need the two numbers for calls that
	// the gateway does not delay, such as reading missed messages: each process may use only its part of the limit. Adapters also
	// need the two numbers before they delete an object that other processes use, such as a webhook.
	Fellows func() (all, older int) `json:"-"`
}

// Others calls the function Fellows and returns its results. If Fellows is nil, Others returns zeros.
func (r Resume) Others() (all, older int) {
	if r.Fellows == nil {
		return 0, 0
	}
	return r.Fellows()
}

// Outgoing is a message to be sent, or the new content of an existing message. The gateway has already rendered, split
// and measured the text, so the adapter only has to encode it.
type Outgoing struct {
	Text    string    // rendered in the platform's dialect
	Spans   []Span    // the formatting, for dialects that describe it by offsets
	Plain   string    // the same text without any markup
	Source  string    // the Markdown of this message; together, the Sources of a reply's messages are the model's whole text
	Note    string    // the line that telex has added at the end of Text, for example to say why the model's text breaks off
	ReplyTo MessageID // the message to which this one visibly refers; the call must not fail if that message was deleted
	Answers MessageID // the asker's message; the same for all messages of a reply
	Key     string    // idempotency key: the same for all attempts to send this message
	Preview bool      // the text is not final yet; only the first preview of a reply may notify people

	// LinkPreview is the URL for which the platform may show a preview. Usually LinkPreview is empty. As long as LinkPreview is
	// empty, the platform must not open any URL in the text. If platforms opened every URL, a model could put private data into a
	// URL, and the preview would send the data to a server without a click. LinkPreview is set only if the asker typed every URL
	// in the text. A platform that can't be restricted to one URL may then open all URLs in the text.
	LinkPreview string
	Actions     []Action // buttons below the message; an edit without Actions removes them
}

// File is a file that the bot sends as a message of its own. An adapter gets a File together with an Outgoing, whose Text is
// the caption.
type File struct {
	Name      string // name of the file, with an extension, without a path
	MediaType string
	Content   []byte // read-only
}

// Span says how to format Length units of text that begin at Offset. The dialect defines the unit, for example UTF-16
// code units.
type Span struct {
	Kind           string // name of the format in the dialect
	Offset, Length int
	URL            string
	Language       string
}

// Receipt is the platform's response to a successful send or edit.
type Receipt struct {
	Ref MessageRef
	// RateLimits are the rate limits that counted the call, as the platform's response reports them. The reported
	// limits are more exact than the limits in Profile.
	RateLimits []RateLimitInfo
}

// Create describes an attempt to send a new message. If the response to a send is missing, an adapter's method Find can use the
// Create to search the platform for the message.
type Create struct {
	Key     string
	After   MessageID // the newest message that was known before the call; empty: none, or the platform does not need it
	File    bool      // the message that the call should make is a file
	Message Outgoing
	KeyOnly bool // Find may return only a message with this Key, because messages with the same text may have been sent since
}

// Found is the result of one call of an adapter's method Find, which searches for the message of a Create.
type Found struct {
	Ref    MessageRef // the message that the call found; its ID is empty if the call found none
	Next   string     // not empty: the search is not complete, and the next call must continue at this position
	Unsure bool       // the search is complete and found nothing, but the message may exist nevertheless
	// Taken means that the message at Ref was made by another attempt, whose outcome was unknown too. If Taken is set, the message
	// at Ref now shows the content of the Create that was searched for. If Taken is set, this Create may have made a message as
	// well.
	Taken bool
}

// RateLimitInfo is the state of one rate limit as the platform reports it, usually in response headers.
type RateLimitInfo struct {
	Scope     Scope
	Ops       Op // the kinds of calls that the limit counts
	Limit     int
	Remaining int
	Reset     time.Duration // time from the response until Remaining is equal to Limit again
}
