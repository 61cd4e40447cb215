package gateway

import (
	"context"

	"telex/internal/chat"
)

// Inbox keeps what was accepted until it is answered.
type Inbox interface {
	// Accept stores a message and its resume cursor; false says that it is known already. It
	// returns once that is durable.
	Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error)
	// Resume returns the cursor of the newest message that the endpoint accepted.
	Resume(ctx context.Context, e chat.EndpointID) (string, error)
	// Drop says that messages get no answer.
	Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error
	// Pending returns what was accepted and belongs to no unfinished turn, oldest first.
	Pending(ctx context.Context) ([]chat.Pending, error)
}

// Turns keeps what must be taken up again after a restart.
type Turns interface {
	// Begin stores a turn as running, or counts one more run of it. One that comes with its
	// Ending is decided from the start.
	Begin(ctx context.Context, t chat.Turn) error
	// Decide stores how a turn ends, with all that depends on it, at once. It fails with an
	// error when the turn is not the store's to decide any more: its session was forgotten.
	Decide(ctx context.Context, turn string, d chat.Decision) error
	// Cut replaces the ending of a turn that was decided, and does nothing to any other.
	Cut(ctx context.Context, turn string, ending []byte) error
	// End says that nothing is left to do for a turn and for the messages that it answers. The
	// history grows by what is given.
	End(ctx context.Context, turn string, history ...[]byte) error
	// Release ends a turn that answered nothing: its messages wait again, as if it had not begun.
	Release(ctx context.Context, turn string) error
	// Unfinished returns the turns that have begun and not ended, oldest first.
	Unfinished(ctx context.Context) ([]chat.Turn, error)
}

// Deliveries keeps what a person may see of a reply.
type Deliveries interface {
	// Record stores the state of one message of a turn's reply.
	Record(ctx context.Context, turn string, p chat.Part) error
}

// Sessions keeps the history of conversations.
type Sessions interface {
	History(ctx context.Context, c chat.Conversation) ([][]byte, error)
	Forget(ctx context.Context, c chat.Conversation) error
}

// Rules keeps what the platforms said that outlasts the process.
type Rules interface {
	SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error
	Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error)
	// Move carries everything of a chat over to its new id.
	Move(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error
}

// Store is all that the gateway wants kept.
type Store interface {
	Inbox
	Turns
	Deliveries
	Sessions
	Rules
}
