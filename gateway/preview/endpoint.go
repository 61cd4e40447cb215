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

// Budget says when a call may be made. Its methods don't block.
type Budget interface {
	// Request queues a call.
	Request(c chat.Call) Ticket
	// Block records that the platform refused c: nothing is granted in the scope for d.
	Block(c chat.Call, s chat.Scope, d time.Duration)
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
	Sender  Sender
	Editor  Editor
	Deleter Deleter
	Typer   Typer
	Budget  Budget
}
