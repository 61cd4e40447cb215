package chatcompletions

import (
	"unicode/utf8"

	"telex/agent/scan"
)

// plainText returns the text of an event of the usual kind: one piece of text and nothing else
// that matters. Of anything unusual it returns false, and the event is decoded in full, which costs
// several times as much; of events that it knows it says the same as decoding does.
func plainText(event []byte) (text string, ok bool) {
	s := scan.New(event)
	var content []byte
	seen := false
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			if seen || !s.Token('[') {
				return false
			}
			seen = true
			content, ok = readChoice(s)
			return ok && s.Token(']')
		case "id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation", "provider":
			return s.Scalar()
		case "usage":
			return s.Null()
		default:
			return false
		}
	})
	if !ok || !seen || !s.End() || !utf8.Valid(event) {
		return "", false
	}
	return scan.Unquote(content)
}

// readChoice reads a choice that says only how the text goes on, and returns that as it is quoted.
func readChoice(s *scan.Scanner) (content []byte, ok bool) {
	seen := false
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.Token('0')
		case "delta":
			if seen {
				return false
			}
			seen = true
			content, ok = readDelta(s)
			return ok
		case "finish_reason", "logprobs", "native_finish_reason", "stop_reason", "token_ids":
			return s.Null()
		default:
			return false
		}
	})
	return content, ok
}

func readDelta(s *scan.Scanner) (content []byte, ok bool) {
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "content":
			if content != nil {
				return false
			}
			var isText bool
			content, isText = s.Quoted()
			return isText
		case "role":
			return s.Scalar()
		case "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call":
			return s.Null()
		default:
			return false
		}
	})
	return content, ok
}
