package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"telex/standin/rig"
)

// The functions in this file refuse an invalid request by a panic with an apiError. The function checked recovers this
// panic; see package rig.

// checked runs checks and returns the first refusal, or nil.
func checked(checks func()) error {
	if _, refused := rig.Run[apiError](func() any { checks(); return nil }); refused != nil {
		return refused
	}
	return nil
}

// invalidIf refuses the request because of a parameter, if broken is true.
func invalidIf(broken bool, param, code, format string, args ...any) {
	if broken {
		panic(invalid(param, code, format, args...))
	}
}

// required refuses the request if a field is missing. where is the path of the object that should contain the field, or
// "" for the request itself.
func required(there bool, where, name string) {
	if where != "" {
		name = where + "." + name
	}
	invalidIf(!there, name, "missing_required_parameter", "Missing required parameter: '%s'.", name)
}

// knownFields refuses the request if an object contains a field that is not in known.
func knownFields(object []byte, where, known string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		invalidIf(where == "", "", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't "+
			"using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
		panic(wrongType(where, "an object"))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		known := strings.Contains(known, " "+name+" ")
		if where != "" {
			name = where + "." + name
		}
		invalidIf(!known, name, "unknown_parameter", "Unknown parameter: '%s'.", name)
	}
}

// decode decodes a value. decode refuses the request if the value does not have the type want.
func decode(raw json.RawMessage, into any, param, want string) {
	if json.Unmarshal(raw, into) != nil {
		panic(wrongType(param, want))
	}
}

func wrongType(param, want string) *apiError {
	return invalid(param, "invalid_type", "Invalid type for '%s': expected %s.", param, want)
}

// object refuses the request if a value is neither an object nor null.
func object(raw json.RawMessage, param string) {
	if raw = bytes.TrimSpace(raw); !isNull(raw) && raw[0] != '{' {
		panic(wrongType(param, "an object"))
	}
}

// notEmpty refuses the request if an array is empty. n is the number of its elements.
func notEmpty(n int, param string) {
	invalidIf(n == 0, param, "empty_array",
		"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param)
}

// oneValue refuses the request if value is neither nil nor one of the allowed values.
func oneValue(param string, value *string, allowed ...string) {
	if value != nil && !slices.Contains(allowed, *value) {
		panic(invalid(param, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", *value, strings.Join(allowed, "', '")))
	}
}

// functionName refuses the request if a function name is invalid.
func functionName(name, param string) {
	invalidIf(!functionNameRE.MatchString(name), param, "invalid_value",
		"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '%s'.", param, functionNameRE)
}

// bounds are the limits of an optional number in a request.
type bounds struct {
	name, kind string // integer or decimal
	value      *float64
	min, max   float64
}

func checkBounds(list []bounds) {
	for _, p := range list {
		if p.value == nil {
			continue
		}
		invalidIf(*p.value < p.min, p.name, p.kind+"_below_min_value",
			"Invalid '%s': %s below minimum value. Expected a value >= %v, but got %v instead.", p.name, p.kind, p.min, *p.value)
		invalidIf(*p.value > p.max, p.name, p.kind+"_above_max_value",
			"Invalid '%s': %s above maximum value. Expected a value <= %v, but got %v instead.", p.name, p.kind, p.max, *p.value)
	}
}

func toFloat(n *int) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
