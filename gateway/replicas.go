package gateway

import (
	"context"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
)

// Replicas is implemented by a Store that several processes share. Each process that shares the store is a replica. A chat
// with all its threads belongs to at most one replica, and only this replica answers in the chat. Because each chat has one
// owner, the replicas need not coordinate the order of messages within a chat, nor the rate limits of a single chat.
//
// After Register, the store checks each write of this replica. A write about a conversation succeeds only if this replica's
// lease is not over and no other replica owns the chat. If the lease is over or another replica owns the chat, the write fails
// with chat.ErrLost. The store checks the lease and the owner in the transaction of the write. The writes about a conversation
// are Begin, Join, Decide, Cut, End, Release, Record, Note, Drop, Revise, Undo, Forget, Erase, Choose and Consent. The writes
// that need only the lease are Remember, ForgetFact, ForgetFacts, SavePairingRequest, Admit, Revoke, CountTurn and Move.
//
// Two writes need no lease, because their data stays true even without a lease, and no other replica stores the same data.
// SaveBlock stores a rate-limit block, the time until which a platform refuses calls. All replicas must know when the block
// ends, and SaveBlock never shortens a stored block. SaveExchange stores an answer of the HTTP API and its usage. A request of
// the HTTP API belongs to the process with the client's connection, and no other process takes the request over. An operator's
// deletions need no lease either.
//
// Accept stores a message even if another replica owns the chat. Accept fails with chat.ErrLost if the lease of this replica
// is over, or if another live replica is the endpoint's receiver. If Accept did not fail, a replica that is no longer the
// receiver could set the endpoint's resume cursor back. Accept makes sure that the chat has an owner, and tells the owner by a
// signal to take the message. Until a process calls Register, the store checks neither a lease nor an owner for its writes.
//
// SaveBlock signals all other replicas, and so does each write that changes admissions, pairing requests or moves of
// chats. When a chat gets a new id, Move makes the owner of the old id the owner of the new id. If the new id already
// has a live owner, that owner keeps the chat.
//
// All times in arguments and results are on this process's clock. The store converts the times in arguments and
// results to and from its own clock, so the clocks may differ. The store can't convert times inside data that the
// gateway has encoded. The gateway converts the times inside encoded data with the result of Ahead.
type Replicas interface {
	Membership
	Ownership
	Shares
}

// Membership registers the processes that share the store, and tells each process about the others.
type Membership interface {
	// Register makes this process a replica with a new id and a lease of chat.LeaseTime. Register reads only the fields
	// Name, Version and Endpoints of self. A process that registers again must first wait until all calls that it made
	// under its earlier id have returned.
	Register(ctx context.Context, self chat.Replica) (chat.ReplicaID, error)
	// Renew extends the lease until chat.LeaseTime from now, and stores the fields Endpoints and Leaving of self. Renew
	// returns all replicas with a lease, including this replica, oldest first. In the result, Receives contains the
	// endpoints for which each replica is the receiver, sorted by name. Renew fails with chat.ErrLost if the lease is
	// over. If self.Leaving is true, this replica stops being a receiver.
	Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error)
	// Unregister gives up the lease at once, and signals the other replicas.
	Unregister(ctx context.Context) error
	// Ahead returns how far this process's clock is ahead of the store's clock. Ahead does not wait for the store.
	Ahead() time.Duration
	// Listen calls the parameter heard for each signal to this replica. As soon as Listen receives signals, it first calls the
	// function heard with chat.SignalAll, because it may have missed earlier signals. Listen returns an error if it may have
	// missed signals later, and ctx's error if ctx has ended. The function heard must not block.
	Listen(ctx context.Context, heard func(chat.Signal)) error
}

// Ownership records which replica owns each chat, and which replica is the receiver of each endpoint.
type Ownership interface {
	// Take first gives this replica chats that have unfinished work and no live owner; the parameter orphans is the maximum
	// number of chats that this replica gets. Take then returns the unfinished work of all chats of this replica. Take leaves out
	// work that earlier calls of Take have returned since the registration. Take also leaves out turns that this replica began,
	// and the messages of turns that this replica released.
	//
	// call is the number of the call of Take, counted from 1 since the registration. If a result of Take is lost, the
	// replica repeats the call with the same number, and Take returns the same work again. Work counts as returned
	// when the replica calls Take with a larger number.
	Take(ctx context.Context, call int64, orphans int) (chat.Taken, error)
	// Free gives up chats with all their threads. If unfinished is false, Free keeps chats that have unanswered
	// messages or unfinished turns. If unfinished is true, Free also gives up chats with unfinished work, and signals
	// other replicas to take them.
	Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error
	// Forward passes an edit, a deletion or an operator's order to the owner of its chat. The owner gets forwarded
	// messages, and messages that Accept has stored, in the order in which they arrived. Take returns a forwarded message
	// once, and the store then deletes the message. A chat without an owner has no unfinished work, so Forward does
	// nothing and returns false. Forward also returns false if the owner is dead and no replica runs the endpoint, because
	// no replica would take the message.
	Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error)
	// Receive makes this replica the receiver of an endpoint, unless another live replica is the receiver. Receive
	// reports whether this replica is now the receiver.
	Receive(ctx context.Context, e chat.EndpointID) (bool, error)
	// Yield makes this replica stop being the receiver of an endpoint, and signals the other replicas. A second call of Yield has
	// no effect.
	Yield(ctx context.Context, e chat.EndpointID) error
}

// Shares stores what must be counted over all replicas: each replica's share of the rate limits of a whole endpoint,
// and the number of turns that each person began. A share is stored as a chat.Claim.
type Shares interface {
	access.Counter

	// Share replaces this replica's claims on an endpoint's rate limits by the result of the parameter decide. Share calls the
	// function decide with the claims of the other replicas, and may call it more than once. Calls of Share for one endpoint run
	// one after the other. After the lease of a replica has ended, its claims stay valid for one Window of the limit.
	Share(ctx context.Context, e chat.EndpointID, decide func(others []chat.Claim) []chat.Claim) error
}
