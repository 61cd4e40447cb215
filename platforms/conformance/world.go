package conformance

import (
	"log/slog"
	"testing"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// Adapter is what every adapter must be; what else it can do its capabilities promise.
type Adapter = gateway.Platform

// Factory makes the world of one case. What it starts it ends in a cleanup of t.
type Factory func(t *testing.T) World

// World is a platform with one bot account, a private chat and a group in which people are
// present. Its stand-in enforces the platform's rules, but until Enforce no rate that a case could
// exceed. What only some platforms have a world shows by the interfaces after this one; where the
// adapter promises the ability it must.
type World interface {
	// Connect returns an adapter of the bot's account that logs to log.
	Connect(log *slog.Logger, how Connection) Adapter
	// Secrets returns what must appear in no error and no log.
	Secrets() []string
	// Private and Group return the two places. Where groups are answered in threads only, Group is a
	// thread that a person began, and not to the bot. It is the zero Target where there are no groups.
	Private() chat.Target
	Group() chat.Target
	// Crowd returns n more private chats, each with a person of its own, who may write there by Say.
	// It is called once.
	Crowd(n int) []chat.Target

	// Shown returns the texts of the bot's messages that stand in a place, oldest first; of a
	// file its caption.
	Shown(to chat.Target) []string
	// Files returns those of them that are files. A platform without files has none.
	Files(to chat.Target) []File
	// Drafts returns the ephemeral previews that are on display in a place. A platform without
	// drafts has none.
	Drafts(to chat.Target) []string
	// Calls returns how many calls of a kind the platform received. A file counts as OpSend.
	Calls(op chat.Op) int
	// Break lets the next call of a kind fail: of any kind that the adapter makes.
	Break(op chat.Op, f Fault)
	// Enforce makes the platform enforce its rates from here on.
	Enforce(r Rates)
	// Violations returns what the bot did that the platform forbids, a line for each: calls beyond a
	// published rate or in a scope that a 429 had closed, acknowledgements that came too late, and
	// whatever else the stand-in counts as one. Calls that only a hidden rate refused are none.
	Violations() []string
	// Refusals returns how many calls were answered 429, but for those of Break.
	Refusals() int
	// Versions returns everything that people saw of the bot's messages in a place, as Shown would,
	// in the order of time: each message as it was sent and after each change, whatever became of it
	// since. Two messages may share an instant. Drafts, files' contents and signs of being at work
	// that hold no text are left out.
	Versions(to chat.Target) []Version
	// Pings returns whom the bot's messages in a place notified by a mention, in any version that
	// notifies. The author of the message that is answered does not count.
	Pings(to chat.Target) []string
	// Opened returns the addresses that the platform opened by itself to show previews of them, below any version of the
	// bot's messages in a place.
	Opened(to chat.Target) []string
	// Sample returns what Shown says of a message that shows the Markdown of Sample in the private
	// chat: written by hand, never by the adapter's dialect.
	Sample() string
	// Say lets a person write.
	Say(to chat.Target, s Saying)
	// Attach lets a person send a file that is said to have size bytes; 0: nothing is said.
	// Without content it is one that the platform has no more. A platform whose attachments
	// can't be fetched does nothing.
	Attach(to chat.Target, f File, size int64)
	// BreakFetch lets the next transfer of a file that a person sent fail; CutAfter is in its middle.
	BreakFetch(f Fault)
	// Menu returns the names of the commands that are offered in a place to the person who
	// writes there, in their order. A platform without menus offers none.
	Menu(to chat.Target) []string
	// MenuChanges returns how often the bot changed what is offered, wherever that is.
	MenuChanges() int
	// Remove lets a person delete a message: of the bot, or their own, of which ref has the
	// Inbound's ID.
	Remove(ref chat.MessageRef)
	// Ban takes the right to write in a place from the bot.
	Ban(to chat.Target)
	// Garble lets an update arrive that nobody can decode.
	Garble()
}

// Threader is a World whose platform answers a message by threads only: a reply to a message of the
// bot is one in its thread.
type Threader interface {
	// Channel returns where Group is a thread of: there, bot's messages begin threads of their own.
	// A Saying to it with ReplyTo goes to the thread of that message.
	Channel() chat.Target
}

// Presser is a World with buttons, for Capabilities.Buttons.
type Presser interface {
	// Buttons returns the buttons that stand below a message now, in their order.
	Buttons(ref chat.MessageRef) []chat.Action
	// Press lets the person press one of them who writes in the place by Say.
	Press(ref chat.MessageRef, action string)
	// PressAside lets somebody else do so, in a group.
	PressAside(ref chat.MessageRef, action string)
	// Unanswered returns how many presses the platform got no acknowledgement for: so far, or in the
	// time that it allows.
	Unanswered() int
}

// DraftStopper is a World whose drafts can have a button that stops them, for Capabilities.Draft.
type DraftStopper interface {
	// StopDraft lets the person press the button of the draft that is shown in a place; false: it has none.
	StopDraft(to chat.Target) bool
}

// StreamWorld is a World with append-only streams, for Capabilities.Stream.
type StreamWorld interface {
	// Streaming returns the texts of the bot's messages in a place that are streams now, oldest first.
	Streaming(to chat.Target) []string
	// Broken returns the texts of those that look broken: the platform ended them, and nothing mended
	// them since.
	Broken(to chat.Target) []string
	// StreamLife is how long the platform lets a stream live.
	StreamLife() time.Duration
}

// Asker is a World whose platform hands a question that is asked by a command to the bot in a way of
// its own, which must be answered at once and can be for a limited time (Discord's interactions, F53).
type Asker interface {
	// Ask lets a person ask by the command /ask.
	Ask(to chat.Target, question string)
	// Dangling returns how many such questions and commands look unanswered: refused by the platform
	// because nothing came in time, or still only a sign that the bot is thinking.
	Dangling() int
}

// Repeater is a World whose platform may deliver a message twice, or in two ways (F50).
type Repeater interface {
	// Repeat lets it do so with everything that is delivered from here on.
	Repeat()
}

// Unpreviewed is a World whose platform shows no previews of links, whatever is asked for.
type Unpreviewed interface {
	Unpreviewed() bool
}

// previews reports whether the platform shows previews of links.
func (s *scene) previews() bool {
	w, ok := s.World.(Unpreviewed)
	return !ok || !w.Unpreviewed()
}

// Reporter is a World in which no person writes: there is one place, in which the bot is told of events. Say lets one happen
// whose text ends with a Saying's, and Crowd is not called.
type Reporter interface {
	// Said returns what an event said, by the text of its message.
	Said(text string) string
}

// Brief is a World whose platform has buttons below short texts only.
type Brief interface {
	// ButtonText is the length of the longest one, in the dialect's unit.
	ButtonText() int
}

// Unordered is a World whose platform delivers what nobody received again by and by, after newer messages as well.
type Unordered interface {
	Unordered()
}

// Unsized is a World whose platform does not say how large a file is that somebody sent.
type Unsized interface {
	Unsized()
}

// Untold is a World whose platform does not say how long a RateLimit lasts.
type Untold interface {
	// RetryAfter is how long the adapter waits then, RetryAfter or longer.
	RetryAfter() time.Duration
}

// OpenFiles is a World whose platform hands out what is attached to whoever knows its address, credentials or not.
type OpenFiles interface {
	OpenFiles()
}

// Checker is a World whose stand-in shows markup as it was sent, without judging it, and that is not Markdown:
// what looks like Markdown in its Sample the suite judges by itself.
type Checker interface {
	// Check returns what is wrong with a text that was on display: marks that stand without their
	// partner, as a person would see them. It is nil for a text that looks as it should.
	Check(shown string) error
}

// Version is what a message showed from At on.
type Version struct {
	At      time.Time
	Message string // the same for all versions of one message; as the ID of a MessageRef it serves Remove
	Text    string
}

// Rates says which rates a platform enforces.
type Rates uint8

// The rates.
const (
	Published Rates = iota // those that it publishes
	Halved                 // half as many calls in any time, without saying so; bursts stay
)

// File is what people see of a file.
type File struct {
	Name    string
	Content []byte
	Caption string
}

// Connection says how an adapter reaches the platform.
type Connection uint8

// The connections.
const (
	Proper      Connection = iota
	WrongSecret            // the credentials are refused
	Unreachable            // nobody answers at the address
)

// Fault is what happens to one call.
type Fault uint8

// The faults.
const (
	RateLimit    Fault = iota // refused, to be tried again after RetryAfter
	ServerError               // the platform's own failure, with no effect
	CutBefore                 // the connection breaks before the call takes effect
	CutAfter                  // the connection breaks after the call took effect
	Hang                      // no answer for a day
	Refused                   // the bot may not write there: 403, or the platform's word for it
	Unauthorized              // the credentials are refused: 401, or the platform's word for it
)

// RetryAfter is what a RateLimit asks to wait.
const RetryAfter = 7 * time.Second

// Saying is what a person writes.
type Saying struct {
	Text    string
	Mention bool            // the bot is mentioned before the text
	Command bool            // the text is a command as people type it, with a slash
	ReplyTo chat.MessageRef // of the bot; empty: no reply
	Edited  string          // the text is changed to this right after
}
