package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaMismatch says why arguments do not fit a tool's schema; empty: they do, or the schema is no valid one.
//
// Schemas come from servers, so they are simplified first: a reference that leads back to itself would be followed without end, many
// references can make a small schema a huge one, resolving a deep schema takes minutes, and matching a long pattern takes seconds.
func schemaMismatch(schema json.RawMessage, arguments string) (why string) {
	defer func() {
		if recover() != nil {
			why = ""
		}
	}()
	var loose, object any
	if json.Unmarshal(schema, &loose) != nil || json.Unmarshal([]byte(arguments), &object) != nil {
		return ""
	}
	loose = simplified(loose, 0)
	if root, ok := loose.(map[string]any); ok {
		delete(root, "$schema") // of another version; what matters is the same in all
	}
	raw, err := json.Marshal(loose)
	var s jsonschema.Schema
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return ""
	}
	if err := resolved.Validate(object); err != nil {
		return fmt.Sprintf("Error: the arguments do not fit the tool's schema, so nothing was done: %s. Call again with arguments that fit.",
			Clip(err.Error(), maxError))
	}
	return ""
}

// maxSchemaDepth is how deep objects and lists of a schema may be in each other. Those of real tools have less than 20.
const maxSchemaDepth = 64

// simplified returns a schema in which anything fits where there was a reference or a pattern, and beyond a depth.
func simplified(schema any, depth int) any {
	switch s := schema.(type) {
	case map[string]any:
		if depth >= maxSchemaDepth {
			return map[string]any{}
		}
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if _, ok := s[key].(string); ok {
				return map[string]any{}
			}
		}
		if _, ok := s["pattern"].(string); ok {
			delete(s, "pattern")
		}
		if _, ok := s["patternProperties"]; ok { // a property may be one of these
			delete(s, "patternProperties")
			delete(s, "additionalProperties")
		}
		for key, value := range s {
			s[key] = simplified(value, depth+1)
		}
	case []any:
		for i, value := range s {
			s[i] = simplified(value, depth+1)
		}
	}
	return schema
}
