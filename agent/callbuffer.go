package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// CallFragment is a piece of a tool call as an API sends it.
type CallFragment struct {
	Index     *int // of the call in its answer; nil: none was sent
	ID, Name  string
	Arguments string          // to be appended to what came before
	Extra     json.RawMessage // as in ToolCall
}

// CallBuffer puts the fragments of an answer's tool calls together. APIs bind them by index; servers
// send no index (Gemini), index 0 for all (Ollama), repeat id and name, or send empty ids. So a
// fragment belongs to the call its index is bound to, unless it has an id that is not that call's,
// or a name when that call's arguments are complete: then it begins a call. The zero value is empty.
type CallBuffer struct {
	calls   []*bufferedCall
	byIndex map[int]*bufferedCall
}

type bufferedCall struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// Add takes the next fragment and returns what is known of its call now.
func (b *CallBuffer) Add(f CallFragment) CallDelta {
	c := b.find(f)
	if c == nil || c.endsBefore(f) {
		c = &bufferedCall{}
		b.calls = append(b.calls, c)
		if f.Index != nil {
			if b.byIndex == nil {
				b.byIndex = make(map[int]*bufferedCall)
			}
			b.byIndex[*f.Index] = c
		}
	}
	if c.id == "" {
		c.id = f.ID
	}
	if c.name == "" {
		c.name = f.Name
	}
	c.arguments.WriteString(f.Arguments)
	if len(f.Extra) > 0 {
		c.extra = slices.Clone(f.Extra)
	}
	d := CallDelta{Position: slices.Index(b.calls, c), Name: c.name, Arguments: c.arguments.String()}
	if b.owner(c.id) == c {
		d.ID = c.id
	}
	return d
}

// find returns the call that the fragment's place points to: its index, else its id, else the
// newest call.
func (b *CallBuffer) find(f CallFragment) *bufferedCall {
	if f.Index != nil {
		return b.byIndex[*f.Index]
	}
	if f.ID != "" {
		if c := b.owner(f.ID); c != nil {
			return c
		}
	}
	if len(b.calls) == 0 {
		return nil
	}
	return b.calls[len(b.calls)-1]
}

// owner returns the first call that has this id.
func (b *CallBuffer) owner(id string) *bufferedCall {
	for _, c := range b.calls {
		if c.id == id && id != "" {
			return c
		}
	}
	return nil
}

func (c *bufferedCall) endsBefore(f CallFragment) bool {
	if f.ID != "" && c.id != "" {
		return f.ID != c.id
	}
	arguments := c.arguments.String()
	return f.Name != "" && strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// Calls returns the calls that have a name. Ids that are missing or came twice are made up, missing
// arguments are an empty object.
func (b *CallBuffer) Calls() []ToolCall {
	var out []ToolCall
	for i, c := range b.calls {
		if c.name == "" {
			continue
		}
		call := ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String(), Extra: c.extra}
		if b.owner(call.ID) != c {
			call.ID = b.makeUp(i + 1)
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		out = append(out, call)
	}
	return out
}

func (b *CallBuffer) makeUp(n int) string {
	id := "call_" + strconv.Itoa(n)
	for b.owner(id) != nil {
		id += "x"
	}
	return id
}
