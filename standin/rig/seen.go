package rig

import (
	"slices"
	"time"
)

// Seen is what people saw of a message, of which V is a version. A platform's message embeds it.
type Seen[V interface{ Since() time.Time }] struct {
	// Versions holds at least the message as sent; each change adds one.
	Versions []V `json:"versions"`
	// Deleted is when the message vanished, zero while it stands.
	Deleted time.Time `json:"deleted,omitzero"`
	// DeletedBy is "bot" or "person".
	DeletedBy string `json:"deleted_by,omitempty"`
}

// Last is the newest version.
func (m Seen[V]) Last() V { return m.Versions[len(m.Versions)-1] }

// Alive tells whether the message is not deleted.
func (m Seen[V]) Alive() bool { return m.Deleted.IsZero() }

// Copy is detached from the stand-in's own. What versions hold is never changed once stored, so it is shared.
func (m Seen[V]) Copy() Seen[V] {
	m.Versions = slices.Clone(m.Versions)
	return m
}

// At is the message as it was at t, and whether it was visible then.
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
