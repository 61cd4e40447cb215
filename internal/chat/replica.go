package chat

import (
	"fmt"
	"time"
)

// Several processes may share one store. Each of these processes is a replica.

// LeaseTime is the time after which a lease ends if its replica does not renew it, by the store's clock. Other
// replicas may then take over the chats of this replica.
const LeaseTime = 5 * time.Second

// ErrLost means that this replica's lease is over, or that another replica owns the chat. In either case, the process
// must not call any platform any more.
var ErrLost = fmt.Errorf("the lease is lost: %w", ErrFenced)

// ReplicaID identifies a replica from its registration until its lease is over. A process that loses its lease
// registers again and gets a new id. A store assigns ids in increasing order and never twice, so an id is also a
// fencing token.
type ReplicaID int64

// Replica is a process that shares a store with others.
type Replica struct {
	ID        ReplicaID
	Name      string       // name of its machine, for display
	Version   string       // version of its program
	Endpoints []EndpointID // endpoints that it runs; it gets only chats of these endpoints
	Receives  []EndpointID // endpoints for which it is the elected receiver
	Leaving   bool         // it is about to stop, so it gets no more work
	Began     time.Time    // when it registered
	Renewed   time.Time    // when it last renewed its lease
	Chats     int          // number of chats that it owns
}

// Taken is the work that a store gives to a replica.
type Taken struct {
	// Turns are the unfinished turns in chats that the replica owns, oldest first.
	Turns []Turn
	// Messages are messages without an unfinished turn, and forwarded ones, in the order in which the store received
	// them.
	Messages []Pending
	// Chats are chats that belonged to another replica before. The platforms may still count the calls of that
	// replica. The Thread of each of these Chats is empty.
	Chats []Conversation
}

// Signal says what changed in a shared store. Signals can be joined with |.
type Signal uint8

// The signals.
const (
	SignalWork   Signal = 1 << iota // Take may return new work, or an endpoint has no receiver
	SignalAccess                    // admissions, pairing requests or chat ids have changed
	SignalBlocks                    // a rate-limit block was stored
	SignalAll    = SignalWork | SignalAccess | SignalBlocks
)

// Claim is a replica's part of a rate limit that counts the calls of a whole endpoint.
type Claim struct {
	Replica ReplicaID
	Ops     Op            // kinds of calls that the limit counts; Ops and Window identify the limit
	Window  time.Duration // the limit's window; if the replica has stopped: how long its calls still count
	Count   int           // number of calls that the whole limit allows, as the replica knows it
	Share   int           // number of calls in a Window that the replica may make from now on
	Held    int           // calls that others must leave to this replica: it may still make them, or they still count
	Wanted  int           // number of calls in a Window that it would like to make
	Waiting time.Duration // age of its oldest waiting call; 0: no call waits
	Dead    bool          // the replica has no lease any more; the claim ends when the platform can't count its calls any more
}
