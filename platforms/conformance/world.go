package conformance

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Adapter is what every adapter must be; what else it can do its capabilities promise.
type Adapter interface {
	Capabilities() chat.Capabilities
	Profile(to chat.Target) chat.Profile
	Dialect(to chat.Target) markup.Dialect
	Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error
	Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
}

// The optional abilities.
type (
	editor interface {
		Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error)
	}
	deleter interface {
		Delete(ctx context.Context, ref chat.MessageRef) error
	}
	typer interface {
		Typing(ctx context.Context, to chat.Target) error
	}
	filer interface {
		SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error)
	}
	drafter interface {
		Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error
	}
	fetcher interface {
		Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error)
	}
	menu interface {
		SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error
	}
)

// Factory makes the world of one case. What it starts it ends in a cleanup of t.
type Factory func(t *testing.T) World

// World is a platform with one bot account, a private chat and a group in which people are
// present. Its stand-in enforces the platform's rules, but no rate that a case could exceed.
type World interface {
	// Connect returns an adapter of the bot's account that logs to log.
	Connect(log *slog.Logger, how Connection) Adapter
	// Secrets returns what must appear in no error and no log.
	Secrets() []string
	// Private and Group return the two places.
	Private() chat.Target
	Group() chat.Target

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
	// Break lets the next call of a kind fail.
	Break(op chat.Op, f Fault)
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
	// Remove lets a person delete a message of the bot.
	Remove(ref chat.MessageRef)
	// Ban takes the right to write in a place from the bot.
	Ban(to chat.Target)
	// Garble lets an update arrive that nobody can decode.
	Garble()
}

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
	RateLimit   Fault = iota // refused, to be tried again after RetryAfter
	ServerError              // the platform's own failure, with no effect
	CutBefore                // the connection breaks before the call takes effect
	CutAfter                 // the connection breaks after the call took effect
	Hang                     // no answer for a day
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
