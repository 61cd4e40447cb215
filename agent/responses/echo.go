package responses

import (
	"encoding/json"
	"slices"
)

// echo is what stood before a call in an answer and goes back with it: reasoning as it came, and
// where the text was. It is kept in agent.ToolCall.Extra under a name of its own, so that no other
// model package takes it for its own.
type echo struct {
	Model  string            `json:"model"`  // which the reasoning is of: no other can read it
	Before []json.RawMessage `json:"before"` // reasoning items, and the places of messages
}

// place is where a message stood, or what we read of a reasoning item.
type place struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitempty"` // of a message: whether it is the answer or a remark on the way
}

func (p place) raw() json.RawMessage {
	raw, _ := json.Marshal(p) // two texts can always be written
	return raw
}

// placeOf reads what stood before a call.
func placeOf(raw json.RawMessage) (p place) {
	_ = json.Unmarshal(raw, &p) // what is nothing that we know has no type
	return p
}

// readEcho returns what goes back with a call to a model; nothing when it is another's.
func readEcho(extra json.RawMessage, model string) echo {
	var e struct {
		Responses echo `json:"responses"`
	}
	if len(extra) == 0 || model == "" || json.Unmarshal(extra, &e) != nil || e.Responses.Model != model {
		return echo{}
	}
	return e.Responses
}

// speaks reports whether the text has its place before this call.
func (e echo) speaks() bool {
	return slices.ContainsFunc(e.Before, func(raw json.RawMessage) bool { return placeOf(raw).Type == typeMessage })
}

// extra returns what a call keeps; nil where the calls alone say everything.
func (e echo) extra() json.RawMessage {
	if !slices.ContainsFunc(e.Before, func(raw json.RawMessage) bool { return placeOf(raw) != place{Type: typeMessage} }) {
		return nil
	}
	data, err := json.Marshal(map[string]echo{"responses": e})
	if err != nil {
		return nil // Before was read as JSON, so this can't be; and then the call is worth more
	}
	return data
}
