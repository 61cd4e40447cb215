package agent

// Event is something a running turn has to tell. The set is closed: Text, Reasoning, Tool
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

// Reset says that the reply starts over: everything told by Text so far is void.
type Reset struct{ Reason string }

func (Text) event()      {}
func (Reasoning) event() {}
func (Tool) event()      {}
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
