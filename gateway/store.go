package gateway

import (
	"context"

	"telex/gateway/access"
	"telex/internal/chat"
)

// Inbox keeps what was accepted until it is answered.
type Inbox interface {
	// Accept stores a message and its resume cursor; false says that it is known already. It
	// returns once that is durable.
	Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error)
	// Resume returns where the endpoint goes on receiving.
	Resume(ctx context.Context, e chat.EndpointID) (chat.Resume, error)
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
	// Join gives messages that wait to a running turn that took them in: it answers them too. It
	// does nothing to messages that do not wait any more.
	Join(ctx context.Context, turn string, ids ...chat.MessageID) error
	// Note adds to the journal of a running turn. It returns once that is durable, and fails for a turn that
	// is not running; of one that was forgotten it takes nothing but steps of usage. A journal ends with its turn.
	Note(ctx context.Context, turn string, steps ...chat.Step) error
	// End says that nothing is left to do for a turn and for the messages that it answers. Its
	// session grows by what is given.
	End(ctx context.Context, turn string, g chat.Growth) error
	// Release ends a turn that answered nothing: its messages wait again, as if it had not begun. What it
	// used counts all the same.
	Release(ctx context.Context, turn string, used ...chat.Usage) error
	// Unfinished returns the turns that have begun and not ended, oldest first.
	Unfinished(ctx context.Context) ([]chat.Turn, error)
}

// Deliveries keeps what a person may see of a reply.
type Deliveries interface {
	// Record stores the state of one message of a turn's reply.
	Record(ctx context.Context, turn string, p chat.Part) error
}

// Sessions keeps what was said in conversations.
type Sessions interface {
	// Session returns a conversation's session, and the entries that no summary stands for, oldest
	// first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
	// Choose stores which model answers in a conversation from now on; empty: none is chosen.
	Choose(ctx context.Context, c chat.Conversation, model string) error
	// Undo deletes the entries of the newest turn that no summary stands for, and returns them;
	// none when there is nothing to delete. Entries that older versions stored count as one turn
	// from a user's message on. In the same step it begins the turn that says so, as Begin does:
	// what asked for it does not do so again after a crash. One without an ID is not begun.
	Undo(ctx context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error)
	// Forget deletes the entries and the summary of a conversation; the chosen model stays. Running
	// turns can't add to it any more, but what they used.
	Forget(ctx context.Context, c chat.Conversation) error
	// Erase deletes the entries of the turns that a person asked in a conversation, and fences the
	// running ones. The summary goes as well, since it may tell of them, and what it stood for of
	// others counts again. Usage stays: nobody gets around a limit so. It returns how many entries went.
	Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error)
	// Used sums up what turns used.
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
}

// Consents keeps what people approved once and for all, in one conversation each.
type Consents interface {
	// Consent stores that what a person asks for in a conversation may use a tool from now on.
	Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error
	// Consented says whether it may. Forget ends all consents of a conversation, Erase those of a person there.
	Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error)
}

// Facts keeps what people asked to be remembered, wherever they said it.
type Facts interface {
	// Facts returns what is remembered for a person, oldest first.
	Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error)
	// Remember stores one line, and returns it with its ID and time.
	Remember(ctx context.Context, p chat.Person, text string) (chat.Fact, error)
	// ForgetFact deletes one and says whether it was there.
	ForgetFact(ctx context.Context, p chat.Person, id string) (bool, error)
	// ForgetFacts deletes all of a person and returns how many there were.
	ForgetFacts(ctx context.Context, p chat.Person) (int, error)
}

// Rules keeps what the platforms said that outlasts the process.
type Rules interface {
	SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error
	Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error)
	// Knows says whether a chat has had a conversation.
	Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error)
	// Move carries everything of a chat over to its new id. To do so again changes nothing.
	Move(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error
}

// Store is all that the gateway wants kept.
type Store interface {
	Inbox
	Turns
	Deliveries
	Sessions
	Consents
	Facts
	access.Store
	Rules
}
