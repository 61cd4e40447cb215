package conformance

import (
	"log/slog"
	"testing"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// Adapter is the interface of every adapter. Depending on its capabilities, an adapter implements further interfaces.
type Adapter = gateway.Platform

// Factory makes the world of one case. It registers cleanups at t for everything that it starts.
type Factory func(t *testing.T) World

// World is a platform with one bot account, and with people in a private chat and in a group. The stand-in enforces
// the platform's rules, but rate limits only after Enforce was called. The interfaces below this one are for features
// that only some platforms have. If the adapter promises such a feature, its World must implement the interface.
type World interface {
	// Connect returns an adapter of the bot's account that logs to log.
	Connect(log *slog.Logger, how Connection) Adapter
	// Secrets returns the texts that must not appear in errors and logs.
	Secrets() []string
	// Private and Group return the two chats of most cases. If groups are answered in threads only, Group is a thread
	// that a person began without mentioning the bot. Without groups, Group is the zero Target.
	Private() chat.Target
	Group() chat.Target
	// Crowd returns n more private chats, each with its own person, who writes there by Say. A case calls Crowd at
	// most once.
	Crowd(n int) []chat.Target

	// Shown returns the texts of the bot's messages in a chat, oldest first. The text of a file is its caption.
	Shown(to chat.Target) []string
	// Files returns the files among the bot's messages in a chat.
	Files(to chat.Target) []File
	// Drafts returns the drafts that are visible in a chat.
	Drafts(to chat.Target) []string
	// Calls returns how many calls of a kind the platform received. Files count as OpSend.
	Calls(op chat.Op) int
	// Break makes the next call of a kind fail. It supports every kind that the adapter uses.
	Break(op chat.Op, f Fault)
	// Enforce makes the platform enforce its rate limits from now on.
	Enforce(r Rates)
	// Violations returns the bot's violations of the platform's rules, one line each: calls beyond a published rate,
	// calls in a scope before the wait of a 429 was over, late acknowledgements, and others that the stand-in knows.
	// A call that was refused only because of a hidden rate is no violation.
	Violations() []string
	// Refusals returns how many calls were answered with 429, not counting those that Break made fail.
	Refusals() int
	// Versions returns all visible versions of the bot's messages in a chat, in order of time: each message as sent
	// and after each change, even if it was deleted later. Two versions may have the same time. It excludes drafts,
	// the contents of files, and typing indicators without text.
	Versions(to chat.Target) []Version
	// Pings returns the people who were notified by a mention in any version of the bot's messages in a chat. It
	// excludes the author of the answered message.
	Pings(to chat.Target) []string
	// Opened returns the addresses in any version of the bot's messages in a chat that the platform opened for link
	// previews.
	Opened(to chat.Target) []string
	// Sample returns the text that Shown must return if the constant Sample is sent to the private chat. It is
	// written by hand, not by the adapter's dialect.
	Sample() string
	// Say lets a person write.
	Say(to chat.Target, s Saying)
	// Attach lets a person send a file and declare its size. If size is 0, no size is declared. A file without
	// content represents a file that the platform no longer has. If the platform's attachments can't be downloaded,
	// Attach does nothing.
	Attach(to chat.Target, f File, size int64)
	// BreakFetch makes the next download of a person's file fail; CutAfter breaks it in the middle.
	BreakFetch(f Fault)
	// Menu returns the names of the commands in the menu of a chat for the person who writes there, in their order.
	Menu(to chat.Target) []string
	// MenuChanges returns how often the bot changed menus.
	MenuChanges() int
	// Remove lets a person delete a message, either the bot's or their own. For their own message, ref contains the
	// ID of the Inbound.
	Remove(ref chat.MessageRef)
	// Ban forbids the bot to write in a chat.
	Ban(to chat.Target)
	// Garble makes an update arrive that can't be decoded.
	Garble()
}

// Threader is a World whose bot answers only in threads. There, a reply to a message of the bot is a message in the
// thread of that message.
type Threader interface {
	// Channel returns the channel of Group's thread. A message that the bot sends to this channel begins its own
	// thread. A Saying to this channel with ReplyTo goes to the thread of the message in ReplyTo.
	Channel() chat.Target
}

// Presser is a World whose platform has buttons. It is needed if the adapter has Capabilities.Buttons.
type Presser interface {
	// Buttons returns the current buttons below a message, in their order.
	Buttons(ref chat.MessageRef) []chat.Action
	// Press lets the person for whom Say writes in the chat press a button.
	Press(ref chat.MessageRef, action string)
	// PressAside lets another person in the group press a button.
	PressAside(ref chat.MessageRef, action string)
	// Unanswered returns how many presses were not acknowledged, or not within the allowed time.
	Unanswered() int
}

// DraftStopper is a World whose drafts can have a button that stops them.
type DraftStopper interface {
	// StopDraft lets the person press the button of the visible draft in a chat. It returns false if there is no
	// button.
	StopDraft(to chat.Target) bool
}

// StreamWorld is a World with native streams. It is needed if the adapter has Capabilities.Stream.
type StreamWorld interface {
	// Streaming returns the texts of the bot's streams in a chat, oldest first.
	Streaming(to chat.Target) []string
	// Broken returns the texts of streams that look broken, because the platform ended them and they were not edited
	// since.
	Broken(to chat.Target) []string
	// StreamLife returns the maximum duration of a stream.
	StreamLife() time.Duration
}

// Asker is a World whose platform treats a question that is asked by a command specially. Such a question must be
// acknowledged at once, and can be answered only for a limited time (Discord's interactions, F53).
type Asker interface {
	// Ask lets a person ask by the command /ask.
	Ask(to chat.Target, question string)
	// Dangling returns how many such commands look unanswered, because the platform got no response in time or still
	// shows that the bot is thinking.
	Dangling() int
}

// Repeater is a World whose platform may deliver a message twice, or in two ways (F50).
type Repeater interface {
	// Repeat makes the platform deliver all further messages in this way.
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

// Reporter is a World without people who write. It has one chat, in which the bot receives events. Say causes an
// event whose text ends with the Saying's text. Crowd is not called.
type Reporter interface {
	// Said returns the text of an event, given the text of its message.
	Said(text string) string
}

// Brief is a World whose platform supports buttons only below short texts.
type Brief interface {
	// ButtonText returns the maximum length of such a text, in the dialect's unit.
	ButtonText() int
}

// Unordered is a World whose platform may deliver newer messages before it repeats unconfirmed ones.
type Unordered interface {
	Unordered()
}

// Unsized is a World whose platform does not report the size of attachments.
type Unsized interface {
	Unsized()
}

// UnknownLimit is a World whose platform does not report how long a RateLimit lasts.
type UnknownLimit interface {
	// RetryAfter returns how long the adapter waits after a RateLimit. This is at least the constant RetryAfter.
	RetryAfter() time.Duration
}

// OpenFiles is a World whose platform serves attachments without credentials to anybody who knows the address.
type OpenFiles interface {
	OpenFiles()
}

// Checker is a World whose stand-in shows markup without checking it, in a language other than Markdown. (The suite
// itself checks Markdown.)
type Checker interface {
	// Check returns an error if a visible text contains marks without a partner, which people would read as characters.
	Check(shown string) error
}

// Version is the content of a message from the time At until the next version.
type Version struct {
	At      time.Time
	Message string // equal in all versions of a message; usable as the ID of a MessageRef for Remove
	Text    string
}

// Rates selects the rates that a platform enforces.
type Rates uint8

// The rates.
const (
	Published Rates = iota // the platform's published rates
	Halved                 // hidden rates: half of the published calls per time, with the same bursts
)

// File is what people see of a file.
type File struct {
	Name    string
	Content []byte
	Caption string
}

// Connection says whether and how an adapter's connection to the platform fails.
type Connection uint8

// The connections.
const (
	Proper      Connection = iota
	WrongSecret            // the platform refuses the credentials
	Unreachable            // no server listens at the address
)

// Fault is a failure of one call.
type Fault uint8

// The faults.
const (
	RateLimit    Fault = iota // refused; may be retried after RetryAfter
	ServerError               // an error of the platform itself; the call has no effect
	CutBefore                 // the connection breaks before the call takes effect
	CutAfter                  // the connection breaks after the call took effect
	Hang                      // no response for a day
	Refused                   // the bot may not write there: 403, or the platform's equivalent
	Unauthorized              // the credentials are refused: 401, or the platform's equivalent
)

// RetryAfter is the wait that a RateLimit reports.
const RetryAfter = 7 * time.Second

// Saying is a message of a person.
type Saying struct {
	Text    string
	Mention bool            // the text begins with a mention of the bot
	Command bool            // the text is a command as people type it, with a slash
	ReplyTo chat.MessageRef // the bot's message to which this one replies; empty: none
	Edited  string          // the person changes the text to this right after writing; empty: no change
}
