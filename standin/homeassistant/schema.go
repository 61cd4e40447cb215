package homeassistant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// fieldKind is the type of a field.
type fieldKind string

const (
	anyField    fieldKind = "any"
	strictField fieldKind = "str"  // a string
	textField   fieldKind = "text" // a string, or a number that is converted to a string
	objectField fieldKind = "dict"
	boolField   fieldKind = "bool"
	intField    fieldKind = "int"
	numberField fieldKind = "float"
	listField   fieldKind = "list"
	maybeField  fieldKind = "str or None"
)

// field describes a field of a command or a service.
type field struct {
	kind     fieldKind
	required bool
}

// schema contains the fields of a command or a service. A field that is not in the schema is an error.
type schema map[string]field

// requiredField returns a field that must be present. optionalField returns a field that may be absent.
func requiredField(kind fieldKind) field { return field{kind: kind, required: true} }
func optionalField(kind fieldKind) field { return field{kind: kind} }

// check validates data. check returns the error text of voluptuous, the library with which Home Assistant validates, or
// "" if data is valid. at is the path to data, such as ['target'].
func (sc schema) check(data map[string]any, at string) string {
	for _, name := range slices.Sorted(maps.Keys(data)) {
		where := fmt.Sprintf(" @ data%s['%s']", at, name)
		f, known := sc[name]
		if !known {
			return "extra keys not allowed" + where
		}
		if wrong := f.kind.check(data[name]); wrong != "" {
			return wrong + where
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sc)) {
		if _, ok := data[name]; sc[name].required && !ok {
			return fmt.Sprintf("required key not provided @ data%s['%s']", at, name)
		}
	}
	return ""
}

// check validates a value. check returns an error text, or "" if the value is valid.
func (k fieldKind) check(v any) string {
	ok := true
	switch k {
	case strictField:
		_, ok = v.(string)
	case maybeField:
		_, ok = v.(string)
		ok = ok || v == nil
	case textField:
		switch v.(type) {
		case nil:
			return "string value is None for dictionary value"
		case map[string]any, []any:
			return "value should be a string for dictionary value"
		}
	case objectField:
		if _, ok = v.(map[string]any); !ok {
			return "expected a dictionary for dictionary value"
		}
	case boolField:
		_, ok = v.(bool)
	case intField:
		n, number := v.(json.Number)
		_, err := n.Int64()
		ok = number && err == nil
	case numberField:
		_, ok = v.(json.Number)
	case listField:
		_, ok = v.([]any)
	case anyField:
	}
	if !ok {
		return fmt.Sprintf("expected %s for dictionary value", k)
	}
	return ""
}

// text returns a field that is a text, or "" if the field is missing.
func text(data map[string]any, name string) string {
	switch v := data[name].(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	default:
		return fmt.Sprint(v)
	}
}

// number returns the value of a field, and whether the field is a number.
func number(data map[string]any, name string) (float64, bool) {
	n, ok := data[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

var errJSON = errors.New("invalid JSON")

// decode decodes one JSON value. decode decodes numbers as json.Number, which keeps their notation.
func decode(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: not UTF-8", errJSON)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", errJSON, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one value", errJSON)
	}
	return v, nil
}
