package preview

import (
	"slices"
	"time"
)

// A stream is a message that only grows, so that it shows nothing that may still change: no
// cursor, no healed end. When the text turns out otherwise, when it is not known what stands,
// or before the platform ends it, the stream is stopped; from then on it is a message that is
// edited.

// streamed says that part i is a stream or will be one.
func (s *state) streamed(i int) bool {
	if s.at(i).exists() {
		return s.at(i).streams()
	}
	return s.streamFor > 0
}

// streaming returns which message is a stream, and until when it may be one: a negative place is none.
func (s *state) streaming() (i int, until time.Time) {
	i = slices.IndexFunc(s.parts, func(m message) bool { return m.streams() })
	if i >= 0 {
		until = s.parts[i].begun.Add(s.streamFor)
	}
	return i, until
}
