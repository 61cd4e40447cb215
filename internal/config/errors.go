package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one problem of a configuration.
type Error struct {
	File    string // as it was given to Load or Parse, or the name of an environment variable
	Line    int    // from 1; 0 when the problem is no place in the file
	Column  int    // from 1, in characters
	Message string // one line, never a secret
	Hint    string // how to mend it; may be empty
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

// Errors is every problem of a configuration, in the order of the file.
type Errors []*Error

// Error returns the problems, one per line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single problems to errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// sorted orders the problems by place and drops repetitions.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(es, func(a, b *Error) bool { return *a == *b })
}

// err returns the problems as an error, nil when there are none. A plain conversion would make a non-nil
// error of an empty list.
func (es Errors) err() error {
	if len(es) == 0 {
		return nil
	}
	return es.sorted()
}
