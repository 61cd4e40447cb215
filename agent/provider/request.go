package provider

import (
	"encoding/base64"
	"encoding/json"

	"telex/agent"
)

// Parameters returns a tool's schema; a tool without one takes an empty object.
func Parameters(t agent.ToolSpec) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// DataURL returns an image as a URL that holds it: a provider can't fetch what chats hold.
func DataURL(image agent.Image) string {
	return "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
}

// Arguments are those of a call: JSON in a string. Some servers send the object itself.
type Arguments string

// UnmarshalJSON takes a string, null, or any JSON as it is.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	*a = ""
	switch {
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(a))
	case string(data) != "null":
		*a = Arguments(data)
	}
	return nil
}
