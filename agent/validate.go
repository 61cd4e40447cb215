package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaMismatch returns a text for the model that says why arguments do not fit a tool's schema. The text is empty if the
// arguments fit, or if the schema is invalid.
//
// Schemas come from MCP servers, so schemaMismatch simplifies them first. In a malicious schema, a circular reference would
// never end, nested references could expand without bound, deep nesting would take minutes to resolve, and a long pattern
// would take seconds to match.
func schemaMismatch(schema json.RawMessage, arguments string) (mismatch string) {
	defer func() {
		if recover() != nil {
			mismatch = ""
		}
	}()
	var simplified, object any
	if json.Unmarshal(schema, &simplified) != nil || json.Unmarshal([]byte(arguments), &object) != nil {
		return ""
	}
	simplified = simplifySchema(simplified, 0)
	if root, ok := simplified.(map[string]any); ok {
		delete(root, "$schema") // the library refuses other versions of JSON Schema, although their keywords are the same
	}
	raw, err := json.Marshal(simplified)
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

// maxSchemaDepth is how deeply a schema may be nested. Schemas of real tools have fewer than 20 levels.
const maxSchemaDepth = 64

// simplifySchema removes references, patterns and everything below maxSchemaDepth from a schema. Where a part was removed,
// the simplified schema accepts any value.
func simplifySchema(schema any, depth int) any {
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
		if _, ok := s["patternProperties"]; ok { // additionalProperties must go, too: it excludes properties that match no pattern
			delete(s, "patternProperties")
			delete(s, "additionalProperties")
		}
		for key, value := range s {
			s[key] = simplifySchema(value, depth+1)
		}
	case []any:
		for i, value := range s {
			s[i] = simplifySchema(value, depth+1)
		}
	}
	return schema
}
