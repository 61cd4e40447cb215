package scan

import (
	"bytes"
	"encoding/json"
)

// Scanner reads the JSON that providers send for a piece of text. Its methods return false where
// something else comes.
type Scanner struct{ rest []byte }

// New returns a scanner of a document.
func New(document []byte) *Scanner { return &Scanner{rest: document} }

// Object reads an object and calls value where each value begins.
func (s *Scanner) Object(value func(key []byte) bool) bool {
	if !s.Token('{') {
		return false
	}
	if s.Token('}') {
		return true
	}
	for {
		key, ok := s.Quoted()
		if !ok || !s.Token(':') || !value(key[1:len(key)-1]) {
			return false
		}
		if !s.Token(',') {
			return s.Token('}')
		}
	}
}

// Quoted reads a string and returns it with its quotes.
func (s *Scanner) Quoted() ([]byte, bool) {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			text := s.rest[:i+1]
			s.rest = s.rest[i+1:]
			return text, true
		case c == '\\':
			i++
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// Scalar reads a string without escapes, a whole number, or null.
func (s *Scanner) Scalar() bool {
	text, ok := s.Quoted()
	if ok {
		return bytes.IndexByte(text, '\\') < 0
	}
	return s.Null() || s.Number()
}

// Number reads a whole number that is not negative.
func (s *Scanner) Number() bool {
	_, ok := s.Digits()
	return ok
}

// Digits reads a whole number that is not negative, and returns it as it is written.
func (s *Scanner) Digits() ([]byte, bool) {
	s.space()
	n := 0
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && s.rest[0] == '0' {
		return nil, false
	}
	digits := s.rest[:n]
	s.rest = s.rest[n:]
	return digits, true
}

// Null reads null.
func (s *Scanner) Null() bool {
	s.space()
	rest, ok := bytes.CutPrefix(s.rest, []byte("null"))
	s.rest = rest
	return ok
}

// Token reads one character.
func (s *Scanner) Token(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// End reports whether nothing is left.
func (s *Scanner) End() bool {
	s.space()
	return len(s.rest) == 0
}

func (s *Scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// Unquote returns the text of a JSON string with its quotes; of nothing it is empty.
func Unquote(quoted []byte) (text string, ok bool) {
	switch {
	case len(quoted) == 0:
		return "", true
	case bytes.IndexByte(quoted, '\\') < 0:
		return string(quoted[1 : len(quoted)-1]), true
	default:
		return text, json.Unmarshal(quoted, &text) == nil
	}
}
