package agent

// Event is something a running turn has to tell. The set is closed: Text, Reasoning, Tool, Call
// and Reset. The end of a turn is Run's return value, never an event.
type Event interface{ event() }

// Text is a piece of the reply, to be appended to what came before.
type Text struct{ Delta string }

// Reasoning is a piece of the model's thinking. It is never part of the reply.
type Reasoning struct{ Delta string }

// Tool is the state of one tool call; a later event with the same ID replaces an earlier one.
type Tool struct {
	ID      string
	Name    string
	Display string // for people: one line, never empty
	State   ToolState
}

// Call is a piece of a call of one of Turn.ClientTools. The pieces of one call have the same ID and follow each other.
type Call struct {
	ID        string
	Name      string
	Arguments string // to be appended to what came before: JSON as the model writes it, unchecked
}

// Reset says that the reply starts over: everything told by Text and Call so far is void.
type Reset struct {
	Reason string
	// Thought says that what is void was thinking of which the beginning was not marked. It is told as Reasoning next.
	Thought bool
}

func (Text) event()      {}
func (Reasoning) event() {}
func (Tool) event()      {}
func (Call) event()      {}
func (Reset) event()     {}

// ToolState is where a tool call stands.
type ToolState uint8

// A call goes identified, executing, then completed or failed; interrupted waits for a
// person and is not an end.
const (
	ToolIdentified ToolState = iota
	ToolExecuting
	ToolCompleted
	ToolFailed
	ToolInterrupted
)
