package chat

import "time"

// Class is how urgent a call is. A smaller value is more urgent.
type Class uint8

// The classes, most urgent first.
const (
	ClassFinal   Class = iota // the final text of a reply, and answers to commands
	ClassFirst                // the first visible text of a reply
	ClassPreview              // a newer state of a reply that is already visible
	ClassTyping               // a typing indicator, which may be left out
)

// String returns the class as logs show it.
func (c Class) String() string {
	names := [...]string{"final", "first", "preview", "typing"}
	return names[min(int(c), len(names)-1)]
}

// Call describes a call to a platform before it is made. From a Call, the budget decides when the call may be made.
type Call struct {
	To      Target
	Message MessageID // the message to change; empty for a create
	Op      Op        // exactly one kind of call
	Limits  []Limit   // the limits that apply at To
	Class   Class
	Calls   int       // expected number of calls for this reply, including this call; 0 counts as 1
	Since   time.Time // since when the oldest content of the call has been waiting to be shown
}
