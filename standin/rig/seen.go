package rig

import (
	"slices"
	"time"
)

// Seen is the history of a message as people saw it. Each version has the type V. The message type of each platform
// embeds Seen.
type Seen[V interface{ Since() time.Time }] struct {
	// Versions contains the message as it was sent, and one more version for each change.
	Versions []V `json:"versions"`
	// Deleted is the time when the message was deleted, or zero if the message still exists.
	Deleted time.Time `json:"deleted,omitzero"`
	// DeletedBy is "bot" or "person".
	DeletedBy string `json:"deleted_by,omitempty"`
}

// Last returns the newest version.
func (m Seen[V]) Last() V { return m.Versions[len(m.Versions)-1] }

// Alive reports whether the message is not deleted.
func (m Seen[V]) Alive() bool { return m.Deleted.IsZero() }

// Copy returns a copy that does not change when the stand-in adds versions to the message. The existing versions never
// change, so Copy does not copy their content.
func (m Seen[V]) Copy() Seen[V] {
	m.Versions = slices.Clone(m.Versions)
	return m
}

// At returns the message as it was at t, and whether it was visible then.
func (m Seen[V]) At(t time.Time) (seen Seen[V], visible bool) {
	if m.Versions[0].Since().After(t) || !m.Alive() && !m.Deleted.After(t) {
		return seen, false
	}
	n := len(m.Versions)
	for n > 1 && m.Versions[n-1].Since().After(t) {
		n--
	}
	return Seen[V]{Versions: slices.Clone(m.Versions[:n])}, true
}
