package preview

import (
	"context"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Sender is what every platform can do. Profile and Dialect are pure; Send blocks until the
// platform answered or ctx ended, and fails with a *chat.SendError.
type Sender interface {
	Profile(to chat.Target) chat.Profile
	Dialect(to chat.Target) markup.Dialect
	Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
}

// Editor replaces the content of a message. Repeating an edit is harmless, and editing to
// what already stands is a success.
type Editor interface {
	Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error)
}

// Deleter removes a message. Deleting what is gone is a success.
type Deleter interface {
	Delete(ctx context.Context, ref chat.MessageRef) error
}

// Typer shows that the bot is at work, for Profile.TypingEvery.
type Typer interface {
	Typing(ctx context.Context, to chat.Target) error
}

// Filer sends a message that is a file, with m.Text as its caption.
type Filer interface {
	SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error)
}

// Drafter shows an ephemeral preview, where Profile.DraftFor says that there are drafts. A
// draft with the id of the one before replaces it, so that repeating the call is harmless. It
// leaves no message and vanishes by itself, or when a message of the bot arrives.
type Drafter interface {
	Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error
}

// Streamer writes a message that only grows, where Profile.StreamFor says that there are
// streams. There is no live handle, so that another process can go on. Text that was appended
// can't be taken back; once stopped, the message is one like any other.
type Streamer interface {
	// Start begins a stream with m's text.
	Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
	// Append adds text at the end. After an Uncertain failure it is not known how much stands.
	Append(ctx context.Context, ref chat.MessageRef, text string) error
	// Stop ends the stream with a last text, which may be empty. Stopping what is stopped is
	// a success; what may look broken because the platform ended it is Rejected, and edited then.
	Stop(ctx context.Context, ref chat.MessageRef, text string) error
}

// Finder says whether a create of unknown outcome took effect.
type Finder interface {
	// Find returns the message that was created with key, and false when there is none.
	Find(ctx context.Context, to chat.Target, key string) (chat.MessageRef, bool, error)
}

// Budget says when a call may be made. Its methods don't block.
type Budget interface {
	// Request queues a call.
	Request(c chat.Call) Ticket
	// Block records that the platform refused c: no call of the kinds in ops is granted in the scope
	// for d. 0 stands for all kinds.
	Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration)
	// Tell records what the platform said of its limits in the answer to c.
	UpdateLimits(c chat.Call, told []chat.RateLimitInfo)
	// BlockedUntil returns when the last block that holds for c ends, or lately ended; the
	// zero time without one.
	BlockedUntil(c chat.Call) time.Time
}

// Ticket is a place in the budget's queue. It is ended with Done or Cancel.
type Ticket interface {
	Ready() <-chan struct{} // closed when the call may be made, at once
	Done()                  // the call has ended, whatever came of it
	Cancel()                // the call will not be made
}

// Endpoint is one bot account as replies use it. The optional abilities are nil where the
// platform lacks them; they were resolved once, at start.
type Endpoint struct {
	Sender   Sender
	Editor   Editor
	Deleter  Deleter
	Typer    Typer
	Filer    Filer
	Drafter  Drafter
	Streamer Streamer
	Finder   Finder
	Budget   Budget
	Pulse    *Pulse // shared by all replies of the endpoint; nil: each has its own
}

// ops returns what the platform can do.
func (e Endpoint) ops() chat.Op {
	ops := chat.OpSend
	for op, can := range map[chat.Op]bool{
		chat.OpEdit: e.Editor != nil, chat.OpDelete: e.Deleter != nil, chat.OpTyping: e.Typer != nil, chat.OpFile: e.Filer != nil,
		chat.OpDraft: e.Drafter != nil, chat.OpStart: e.Streamer != nil, chat.OpFind: e.Finder != nil,
	} {
		if can {
			ops |= op
		}
	}
	return ops
}
