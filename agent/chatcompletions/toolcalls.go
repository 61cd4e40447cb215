package chatcompletions

import (
	"encoding/json"
	"strconv"
	"strings"

	"telex/agent"
)

// callDelta is a piece of a tool call as providers send it.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openCall struct {
	id, name  string
	arguments strings.Builder
}

// toolCalls puts the fragments of an answer's tool calls together. The API binds them by
// index; servers send no index (Gemini), index 0 for all (Ollama), repeat id and name, or send
// empty ids. So a fragment belongs to the call its index is bound to, unless it has an id that
// is not that call's, or a name when that call's arguments are complete: then it begins a call.
type toolCalls struct {
	calls   []*openCall
	byIndex map[int]*openCall
}

func (t *toolCalls) add(d callDelta) {
	c := t.find(d)
	if c == nil || t.begins(d, c) {
		c = &openCall{}
		t.calls = append(t.calls, c)
		if d.Index != nil {
			if t.byIndex == nil {
				t.byIndex = make(map[int]*openCall)
			}
			t.byIndex[*d.Index] = c
		}
	}
	if c.id == "" {
		c.id = d.ID
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	c.arguments.WriteString(d.Function.Arguments)
}

// find returns the call that the fragment's place points to: its index, else its id, else the
// newest call.
func (t *toolCalls) find(d callDelta) *openCall {
	if d.Index != nil {
		return t.byIndex[*d.Index]
	}
	for _, c := range t.calls {
		if d.ID != "" && c.id == d.ID {
			return c
		}
	}
	if len(t.calls) == 0 {
		return nil
	}
	return t.calls[len(t.calls)-1]
}

func (t *toolCalls) begins(d callDelta, c *openCall) bool {
	if d.ID != "" && c.id != "" {
		return d.ID != c.id
	}
	return d.Function.Name != "" && json.Valid([]byte(c.arguments.String()))
}

// complete returns the calls that have a name. Missing ids are made up, missing arguments are
// an empty object.
func (t *toolCalls) complete() []agent.ToolCall {
	var out []agent.ToolCall
	for i, c := range t.calls {
		if c.name == "" {
			continue
		}
		call := agent.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()}
		if call.ID == "" {
			call.ID = "call_" + strconv.Itoa(i+1)
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		out = append(out, call)
	}
	return out
}
