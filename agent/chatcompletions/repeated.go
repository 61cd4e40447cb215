package chatcompletions

import "bytes"

// repeated reads events that differ from the one before in nothing but a piece of text, as most events of a stream do. Decoding them
// costs more than all else that is done with them. The zero value has read nothing.
type repeated struct {
	before, after []byte // of the newest event, around its text
}

// textKey stands before the text in an event. Inside of a string, its quotes would be escaped.
const textKey = `"content":"`

// learn takes an event that was decoded and says nothing but a text.
func (r *repeated) learn(event []byte, text string) {
	event = withoutPadding(event)
	at := bytes.Index(event, []byte(textKey)) + len(textKey)
	if at < len(textKey) || text == "" || bytes.Contains(event[at:], []byte(textKey)) {
		return
	}
	if rest, ok := bytes.CutPrefix(event[at:], []byte(text)); ok && len(rest) > 0 && rest[0] == '"' && isPlain([]byte(text)) {
		r.before, r.after = append(r.before[:0], event[:at]...), append(r.after[:0], rest...)
	}
}

// text returns the text of an event that differs from the learned one in nothing else.
func (r *repeated) text(event []byte) (string, bool) {
	event = withoutPadding(event)
	n := len(event) - len(r.before) - len(r.after)
	if len(r.before) == 0 || n <= 0 || !bytes.HasPrefix(event, r.before) || !bytes.HasSuffix(event, r.after) {
		return "", false
	}
	text := event[len(r.before) : len(r.before)+n]
	return string(text), isPlain(text)
}

// paddingKey stands before what OpenAI fills events up with, so that their lengths tell nothing
// (https://platform.openai.com/docs/api-reference/chat/create: stream_options.include_obfuscation).
const paddingKey = `,"obfuscation":"`

// withoutPadding returns an event without the padding at its end.
func withoutPadding(event []byte) []byte {
	at := bytes.LastIndex(event, []byte(paddingKey))
	if at < 0 {
		return event
	}
	if padding, ok := bytes.CutSuffix(event[at+len(paddingKey):], []byte(`"}`)); ok && isPlain(padding) {
		return event[:at]
	}
	return event
}

// isPlain reports whether a text stands in JSON as it is: printable ASCII, and nothing that is escaped.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
