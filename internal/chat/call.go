package chat

import "time"

// Class is how urgent a call is. Smaller goes first.
type Class uint8

// The classes, most urgent first.
const (
	ClassFinal   Class = iota // a reply as it must stand, and answers to commands
	ClassFirst                // the first sign of a reply
	ClassPreview              // a newer state of a reply that is already visible
	ClassTyping               // an indicator that nobody misses
)

// String returns the class as it stands in logs.
func (c Class) String() string {
	names := [...]string{"final", "first", "preview", "typing"}
	return names[min(int(c), len(names)-1)]
}

// Call describes a call that somebody wants to make to a platform.
type Call struct {
	To      Target
	Message MessageID // the message to be changed; empty on a create
	Op      Op        // exactly one
	Limits  []Limit   // the limits that hold at To
	Class   Class
	Calls   int       // how many calls of this reply, this one included, are known to follow; 0 counts as 1
	Since   time.Time // when the oldest content that the call would show came into being
}
