package conformance

import (
	"log/slog"
	"testing"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// Adapter is the interface of every adapter. An adapter must also implement the interfaces that belong to its
// capabilities.
type Adapter = gateway.Platform

// Factory creates the World of one case. A Factory registers a cleanup with t for everything that the World starts.
type Factory func(t *testing.T) World

// World is a platform with one bot account, and with people in a private chat and in a group. The stand-in of the
// platform enforces the platform's rules. The stand-in enforces rate limits only after the case has called Enforce. The
// interfaces in this file other than World are for features that only some platforms have. If the adapter promises a
// feature, its World must implement the interface for this feature.
type World interface {
	// Connect returns an adapter of the bot's account that logs to log.
	Connect(log *slog.Logger, how Connection) Adapter
	// Secrets returns the texts that must not appear in errors and logs.
	Secrets() []string
	// Private and Group return the private chat and the group that most cases use. If the bot answers in a group only in
	// threads, Group returns a thread that a person began without mentioning the bot. If the platform has no groups, Group
	// returns the zero Target.
	Private() chat.Target
	Group() chat.Target
	// Crowd returns n more private chats. In each of the chats that Crowd returns, another person writes when Say is
	// called. A case calls Crowd at most once.
	Crowd(n int) []chat.Target

	// Shown returns the texts of the bot's messages in a chat, oldest first. For a message with a file, Shown returns the
	// file's caption.
	Shown(to chat.Target) []string
	// Files returns the files that the bot has sent to a chat and that are still visible.
	Files(to chat.Target) []File
	// Drafts returns the drafts that are visible in a chat.
	Drafts(to chat.Target) []string
	// Calls returns how many calls of the given kind the platform has received. A call that sends a file counts as
	// OpSend.
	Calls(op chat.Op) int
	// Break makes the next call of the given kind fail. Break must support every kind of call that the adapter makes.
	Break(op chat.Op, f Fault)
	// Enforce makes the platform enforce its rate limits from now on.
	Enforce(r Rates)
	// Violations returns the bot's violations of the platform's rules, one line each. Violations are calls beyond a
	// published rate, calls in a scope before the wait after a 429 has ended, late acknowledgements, and violations
	// of other rules that the stand-in enforces. A call that exceeds only a hidden rate is not a violation.
	Violations() []string
	// Refusals returns how many calls the platform refused with 429. Calls that failed because of Break do not count.
	Refusals() int
	// Versions returns all versions of the bot's messages in a chat that were ever visible, in order of time. Each message
	// has one version after the create call, and one more version after each change. Versions also returns the versions of
	// deleted messages. Two versions may have the same time of change. Versions excludes drafts, the contents of files,
	// and typing indicators without text.
	Versions(to chat.Target) []Version
	// Pings returns the people whom the bot's messages in a chat have notified by a mention. Pings considers every version
	// of the bot's messages. Pings excludes the author of the message that the bot answers.
	Pings(to chat.Target) []string
	// Opened returns the addresses that the platform opened to show link previews in a chat. Opened considers every
	// version of the bot's messages.
	Opened(to chat.Target) []string
	// Sample returns the text that Shown must return after the constant Sample was sent to the private chat. The text that
	// Sample returns is written by hand, so that it does not depend on the adapter's dialect.
	Sample() string
	// Say makes a person write a message in a chat.
	Say(to chat.Target, s Saying)
	// Attach makes a person send a file. The message declares that the file has the given size; if size is 0, the message
	// declares no size. A file without content represents a file that the platform no longer has. If bots can't download
	// attachments on the platform, Attach does nothing.
	Attach(to chat.Target, f File, size int64)
	// BreakFetch makes the next download of an attachment fail. With the fault CutAfter, the connection breaks in the
	// middle of the file.
	BreakFetch(f Fault)
	// Menu returns the names of the commands in a chat's menu, as the person who writes in the chat sees them, in the
	// order of the menu.
	Menu(to chat.Target) []string
	// MenuChanges returns how many times the bot has changed menus.
	MenuChanges() int
	// Remove makes a person delete a message, either the bot's or the person's own. For a person's own message, ref
	// contains the ID of the Inbound that the adapter received.
	Remove(ref chat.MessageRef)
	// Ban forbids the bot to write in a chat.
	Ban(to chat.Target)
	// Garble makes the platform deliver an update that the adapter can't decode.
	Garble()
}

// Threader is a World whose bot answers only in threads. In a Threader, people reply to a message of the bot by writing
// in the thread that belongs to the message.
type Threader interface {
	// Channel returns the channel that contains Group's thread. A message that the bot sends to this channel begins a new
	// thread. A Saying that has the field ReplyTo and is sent to this channel goes to the thread of the message in
	// ReplyTo.
	Channel() chat.Target
}

// Presser is a World whose platform has buttons. If the adapter has Capabilities.Buttons, its World must be a
// Presser.
type Presser interface {
	// Buttons returns the current buttons below a message, in their order.
	Buttons(ref chat.MessageRef) []chat.Action
	// Press makes a person press a button. The person is the one who writes in the chat when Say is called.
	Press(ref chat.MessageRef, action string)
	// PressAside is like Press, but another person in the group presses the button.
	PressAside(ref chat.MessageRef, action string)
	// Unanswered returns how many presses the bot did not acknowledge, or acknowledged too late.
	Unanswered() int
}

// DraftStopper is a World whose drafts can have a button that stops the answer.
type DraftStopper interface {
	// StopDraft makes the person press the button of the visible draft in a chat. StopDraft returns false if the
	// draft has no button.
	StopDraft(to chat.Target) bool
}

// StreamWorld is a World whose platform has native streams. If the adapter has Capabilities.Stream, its World must be
// a StreamWorld.
type StreamWorld interface {
	// Streaming returns the texts of the bot's streams in a chat, oldest first.
	Streaming(to chat.Target) []string
	// Broken returns the texts of streams that look broken, because the platform has ended the streams and the bot has not
	// edited their messages since then.
	Broken(to chat.Target) []string
	// StreamLife returns the time after which the platform ends a stream by itself.
	StreamLife() time.Duration
}

// Asker is a World whose platform has special rules for a question that a person asks with a slash command. On Asker's
// platform, the bot must acknowledge a slash command at once, and can answer the command only for a limited time
// (Discord's interactions, F53).
type Asker interface {
	// Ask makes a person ask a question with the command /ask.
	Ask(to chat.Target, question string)
	// Dangling returns how many uses of the command /ask look unanswered. A command looks unanswered if the platform got
	// no response to the command in time, or still shows that the bot is thinking.
	Dangling() int
}

// Repeater is a World whose platform may deliver one message twice, or by two events of different kinds (F50).
type Repeater interface {
	// Repeat makes the platform deliver every further message twice, or by two events.
	Repeat()
}

// Unpreviewed is a World whose platform never shows link previews.
type Unpreviewed interface {
	Unpreviewed() bool
}

// previews reports whether the platform shows previews of links.
func (s *scene) previews() bool {
	w, ok := s.World.(Unpreviewed)
	return !ok || !w.Unpreviewed()
}

// Reporter is a World on which nobody can write. A Reporter has one chat, in which the bot receives events. On a
// Reporter, Say causes an event whose text ends with the text of the Saying. The suite never calls Crowd on a
// Reporter.
type Reporter interface {
	// Said returns the text of the Saying that caused an event. The parameter text is the text of the message that the
	// adapter made from the event.
	Said(text string) string
}

// Brief is a World whose platform supports buttons only below short texts.
type Brief interface {
	// ButtonText returns the maximum length of a text with buttons, in the dialect's unit of length.
	ButtonText() int
}

// Unordered is a World whose platform may deliver newer messages before it repeats unconfirmed messages.
type Unordered interface {
	Unordered()
}

// Unsized is a World whose platform does not report the size of attachments.
type Unsized interface {
	Unsized()
}

// UnknownLimit is a World whose platform does not report how long a rate limit lasts.
type UnknownLimit interface {
	// RetryAfter returns how long the bot must wait according to the adapter's error after the fault RateLimit. The wait
	// that the method RetryAfter returns is at least as long as the constant RetryAfter.
	RetryAfter() time.Duration
}

// OpenFiles is a World whose platform serves attachments without credentials to anybody who knows the address.
type OpenFiles interface {
	OpenFiles()
}

// Checker is a World whose platform uses a markup other than Markdown, and whose stand-in does not check this markup.
// (For Markdown, the suite itself checks the markup.)
type Checker interface {
	// Check returns an error if a text that people see contains a delimiter without a partner. People would see a
	// delimiter without a partner as ordinary characters.
	Check(shown string) error
}

// Version is the content of a message from the time At until the time of the message's next version.
type Version struct {
	At      time.Time
	Message string // identifies the message; can be the ID in a MessageRef for Remove
	Text    string
}

// Rates selects the rates that a platform enforces.
type Rates uint8

// These are the values of Rates.
const (
	Published Rates = iota // the platform's published rates
	Halved                 // hidden rates: half as many calls per time as published, with the same bursts
)

// File describes a file as people see it.
type File struct {
	Name    string
	Content []byte
	Caption string
}

// Connection says whether and how an adapter's connection to the platform fails.
type Connection uint8

// These are the values of Connection.
const (
	Proper      Connection = iota
	WrongSecret            // the platform refuses the credentials
	Unreachable            // no server listens at the address
)

// Fault is a failure of one call.
type Fault uint8

// These are the values of Fault.
const (
	RateLimit    Fault = iota // the platform refuses the call with 429; the bot may retry it after RetryAfter
	ServerError               // an error of the platform itself; the call has no effect
	CutBefore                 // the connection breaks before the call takes effect
	CutAfter                  // the connection breaks after the call took effect
	Hang                      // no response for a day
	Refused                   // the bot may not write in the chat: 403, or the platform's equivalent
	Unauthorized              // the platform refuses the credentials: 401, or the platform's equivalent
)

// RetryAfter is the wait that the platform reports with the fault RateLimit.
const RetryAfter = 7 * time.Second

// Saying is a message that a person writes.
type Saying struct {
	Text    string
	Mention bool            // the text begins with a mention of the bot
	Command bool            // the text is a command as people type it, with a slash
	ReplyTo chat.MessageRef // the bot's message to which the person replies; empty: the message is not a reply
	Edited  string          // the text to which the person edits the message right after writing; empty: no edit
}
