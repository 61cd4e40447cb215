package chat

import (
	"fmt"
	"time"
)

// Several processes may share one store. Each process that shares a store is a replica.

// LeaseTime is the time after which a lease ends, by the store's clock, unless its replica renews it. When the lease has ended,
// other replicas may take over the chats of its replica.
const LeaseTime = 5 * time.Second

// ErrLost means that this replica's lease is over, or that another replica owns the chat. In either case, the process
// must not call any platform any more.
var ErrLost = fmt.Errorf("the lease is lost: %w", ErrFenced)

// ReplicaID identifies a replica from its registration until its lease is over. A process that loses its lease
// registers again and gets a new id. A store assigns ids in increasing order and never twice, so an id is also a
// fencing token.
type ReplicaID int64

// Replica describes a process that shares a store with other processes.
type Replica struct {
	ID        ReplicaID
	Name      string       // name of the replica's machine, only for people
	Version   string       // version of telex that the replica runs
	Endpoints []EndpointID // endpoints that the replica runs; it gets only chats of these endpoints
	Receives  []EndpointID // endpoints for which the replica is the elected receiver
	Leaving   bool         // the replica is about to stop, so it gets no more work
	Began     time.Time    // when it registered
	Renewed   time.Time    // when the replica last renewed its lease
	Chats     int          // number of chats that the replica owns
}

// Taken is the work that a store gives to a replica.
type Taken struct {
	// Turns are the unfinished turns in chats that the replica owns, oldest first.
	Turns []Turn
	// Messages are messages that belong to no unfinished turn, and messages that other replicas have forwarded, in the
	// order in which the store received them.
	Messages []Pending
	// Chats are chats that belonged to another replica before, so the platforms' limits may still count calls of that
	// replica. The Thread of each of these Chats is empty.
	Chats []Conversation
}

// Signal says what has changed in a shared store. Several signals can be combined with |.
type Signal uint8

// These are the signals.
const (
	SignalWork   Signal = 1 << iota // the method Take may return new work, or an endpoint has no receiver
	SignalAccess                    // admissions, pairing requests or chat ids have changed
	SignalBlocks                    // a rate-limit block was stored
	SignalAll    = SignalWork | SignalAccess | SignalBlocks
)

// Claim is a replica's part of a rate limit that counts the calls of a whole endpoint.
type Claim struct {
	Replica ReplicaID
	Ops     Op            // kinds of calls that the limit counts; Ops and Window identify the limit
	Window  time.Duration // the time window of the limit; once the replica has stopped: how long its calls still count
	Count   int           // number of calls that the whole limit allows, as far as the replica knows
	Share   int           // number of calls that the replica may make in a Window from now on
	Held    int           // calls that the others must not use: this replica may make them, or the platform still counts them
	Wanted  int           // number of calls that the replica would like to make in a Window
	Waiting time.Duration // age of the replica's oldest waiting call; 0: no call waits
	Dead    bool          // the replica has no lease any more; its claim ends when the platform no longer counts its calls
}
