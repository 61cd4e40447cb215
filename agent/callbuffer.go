package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// CallFragment is a piece of a tool call as an API sends it.
type CallFragment struct {
	Index     *int // position of the call in the answer; nil: the provider sent none
	ID, Name  string
	Arguments string          // the next piece of the arguments
	Extra     json.RawMessage // provider data, as in ToolCall.Extra
}

// CallBuffer joins the fragments in which a provider streams the tool calls of an answer. According to the API, the fragments
// of one call have the same index. But some servers send no index (Gemini), or index 0 for all calls (Ollama). Other servers
// repeat id and name in each fragment, send empty or changing ids, or split the name. Therefore two kinds of fragments begin
// a new call even if an earlier call has the same index: a fragment with another id, and a fragment with a name that arrives
// when the arguments of the earlier call are complete. A fragment without a name never begins a new call while the arguments
// are incomplete. The zero value is empty.
type CallBuffer struct {
	calls   []*bufferedCall
	byIndex map[int]*bufferedCall
}

type bufferedCall struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// Add adds the next fragment and returns the state of the call to which it belongs.
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
	c.takeName(f.Name)
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

// find returns the call to which a fragment seems to belong: the call with the fragment's index. For a fragment without an
// index, find returns the call with the fragment's id, or else the newest call.
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

// endsBefore reports whether the call has ended and the fragment begins the next call.
func (c *bufferedCall) endsBefore(f CallFragment) bool {
	switch {
	case f.ID != "" && c.id != "" && f.ID == c.id:
		return false
	case f.ID != "" && c.id != "":
		return f.Name != "" || c.complete()
	case f.Name == c.name && f.Arguments == "": // some servers end a call with an empty fragment that repeats the call's name
		return false
	case f.Name != "" && c.arguments.Len() == 0 && f.Index == nil: // servers that send no index never split a name
		return c.name != "" && f.Name != c.name
	default:
		return f.Name != "" && c.complete()
	}
}

// complete reports whether the arguments are a complete JSON object.
func (c *bufferedCall) complete() bool {
	arguments := c.arguments.String()
	return strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// takeName sets the name of a call, or adds the next piece to it. Servers that split a name send all its pieces before the
// arguments. Other servers repeat the whole name in each fragment.
func (c *bufferedCall) takeName(name string) {
	switch {
	case c.name == "" || strings.HasPrefix(name, c.name):
		c.name = name
	case c.arguments.Len() == 0 && len(c.name) < maxName:
		c.name += name
	}
}

// maxName is the maximum length of a call's name in bytes, several times the length that any provider accepts.
const maxName = 256

// Calls returns the calls that have a name. A call with a missing or repeated id gets a new id.
func (b *CallBuffer) Calls() []ToolCall {
	var out []ToolCall
	for i, c := range b.calls {
		if c.name == "" {
			continue
		}
		call := ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String(), Extra: c.extra}
		if b.owner(call.ID) != c {
			call.ID = b.newID(i + 1)
		}
		out = append(out, call)
	}
	return out
}

func (b *CallBuffer) newID(n int) string {
	id := "call_" + strconv.Itoa(n)
	for b.owner(id) != nil {
		id += "x"
	}
	return id
}
