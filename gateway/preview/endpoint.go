package preview

import (
	"context"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Sender is the interface that every platform implements. Profile and Dialect make no calls to the platform. Send
// blocks until the platform has answered or ctx ends; its errors are of type *chat.SendError.
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

// Typer shows a typing indicator, which must be renewed every Profile.TypingEvery.
type Typer interface {
	Typing(ctx context.Context, to chat.Target) error
}

// Filer sends a message with a file and m.Text as its caption.
type Filer interface {
	SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error)
}

// Drafter shows drafts, which are ephemeral previews, in chats whose Profile.DraftFor is positive. A new draft replaces
// the old draft with the same id. The platform removes a draft after some time, or when the bot sends a message.
type Drafter interface {
	Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error
}

// Streamer writes a message to which text can only be appended, in chats whose Profile.StreamFor is positive. A stream
// needs no open connection, so another process can continue it. After the stream is stopped, the message is a normal
// one.
type Streamer interface {
	// Start begins a stream with m's text.
	Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error)
	// Append adds text at the end. After an Uncertain failure it is unknown how much of the text was added.
	Append(ctx context.Context, ref chat.MessageRef, text string) error
	// Stop appends a last text, which may be empty, and ends the stream. Stopping a stopped stream succeeds. If the
	// platform ended the stream itself and the message may look broken, Stop fails with Rejected, and the caller edits
	// the message.
	Stop(ctx context.Context, ref chat.MessageRef, text string) error
}

// Finder asks the platform whether a create call of unknown outcome made its message.
type Finder interface {
	// Newest returns the newest known message of the chat, without a call to the platform. The caller stores this id as
	// chat.Create.After of the next create call.
	Newest(to chat.Target) chat.MessageID
	// Find makes at most one call that searches for the message of c. For the first call, next is empty. For each
	// further call, next is chat.Found.Next of the previous call.
	Find(ctx context.Context, to chat.Target, c chat.Create, next string) (chat.Found, error)
}

// Budget decides when a call to the platform may be made. The methods of Budget don't block.
type Budget interface {
	// Request queues a call.
	Request(c chat.Call) Ticket
	// Block records that the platform refused call c with a rate limit. For the duration d, the budget grants no call
	// in scope s whose kind is in ops. If ops is 0, the budget grants no call in scope s at all.
	Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration)
	// UpdateLimits records the rate limits that the platform reported in its answer to c.
	UpdateLimits(c chat.Call, limits []chat.RateLimitInfo)
	// BlockedUntil returns the end of the last rate-limit block that applies, or recently applied, to call c. If there is
	// no such block, BlockedUntil returns the zero time.
	BlockedUntil(c chat.Call) time.Time
}

// Ticket is the place of one call in the budget's queue. The caller must end the ticket with Done, Lost or Cancel. Only
// the first call of Done, Lost or Cancel has an effect.
type Ticket interface {
	Ready() <-chan struct{} // closed when the call may be made; the caller then makes the call at once
	Done()                  // the call has ended with a response
	Lost()                  // the call has ended without a response
	Cancel()                // the call will not be made
}

// Endpoint is one bot account, with the functions that a reply needs. A field whose type is an optional interface is
// nil if the platform does not support that interface.
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
	Pulse    *Pulse   // shared by all replies of the endpoint; nil: each reply has its own Pulse
	Observer Observer // nil: nobody observes
	// Current returns the endpoint with its current adapter, because a reload of the configuration may replace the
	// adapter. If Current is nil, the adapter never changes.
	Current func() Endpoint
	// MayCall reports whether this process still owns the endpoint. The reply checks MayCall before each call to the
	// platform. If MayCall is nil, the process always owns the endpoint. Soon after MayCall has returned false, the
	// reply's context ends.
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
