package preview

import (
	"strings"
	"time"

	"telex/internal/chat"
)

// A stream is a message that only grows, so that it shows nothing that may still change: no
// cursor, no healed end. When the text turns out otherwise, when it is not known what stands,
// or before the platform ends it, the stream is stopped; from then on it is a message that is
// edited.

// streamed says that part i is a stream or will be one.
func (s *state) streamed(i int) bool {
	if i < len(s.parts) && s.parts[i].exists() {
		return s.parts[i].streams()
	}
	return s.streamFor > 0
}

// grow makes a the call that adds to a stream what it lacks. It returns false when there is
// nothing to add.
func (s *state) grow(a *action) bool {
	p := &s.parts[a.part]
	added, ok := p.lacks(a.body)
	switch {
	case !ok:
		*a = s.stop(a.part)
	case a.seal:
		a.kind, a.added = doStop, added
	case added == "":
		return false
	default:
		a.kind, a.added = doAppend, added
	}
	return true
}

// lacks returns what must be added to show b, and false when adding is not enough.
func (m *message) lacks(b payload) (string, bool) {
	if len(b.rendered.Spans)+len(m.shown.body.rendered.Spans) > 0 || m.unsure() {
		return "", false
	}
	return strings.CutPrefix(b.rendered.Text, m.shown.body.rendered.Text)
}

// stop ends the stream of part i as it stands.
func (s *state) stop(i int) action {
	class := chat.ClassPreview
	if s.ending != nil {
		class = chat.ClassFinal
	}
	return action{kind: doStop, part: i, display: display{body: s.parts[i].shown.body}, stands: true, size: s.drawn, class: class}
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
