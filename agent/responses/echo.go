package responses

import "encoding/json"

// echo is what stood before a call in an answer and goes back with it: reasoning as it came, and
// where the text was. It is kept in agent.ToolCall.Extra under a name of its own, so that no other
// model package takes it for its own.
type echo struct {
	Model  string   `json:"model"` // which the reasoning is of: no other can read it
	Before []echoed `json:"before"`
}

// echoed is a reasoning item, or the place of a message.
type echoed struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitempty"` // of a message: whether it is the answer or a remark on the way
	raw   json.RawMessage
}

// MarshalJSON writes reasoning as it came.
func (e echoed) MarshalJSON() ([]byte, error) {
	if e.raw != nil {
		return e.raw, nil
	}
	type plain echoed
	return json.Marshal(plain(e))
}

// UnmarshalJSON keeps reasoning as it came.
func (e *echoed) UnmarshalJSON(data []byte) error {
	type plain echoed
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	if e.Type == typeReasoning {
		e.raw = append(json.RawMessage(nil), data...)
	}
	return nil
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
	for _, before := range e.Before {
		if before.Type == typeMessage {
			return true
		}
	}
	return false
}

// extra returns what a call keeps; nil: nothing.
func (e echo) extra() json.RawMessage {
	if !e.matters() {
		return nil
	}
	data, err := json.Marshal(map[string]echo{"responses": e})
	if err != nil {
		return nil // raw was read as JSON, so this can't be; and then the call is worth more
	}
	return data
}

// matters reports whether there is anything that the calls alone don't say.
func (e echo) matters() bool {
	for _, before := range e.Before {
		if before.raw != nil || before.Phase != "" {
			return true
		}
	}
	return false
}
