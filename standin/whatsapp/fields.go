package whatsapp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"telex/standin/rig"
)

// fields are the parameters of a JSON object. The methods of the type fields refuse the call by a panic if a parameter
// is invalid.
type fields struct {
	path   string // path of the object in the request; "" for the request itself
	values map[string]json.RawMessage
}

// readFields decodes the JSON object of a request.
func readFields(data []byte) (fields, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var f fields
	if err := d.Decode(&f.values); err != nil {
		return fields{}, fmt.Errorf("decode request: %w", err)
	}
	if d.More() || f.values == nil {
		return fields{}, errors.New("decode request: one object expected")
	}
	return f, nil
}

// param returns the name of a parameter in error messages, such as interactive['body']['text'].
func (f fields) param(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "['" + name + "']"
}

// has reports whether a parameter is present and not null.
func (f fields) has(name string) bool {
	raw, ok := f.values[name]
	return ok && string(raw) != "null"
}

// only checks the parameters of the object: it refuses the call if there is a parameter that is not in names.
func (f fields) only(names ...string) {
	for _, name := range sortedKeys(f.values) {
		if slices.Contains(names, name) {
			continue
		}
		if f.path == "" {
			panic(badParam("Unexpected key %q on the request.", name))
		}
		panic(badParam("Unexpected key %q on param %q.", name, f.path))
	}
}

// require refuses the call if the parameter is missing.
func (f fields) require(name string) {
	rig.RefuseIf(!f.has(name), badParam("The parameter %s is required.", f.param(name)))
}

// text returns a parameter that is a string, or "" if it is absent.
func (f fields) text(name string) string {
	var v string
	f.decode(name, &v, "a string")
	return v
}

// flag returns a parameter that is a boolean, or false if it is absent.
func (f fields) flag(name string) bool {
	var v bool
	f.decode(name, &v, "a boolean")
	return v
}

// object returns a parameter that is an object. If the parameter is absent, the result is an object without parameters.
func (f fields) object(name string) fields {
	o := fields{path: f.param(name)}
	f.decode(name, &o.values, "a JSON object")
	return o
}

// list returns a parameter that is an array of objects.
func (f fields) list(name string) []fields {
	var values []map[string]json.RawMessage
	f.decode(name, &values, "an array of objects")
	list := make([]fields, len(values))
	for i, v := range values {
		list[i] = fields{path: fmt.Sprintf("%s[%d]", f.param(name), i), values: v}
	}
	return list
}

func (f fields) decode(name string, to any, kind string) {
	if !f.has(name) {
		return
	}
	rig.RefuseIf(json.Unmarshal(f.values[name], to) != nil, badParam("Param %s must be %s.", f.param(name), kind))
}

// requiredText returns a text that must not be blank and has at most the given number of characters.
func (f fields) requiredText(name string, most int) string {
	f.require(name)
	text := f.text(name)
	rig.RefuseIf(strings.TrimSpace(text) == "", badParam("The parameter %s is required.", f.param(name)))
	f.limit(name, text, most)
	return text
}

// limit refuses a text that is too long.
func (f fields) limit(name, text string, most int) {
	rig.RefuseIf(units(text) > most, badParam("Param %s must be at most %d characters long.", f.param(name), most))
}

// units returns the length of a text in UTF-16 units. WhatsApp's documentation limits "characters" without defining
// them. The stand-in assumes that the limits count UTF-16 units, which is stricter than a limit on code points.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// requestsEdit reports whether a request tries to change or delete a message.
func (f fields) requestsEdit() bool {
	word := func(name string) string {
		var v string
		_ = json.Unmarshal(f.values[name], &v) // ignore the error: a value that is not a string requests no edit
		return strings.ToLower(v)
	}
	verbs := []string{"edit", "edited", "revoke", "revoked", "delete", "deleted", "update"}
	return slices.Contains(verbs, word("type")) || slices.Contains(verbs, word("status")) ||
		f.has("edit") || f.has("revoke") || f.has("message_id") && !f.has("status")
}

// caption returns the text or caption of a message. caption accepts invalid requests, so that faults can select them by
// their text.
func (f fields) caption() string {
	type part struct {
		Body    json.RawMessage `json:"body"`
		Caption string          `json:"caption"`
	}
	for _, name := range sortedKeys(f.values) {
		var p part
		if json.Unmarshal(f.values[name], &p) != nil {
			continue
		}
		var text string
		var nested struct {
			Text string `json:"text"`
		}
		switch {
		case p.Caption != "":
			return p.Caption
		case json.Unmarshal(p.Body, &text) == nil && text != "":
			return text
		case json.Unmarshal(p.Body, &nested) == nil && nested.Text != "":
			return nested.Text
		}
	}
	return ""
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
