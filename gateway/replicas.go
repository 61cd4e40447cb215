package gateway

import (
	"context"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
)

// Replicas is what a Store offers that several processes share; each of them is a replica. The chat is the unit of
// ownership: a chat with all its threads belongs to at most one replica, whose gateway answers there, so that no limit
// below an endpoint's and no order needs to be agreed upon.
//
// After Register, the store makes every write as this replica. A write about a conversation succeeds only if the lease
// of this replica is not over, and no other replica owns the chat: Begin, Join, Decide, Cut, End, Release, Record, Note,
// Drop, Revise, Undo, Forget, Erase, Choose and Consent fail with chat.ErrLost otherwise, in the transaction itself. What is about
// people and not about one conversation needs only the lease: Remember, ForgetFact, ForgetFacts, SavePairingRequest, Admit, Revoke,
// CountTurn and Move.
//
// Two writes need no lease, because what they store stays true and nobody else stores it. SaveBlock stores what a platform has
// said, which the others must know whoever was told; it can only prolong a block. SaveExchange stores what the HTTP API has
// answered: the request belongs to the process with the client's connection, no other one takes it over, and without the write
// the usage would not be counted. An operator's deletions need none either.
//
// Accept stores a message for any chat: it fails with chat.ErrLost only if the lease is over or another live replica is
// the endpoint's receiver, so that its cursor can't go back. Accept makes sure that the chat has an owner, and signals
// the owner. Before Register, nothing is fenced.
//
// SaveBlock, and whatever changes admissions, pairing requests or moves of chats, signals all other replicas. Move makes the
// owner of the old id the owner of the new one, unless that has a live owner.
//
// Times that the methods return are on this process's clock, and times they get are too: the store converts them from
// and to its own clock, so that clocks may differ. It can't convert what the gateway has encoded: that is what Ahead is for.
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
	// Renew prolongs the lease to chat.LeaseTime from now and stores Endpoints and Leaving. It returns the replicas with
	// a lease, this one included, oldest first, and with the endpoints that each receives for, by name. It fails with
	// chat.ErrLost if the lease is over. A leaving replica stops being a receiver.
	Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error)
	// Unregister gives up the lease at once, and signals the others.
	Unregister(ctx context.Context) error
	// Ahead returns how far this process's clock is ahead of the store's. It does not block.
	Ahead() time.Duration
	// Listen calls heard for each signal to this replica. It calls it once with chat.SignalAll as soon as no signal can be
	// missed any more. It returns an error when signals may have been missed, and ctx's error when ctx ended. heard must
	// not block.
	Listen(ctx context.Context, heard func(chat.Signal)) error
}

// Ownership keeps which replica owns a chat and receives for an endpoint.
type Ownership interface {
	// Take first makes this replica the owner of up to orphans chats with unfinished work that have no live owner. Then it
	// returns what is unfinished in its own chats and was not given to this registration yet. A turn that this replica
	// began counts as given, and so do the messages of a turn that it releases.
	//
	// call numbers the calls of a registration, from 1. What was given in a call counts as given once a call with a larger
	// number is made; with the same number, it is given again. So an answer that gets lost loses nothing.
	Take(ctx context.Context, call int64, orphans int) (chat.Taken, error)
	// Free gives up chats; their threads don't matter. It leaves out those with unfinished messages or turns, unless
	// unfinished is set: then other replicas are signalled to take them.
	Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error
	// Forward passes a message that is not stored (an edit, a deletion, an operator's order) to the owner of its chat, in
	// order with the messages that Accept stores. Take gives it once, and it is gone then. Without an owner nothing
	// happens, and Forward returns false: nothing is unfinished there. The same goes for a dead owner if no replica runs the endpoint:
	// nobody would take the message.
	Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error)
	// Receive makes this replica the receiver of an endpoint if no other live replica is, and reports whether it is.
	Receive(ctx context.Context, e chat.EndpointID) (bool, error)
	// Yield ends that this replica is the receiver of an endpoint, and signals the others. It can be repeated.
	Yield(ctx context.Context, e chat.EndpointID) error
}

// Shares keeps what counts over all replicas: their claims on the limits of a whole endpoint, and the turns of people.
type Shares interface {
	access.Counter

	// Share replaces this replica's claims on an endpoint's limits by what decide returns. decide gets the claims of the
	// other replicas, and may be called more than once. Transactions for one endpoint run one after the other. A claim
	// ends one Window after the lease of its replica.
	Share(ctx context.Context, e chat.EndpointID, decide func(others []chat.Claim) []chat.Claim) error
}
