package chatcompletions

import "bytes"

// repeated parses events that differ from the previous one only in a piece of text, like most events of a stream. Decoding each
// event as JSON would cost more CPU time than all other work. The zero value remembers no previous event.
type repeated struct {
	before, after []byte // the newest event before and after its text
}

// textKey precedes the text in an event. textKey can't occur inside a string, where its quotes would be escaped.
const textKey = `"content":"`

// remember stores the parts before and after the text of a decoded event. The event must add nothing but this text to the
// answer.
func (r *repeated) remember(event []byte, text string) {
	event = withoutPadding(event)
	at := bytes.Index(event, []byte(textKey)) + len(textKey)
	if at < len(textKey) || text == "" || bytes.Contains(event[at:], []byte(textKey)) {
		return
	}
	if rest, ok := bytes.CutPrefix(event[at:], []byte(text)); ok && len(rest) > 0 && rest[0] == '"' && isPlain([]byte(text)) {
		r.before, r.after = append(r.before[:0], event[:at]...), append(r.after[:0], rest...)
	}
}

// text returns the text of an event. text returns false if the event differs from the remembered one in more than the text.
func (r *repeated) text(event []byte) (string, bool) {
	event = withoutPadding(event)
	n := len(event) - len(r.before) - len(r.after)
	if len(r.before) == 0 || n <= 0 || !bytes.HasPrefix(event, r.before) || !bytes.HasSuffix(event, r.after) {
		return "", false
	}
	text := event[len(r.before) : len(r.before)+n]
	return string(text), isPlain(text)
}

// paddingKey precedes the padding that OpenAI adds to events to hide their lengths
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

// isPlain reports whether a text needs no escapes in JSON: printable ASCII only.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
