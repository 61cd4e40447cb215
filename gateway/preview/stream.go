package preview

import (
	"slices"
	"time"
)

// A stream is a message that only grows, so it shows nothing that may still change: no cursor and no auto-closed
// markup. It is stopped when the text changes, when its content becomes uncertain, or before the platform ends
// it. From then on it is a message that is edited.

// streamed reports whether part i is a stream or will be one.
func (s *state) streamed(i int) bool {
	if s.at(i).exists() {
		return s.at(i).streams()
	}
	return s.streamFor > 0
}

// streaming returns the index of the message that is a stream and the time until which it may be one. The index
// is negative if there is none.
func (s *state) streaming() (i int, until time.Time) {
	i = slices.IndexFunc(s.parts, func(m message) bool { return m.streams() })
	if i >= 0 {
		until = s.parts[i].streamStart.Add(s.streamFor)
	}
	return i, until
}
