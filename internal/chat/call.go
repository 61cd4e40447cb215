package chat

import "time"

// Class says how urgent a call to a platform is. A smaller value is more urgent.
type Class uint8

// These are the classes of calls, most urgent first.
const (
	ClassFinal   Class = iota // the final text of a reply, and answers to commands
	ClassFirst                // the first visible text of a reply
	ClassPreview              // an update of a reply that is already visible and still grows
	ClassTyping               // a typing indicator; such calls may be left out
)

// String returns the name of the class in logs.
func (c Class) String() string {
	names := [...]string{"final", "first", "preview", "typing"}
	return names[min(int(c), len(names)-1)]
}

// Call describes a call to a platform before it is made. The budget uses a Call to decide when the call may be made.
type Call struct {
	To      Target
	Message MessageID // the message to change; empty if the call makes a new message
	Op      Op        // the kind of the call: a set Op with exactly one element
	Limits  []Limit   // the platform limits that apply at the target To
	Class   Class
	Calls   int       // how many calls this reply is expected to need, including this call; 0 counts as 1
	Since   time.Time // since when the oldest content in this call has been waiting to be shown
}
