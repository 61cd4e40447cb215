package responses

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"telex/agent"
	"telex/agent/provider"
)

// outputItem has those fields of an item that telex uses.
type outputItem struct {
	ID        string             `json:"id"`
	Type      string             `json:"type"`
	Status    string             `json:"status"`
	Phase     string             `json:"phase"`
	CallID    string             `json:"call_id"`
	Name      string             `json:"name"`
	Arguments provider.Arguments `json:"arguments"`
	Content   []textPart         `json:"content"`
	Summary   []textPart         `json:"summary"`
	Encrypted string             `json:"encrypted_content"`
}

type textPart struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// item is one item of the answer: a message, a piece of reasoning, or a tool call.
type item struct {
	outputItem
	index     int
	done      bool
	raw       json.RawMessage // the finished item as JSON, if the item is reasoning
	emitted   bool            // a part of the item's text or refusal was emitted
	summary   int             // the part of the reasoning's summary that was emitted last
	reasoning string          // the kind of events from which the reasoning is read; events of other kinds repeat it
	position  int             // index of a call among the calls
	arguments strings.Builder // the arguments of a call
}

// output is the list of the items of an answer, in the order in which the provider announced them.
type output struct {
	items []*item
	calls int // number of calls among the items
}

// find returns the item with this id. Some servers change ids and places during an answer. So if no item has the id, find
// returns the newest item of this kind at this index, or else the newest item of this kind that has not ended. find returns
// nil if no item matches.
func (l *output) find(id, kind string, index int) *item {
	var there, open *item
	for _, it := range l.items {
		switch {
		case it.Type != kind:
		case id != "" && it.ID == id:
			return it
		case it.index == index:
			there = it
		case !it.done:
			open = it
		}
	}
	return cmp.Or(there, open)
}

// add appends an item that was announced at an index.
func (l *output) add(o outputItem, index int) *item {
	it := &item{outputItem: o, index: index, summary: -1}
	if o.Type == typeCall {
		it.position = l.calls
		l.calls++
		it.arguments.WriteString(string(o.Arguments))
	}
	l.items = append(l.items, it)
	return it
}

// nth returns the n-th item of a type, from 0, or nil if there are fewer. The event at the end of an answer lists all items.
// nth finds the listed items by their order, which is the same as in the earlier events, because their ids are sometimes
// different.
func (l *output) nth(kind string, n int) *item {
	for _, it := range l.items {
		if it.Type != kind {
			continue
		}
		if n == 0 {
			return it
		}
		n--
	}
	return nil
}

// toolCalls returns the complete calls that have a name. model is the model that answered, and finish says how the answer
// ended. A call without an id gets a new id, and missing arguments become an empty object.
func (l *output) toolCalls(model string, finish agent.Finish) []agent.ToolCall {
	var out []agent.ToolCall
	var before []json.RawMessage
	for _, it := range l.items {
		switch {
		case it.Type == typeMessage && it.emitted:
			before = append(before, place{Type: typeMessage, Phase: it.Phase}.raw())
		case it.Type == typeReasoning && it.done && (it.Encrypted != "" || len(it.Content) > 0):
			// Reasoning without encrypted text and content is useless, because it only refers to an item that the provider has not
			// stored.
			before = append(before, it.raw)
		case it.Type == typeCall && it.Name != "" && it.Status != "incomplete" && (it.done || finish == agent.FinishStop):
			call := agent.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.arguments.String()}
			if call.ID == "" {
				call.ID = "call_" + strconv.Itoa(it.position+1)
			}
			if call.Arguments == "" {
				call.Arguments = "{}"
			}
			call.Extra = echo{Model: model, Before: before}.extra()
			out, before = append(out, call), nil
		}
	}
	return out
}

// setArguments sets the complete arguments of a call. setArguments reports whether the arguments changed.
func (it *item) setArguments(whole string) bool {
	if whole == "" || whole == it.arguments.String() {
		return false
	}
	it.arguments.Reset()
	it.arguments.WriteString(whole)
	return true
}

// call returns the current state of the call.
func (it *item) call() agent.Delta {
	return agent.Delta{Call: &agent.CallDelta{
		Position: it.position, ID: it.CallID, Name: it.Name, Arguments: it.arguments.String(),
	}}
}
