package preview

import (
	"context"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Sender is the interface that every platform implements. Profile and Dialect are pure. Send blocks
// until the platform has answered or ctx ends, and fails with a *chat.SendError.
type Sender interface {
	Profile(to chat.Target) chat.Profile
	Dialect(to chat.Target) markup.Dialect
	Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
}

// Editor replaces the content of a message. Edits are idempotent: an edit that changes nothing succeeds.
type Editor interface {
	Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error)
}

// Deleter deletes a message. Deleting a message that does not exist succeeds.
type Deleter interface {
	Delete(ctx context.Context, ref chat.MessageRef) error
}

// Typer shows a typing indicator for Profile.TypingEvery.
type Typer interface {
	Typing(ctx context.Context, to chat.Target) error
}

// Filer sends a message with a file and m.Text as its caption.
type Filer interface {
	SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error)
}

// Drafter shows an ephemeral preview where Profile.DraftFor is positive. A draft replaces the one with the same
// id, so that the call can be repeated. It leaves no message and vanishes by itself, or when a message of the
// bot arrives.
type Drafter interface {
	Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error
}

// Streamer writes a message that only grows, where Profile.StreamFor is positive. It needs no open connection,
// so that another process can continue a stream. Appended text can't be removed; once stopped, the message is a
// normal one.
type Streamer interface {
	// Start begins a stream with m's text.
	Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
	// Append adds text at the end. After an Uncertain failure it is unknown how much of the text was added.
	Append(ctx context.Context, ref chat.MessageRef, text string) error
	// Stop ends the stream with a last text, which may be empty. Stopping a stopped stream succeeds. If the
	// platform ended the stream and the message may look broken, Stop fails with Rejected, and the caller edits
	// the message.
	Stop(ctx context.Context, ref chat.MessageRef, text string) error
}

// Finder asks whether a create of unknown outcome took effect.
type Finder interface {
	// Newest returns the newest known message, to be used as chat.Create.After of a create that follows. It is pure.
	Newest(to chat.Target) chat.MessageID
	// Find makes at most one call that looks for the message of c. next is empty at first, then chat.Found.Next of the
	// call before.
	Find(ctx context.Context, to chat.Target, c chat.Create, next string) (chat.Found, error)
}

// Budget decides when a call may be made. Its methods don't block.
type Budget interface {
	// Request queues a call.
	Request(c chat.Call) Ticket
	// Block records that the platform refused c: no call whose kind is in ops is granted in the scope for d. An
	// ops of 0 means all kinds.
	Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration)
	// UpdateLimits records the rate limits that the platform reported in its answer to c.
	UpdateLimits(c chat.Call, limits []chat.RateLimitInfo)
	// BlockedUntil returns the end of the last block that applies or recently applied to c; the zero time if
	// there is none.
	BlockedUntil(c chat.Call) time.Time
}

// Ticket is a place in the budget's queue. Done, Lost or Cancel must end it; the first of them counts.
type Ticket interface {
	Ready() <-chan struct{} // closed when the call may be made; the caller then makes it at once
	Done()                  // the call has ended with a response
	Lost()                  // the call has ended without one
	Cancel()                // the call will not be made
}

// Endpoint is one bot account as seen by replies. Optional interfaces are nil if the platform lacks them; they
// are resolved once for each adapter.
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
	Pulse    *Pulse   // shared by all replies of the endpoint; nil: each reply has its own
	Observer Observer // nil: nobody observes
	// Current returns the endpoint with its current adapter: a reload may replace the adapter by another one of the same
	// kind. Nil: it never changes.
	Current func() Endpoint
	// MayCall reports whether this process still owns the endpoint. It is called before each call to the platform. nil
	// means that the process always owns the endpoint. Soon after MayCall has returned false, the reply's context ends.
	MayCall func() bool
}

// ops returns the kinds of call that the platform supports.
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
