package chat

import (
	"fmt"
	"time"
)

// Several processes may share one store. Each is a replica of the others.

// LeaseTime is how long a replica counts as alive after it renewed its lease, by the store's clock. What a dead replica
// owned is free for the others.
const LeaseTime = 5 * time.Second

// ErrLost means that this replica's lease is over, or that another replica owns the chat. The process must call no platform any more.
var ErrLost = fmt.Errorf("the lease is lost: %w", ErrFenced)

// ReplicaID names one incarnation of a process. A store gives each id once, in growing order, so it is a fencing token
// too: whoever loses its lease registers again and gets a new one.
type ReplicaID int64

// Replica is a process that shares a store with others.
type Replica struct {
	ID        ReplicaID
	Name      string       // of its host, for people to read
	Version   string       // of its program
	Endpoints []EndpointID // that it runs: it gets no chat of others
	Receives  []EndpointID // of those with one receiver, the ones whose receiver it is
	Leaving   bool         // it is about to stop: it gets nothing any more
	Began     time.Time    // when it registered
	Renewed   time.Time    // when it renewed its lease last
	Chats     int          // how many chats it owns
}

// Taken is the work that a store gives to a replica.
type Taken struct {
	// Turns are unfinished and belong to chats that the replica owns, oldest first.
	Turns []Turn
	// Messages belong to no unfinished turn, or were forwarded. They are in the order in which the store got them.
	Messages []Pending
	// Chats were another replica's, whose calls the platforms may still count. Their Thread is empty.
	Chats []Conversation
}

// Signal says what changed in a shared store. Signals can be joined with |.
type Signal uint8

// The signals.
const (
	SignalWork   Signal = 1 << iota // Take may find something, or an endpoint has no receiver
	SignalAccess                    // admissions, pairing requests or moves of chats
	SignalBlocks                    // a block was stored
	SignalAll    = SignalWork | SignalAccess | SignalBlocks
)

// Claim is what a replica may use, and what it may have used, of a limit of a whole endpoint.
type Claim struct {
	Replica ReplicaID
	Ops     Op            // with Window, which limit it is
	Window  time.Duration // after its replica has stopped in order: how long the platform counts the calls yet
	Count   int           // of the whole limit, as the replica knows it
	Share   int           // calls in a Window that the replica may make from now on
	Held    int           // calls that the others must leave to it: it may still make them, or the platform may still count them
	Wanted  int           // calls in a Window that it would make
	Waiting time.Duration // age of its oldest waiting call; 0: none waits
	Dead    bool          // its replica has left or lost its lease. The claim is over when the platform can't count its calls any more
}
