package provider

import "encoding/json"

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
