package preview

import "time"

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

// mend stops a stream that shows what is not wanted, or that has lasted long enough.
func (s *state) mend(now time.Time) (action, bool) {
	for i, p := range s.parts {
		if p.streams() && (p.unsure() || !now.Before(p.begun.Add(s.streamFor))) {
			return s.stop(i), true
		}
	}
	return action{}, false
}

// expiry is when a stream must be stopped.
func (s *state) expiry() (time.Time, bool) {
	for _, p := range s.parts {
		if p.streams() {
			return p.begun.Add(s.streamFor), true
		}
	}
	return time.Time{}, false
}
