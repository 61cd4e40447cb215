package chatcompletions

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// plainText returns the text of an event of the usual kind: one piece of text and nothing else
// that matters. Of anything unusual it returns false, and the event is decoded in full, which costs
// several times as much; of events that it knows it says the same as decoding does.
func plainText(event []byte) (text string, ok bool) {
	s := scanner{rest: event}
	var content []byte
	seen := false
	ok = s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			if seen || !s.token('[') {
				return false
			}
			seen = true
			content, ok = s.choice()
			return ok && s.token(']')
		case "id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation", "provider":
			return s.scalar()
		case "usage":
			return s.null()
		default:
			return false
		}
	})
	if !ok || !seen || !s.end() || !utf8.Valid(event) {
		return "", false
	}
	return unquote(content)
}

// unquote returns the text of a JSON string with its quotes; of nothing it is empty.
func unquote(quoted []byte) (text string, ok bool) {
	switch {
	case len(quoted) == 0:
		return "", true
	case bytes.IndexByte(quoted, '\\') < 0:
		return string(quoted[1 : len(quoted)-1]), true
	default:
		return text, json.Unmarshal(quoted, &text) == nil
	}
}

// scanner reads the JSON that providers send for a piece of text. Its methods return false where
// something else comes.
type scanner struct{ rest []byte }

// choice reads a choice that says only how the text goes on, and returns that as it is quoted.
func (s *scanner) choice() (content []byte, ok bool) {
	seen := false
	ok = s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.token('0')
		case "delta":
			if seen {
				return false
			}
			seen = true
			content, ok = s.delta()
			return ok
		case "finish_reason", "logprobs", "native_finish_reason", "stop_reason", "token_ids":
			return s.null()
		default:
			return false
		}
	})
	return content, ok
}

func (s *scanner) delta() (content []byte, ok bool) {
	ok = s.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			if content != nil {
				return false
			}
			var isText bool
			content, isText = s.quoted()
			return isText
		case "role":
			return s.scalar()
		case "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call":
			return s.null()
		default:
			return false
		}
	})
	return content, ok
}

// object reads an object and calls value where each value begins.
func (s *scanner) object(value func(key []byte) bool) bool {
	if !s.token('{') {
		return false
	}
	if s.token('}') {
		return true
	}
	for {
		key, ok := s.quoted()
		if !ok || !s.token(':') || !value(key[1:len(key)-1]) {
			return false
		}
		if !s.token(',') {
			return s.token('}')
		}
	}
}

// quoted reads a string and returns it with its quotes.
func (s *scanner) quoted() ([]byte, bool) {
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

// scalar reads a string without escapes, a whole number, or null.
func (s *scanner) scalar() bool {
	text, ok := s.quoted()
	if ok {
		return bytes.IndexByte(text, '\\') < 0
	}
	return s.null() || s.number()
}

func (s *scanner) number() bool {
	n := 0
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && s.rest[0] == '0' {
		return false
	}
	s.rest = s.rest[n:]
	return true
}

func (s *scanner) null() bool {
	s.space()
	rest, ok := bytes.CutPrefix(s.rest, []byte("null"))
	s.rest = rest
	return ok
}

// token reads one character.
func (s *scanner) token(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) end() bool {
	s.space()
	return len(s.rest) == 0
}

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}
