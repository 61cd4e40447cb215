package config

import (
	"reflect"
	"strconv"
	"strings"
)

// field describes a key of the schema.
type field struct {
	key   string
	index int
	typ   reflect.Type
	tags  tags
}

// tags contains the rules in the struct tags of a field. The package comment lists these struct tags.
type tags struct {
	enum     []string
	min, max string
	unit     string
	required bool
	allow    string
}

// fieldsOf returns the fields of a struct type, in the order of their declaration.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || key == "-" || option == "inline" {
			continue
		}
		words := func(tag string) []string {
			return strings.FieldsFunc(f.Tag.Get(tag), func(r rune) bool { return r == '|' })
		}
		out = append(out, field{key: key, index: i, typ: f.Type, tags: tags{
			enum: words("enum"), min: f.Tag.Get("min"), max: f.Tag.Get("max"), unit: f.Tag.Get("unit"),
			required: f.Tag.Get("required") == "true", allow: f.Tag.Get("allow"),
		}})
	}
	return out
}

// holdsSecrets reports whether the field contains secrets, so that the key <key>_file may name a file with its value.
func (f field) holdsSecrets() bool {
	return f.typ == reflect.TypeFor[Secret]() || f.typ == reflect.TypeFor[DSN]() || f.typ == reflect.TypeFor[[]APIKey]()
}

func keysOfStruct[T any]() []string {
	var out []string
	for _, f := range fieldsOf(reflect.TypeFor[T]()) {
		out = append(out, f.key)
	}
	return out
}

// valueOf returns the value to which pointer points, which can be set.
func valueOf(pointer any) reflect.Value { return reflect.ValueOf(pointer).Elem() }

// inBounds reports whether x is within the bounds of the tags. The result bounds describes these bounds for an error message.
func (t tags) inBounds(x float64) (ok bool, bounds string) {
	// An error of ParseFloat only means that there is no such bound: a test checks that all bounds are numbers.
	low, errLow := strconv.ParseFloat(t.min, 64)
	high, errHigh := strconv.ParseFloat(t.max, 64)
	bounds = "between " + t.min + " and " + t.max
	if t.unit != "" {
		bounds += " " + t.unit
	}
	return (errLow != nil || x >= low) && (errHigh != nil || x <= high), bounds
}
