package gateway

import (
	"context"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
)

// Replicas is what a Store offers if several processes share it; each process is a replica. A chat with all its
// threads belongs to at most one replica, and only this replica answers there. So replicas need not agree on the
// order within a chat, nor on limits that count only within a chat.
//
// After Register, the store makes every write as this replica. A write about a conversation succeeds only if this
// replica's lease is not over and no other replica owns the chat. Otherwise it fails with chat.ErrLost; the write's
// own transaction checks this. These writes are Begin, Join, Decide, Cut, End, Release, Record, Note, Drop, Revise,
// Undo, Forget, Erase, Choose and Consent. Writes that are not about one conversation need only the lease:
// Remember, ForgetFact, ForgetFacts, SavePairingRequest, Admit, Revoke, CountTurn and Move.
//
// Two writes need no lease, because what they store stays true and nobody else stores it. SaveBlock stores until
// when a platform refuses calls. All replicas must know that, and the write can only prolong a block. SaveExchange
// stores an answer of the HTTP API. The request belongs to the process with the client's connection, and no other
// process takes it over; without the write, its usage would not be counted. An operator's deletions need no lease
// either.
//
// Accept stores a message for any chat. It fails with chat.ErrLost only if the lease is over, or if another live
// replica is the endpoint's receiver: otherwise the endpoint's resume cursor could go back. Accept makes sure that
// the chat has an owner, and signals the owner. Before Register is called, the store checks neither a lease nor an
// owner.
//
// SaveBlock, and whatever changes admissions, pairing requests or moves of chats, signals all other replicas. Move
// makes the owner of a chat's old id the owner of its new id, unless the new id already has a live owner.
//
// All times in arguments and results are on this process's clock. The store converts them to and from its own
// clock, so the clocks may differ. It can't convert times inside data that the gateway has encoded; the gateway
// converts those with Ahead.
type Replicas interface {
	Membership
	Ownership
	Shares
}

// Membership keeps which processes share the store.
type Membership interface {
	// Register makes this process a replica with a new id and a lease of chat.LeaseTime. Only Name, Version and Endpoints
	// of self are read. No other call of an earlier registration may be under way.
	Register(ctx context.Context, self chat.Replica) (chat.ReplicaID, error)
	// Renew prolongs the lease to chat.LeaseTime from now and stores Endpoints and Leaving. It returns the replicas
	// with a lease, this one included, oldest first. Each of them has the endpoints for which it receives, sorted by
	// name. It fails with chat.ErrLost if the lease is over. A leaving replica stops being a receiver.
	Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error)
	// Unregister gives up the lease at once, and signals the others.
	Unregister(ctx context.Context) error
	// Ahead returns how far this process's clock is ahead of the store's. It does not block.
	Ahead() time.Duration
	// Listen calls heard for each signal to this replica. It first calls heard with chat.SignalAll, as soon as it
	// can't miss a signal any more. It returns an error if it may have missed signals, and ctx's error if ctx ended.
	// heard must not block.
	Listen(ctx context.Context, heard func(chat.Signal)) error
}

// Ownership keeps which replica owns a chat and receives for an endpoint.
type Ownership interface {
	// Take first makes this replica the owner of up to orphans chats with unfinished work that have no live owner.
	// Then it returns the unfinished work of this replica's chats, except what it has already returned since the
	// registration. A turn that this replica began counts as returned, and so do the messages of a turn that it
	// releases.
	//
	// call numbers the calls of a registration, from 1. A repeated call with the same number returns the same work
	// again, so nothing is lost if an answer is lost. The work counts as returned once a call with a larger number
	// is made.
	Take(ctx context.Context, call int64, orphans int) (chat.Taken, error)
	// Free gives up chats with all their threads. It leaves out chats with unfinished messages or turns, unless
	// unfinished is set: then it signals other replicas to take them.
	Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error
	// Forward passes a message that is not stored (an edit, a deletion, an operator's order) to the owner of its
	// chat, in order with the messages that Accept stores. Take returns it once; then the store has it no more. If
	// the chat has no owner, nothing is unfinished there: nothing happens, and Forward returns false. It does the
	// same if the owner is dead and no replica runs the endpoint, since nobody would take the message.
	Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error)
	// Receive makes this replica the receiver of an endpoint if no other live replica is, and reports whether it is.
	Receive(ctx context.Context, e chat.EndpointID) (bool, error)
	// Yield ends that this replica is the receiver of an endpoint, and signals the others. It can be repeated.
	Yield(ctx context.Context, e chat.EndpointID) error
}

// Shares keeps what is counted over all replicas: each one's share of the limits of a whole endpoint, as a
// chat.Claim, and the number of turns that people began.
type Shares interface {
	access.Counter

	// Share replaces this replica's claims on an endpoint's limits by what decide returns. decide gets the claims of
	// the other replicas, and may be called more than once. Transactions for one endpoint run one after the other. A
	// claim ends when one Window of its limit has passed since the end of its replica's lease.
	Share(ctx context.Context, e chat.EndpointID, decide func(others []chat.Claim) []chat.Claim) error
}
