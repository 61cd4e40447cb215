package preview

import (
	"context"

	"telex/gateway/budget"
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

// Endpoint is one bot account as replies use it. The optional abilities are nil where the
// platform lacks them; they were resolved once, at start.
type Endpoint struct {
	Sender  Sender
	Editor  Editor
	Deleter Deleter
	Typer   Typer
	Budget  *budget.Budget
}
