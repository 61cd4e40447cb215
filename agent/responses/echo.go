package responses

import (
	"encoding/json"
	"slices"
)

// echo is what preceded a tool call in an answer and must be sent back together with the call: the reasoning, and whether the
// text of the answer came before the call. echo is stored in agent.ToolCall.Extra under its own key, so that other model
// packages ignore it.
type echo struct {
	Model  string            `json:"model"`  // the model that sent the reasoning; no other model can read it
	Before []json.RawMessage `json:"before"` // reasoning items, and a place for each message
}

// place marks where a message stood among the items of an answer. place also decodes the type of a reasoning item.
type place struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitempty"` // phase of a message: an answer, or a remark before calls
}

func (p place) raw() json.RawMessage {
	raw, _ := json.Marshal(p) // never fails for strings
	return raw
}

// placeOf parses an element of echo.Before.
func placeOf(raw json.RawMessage) (p place) {
	_ = json.Unmarshal(raw, &p) // on an error, the result has no type
	return p
}

// readEcho returns the echo of a call, or nothing if another model sent it.
func readEcho(extra json.RawMessage, model string) echo {
	var e struct {
		Responses echo `json:"responses"`
	}
	if len(extra) == 0 || model == "" || json.Unmarshal(extra, &e) != nil || e.Responses.Model != model {
		return echo{}
	}
	return e.Responses
}

// hasText reports whether the text of the answer precedes this call.
func (e echo) hasText() bool {
	return slices.ContainsFunc(e.Before, func(raw json.RawMessage) bool { return placeOf(raw).Type == typeMessage })
}

// extra returns the echo in the form in which it is stored with a call. extra returns nil if the echo contains neither
// reasoning nor the phase of a text.
func (e echo) extra() json.RawMessage {
	if !slices.ContainsFunc(e.Before, func(raw json.RawMessage) bool { return placeOf(raw) != place{Type: typeMessage} }) {
		return nil
	}
	data, err := json.Marshal(map[string]echo{"responses": e})
	if err != nil {
		return nil // can't happen, since Before was parsed from JSON
	}
	return data
}
