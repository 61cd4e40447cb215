package preview

import (
	"slices"
	"time"
)

// A stream is a message to which text can only be appended. So a stream contains nothing that may still change: no
// cursor and no markup that the model has not closed yet. The bot stops a stream when the text changes, when the
// stream's content becomes uncertain, or before the platform ends the stream. After the bot has stopped a stream, it
// shows changes by editing the message.

// streamed reports whether part i is a stream or will be one.
func (s *state) streamed(i int) bool {
	if s.at(i).exists() {
		return s.at(i).streams()
	}
	return s.streamFor > 0
}

// streaming returns the index of the message that is a stream, and the time when that stream must be stopped. The index
// is negative if no message is a stream.
func (s *state) streaming() (i int, until time.Time) {
	i = slices.IndexFunc(s.parts, func(m message) bool { return m.streams() })
	if i >= 0 {
		until = s.parts[i].streamStart.Add(s.streamFor)
	}
	return i, until
}
