package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one error in a configuration.
type Error struct {
	File    string // the file's name, as passed to Load or Parse, or the name of the environment variable with the error
	Line    int    // line of the error, counted from 1; 0 if the error has no position in the file
	Column  int    // column of the error, counted from 1, in characters
	Message string // one line, without secrets
	Hint    string // how an operator can fix the error; may be empty
}

// Error returns "file:line:column: message; hint".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Errors contains all errors in a configuration, in the order of the file.
type Errors []*Error

// Error returns the errors, one per line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the individual errors, so that errors.As finds them.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// sorted sorts the errors by position and removes duplicates.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(es, func(a, b *Error) bool { return *a == *b })
}

// err returns the errors as one error, or nil if there are none. If es is empty, return nil explicitly, because an empty Errors
// in an error interface would not be nil.
func (es Errors) err() error {
	if len(es) == 0 {
		return nil
	}
	return es.sorted()
}
