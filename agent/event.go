package agent

// Event is an event of a running turn, of the type Text, Reasoning, Tool, Call or Reset. The end of a turn is Run's return
// value, never an event.
type Event interface{ event() }

// Text is a piece of the reply, to be appended to the earlier pieces.
type Text struct{ Delta string }

// Reasoning is a piece of the model's thinking. Reasoning is never part of the reply.
type Reasoning struct{ Delta string }

// Tool is the state of one tool call; a later event with the same ID replaces an earlier one.
type Tool struct {
	ID      string
	Name    string
	Display string // description for people: one line, never empty
	State   ToolState
}

// Call is a piece of a call of one of Turn.ClientTools. The pieces of one call have the same ID and follow each other.
type Call struct {
	ID        string
	Name      string
	Arguments string // the next piece of the arguments: JSON that was not validated
}

// Reset says that the reply starts over: all earlier Text and Call events are void.
type Reset struct {
	Reason string
	// Thought says that the void text was in fact the model's reasoning: the model wrote a closing tag after it, but no opening
	// tag before it. If Thought is set, the next event is a Reasoning event with the void text.
	Thought bool
}

func (Text) event()      {}
func (Reasoning) event() {}
func (Tool) event()      {}
func (Call) event()      {}
func (Reset) event()     {}

// ToolState is the state of a tool call.
type ToolState uint8

// A call is identified, then executing, then completed or failed. While a person decides about a call, its state is
// interrupted.
const (
	ToolIdentified ToolState = iota
	ToolExecuting
	ToolCompleted
	ToolFailed
	ToolInterrupted
)
