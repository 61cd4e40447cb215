package telegram

import (
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// OverLimit is a call beyond the published limits.
	OverLimit = "over_limit"
	// BlockedCall is a call in a scope that a 429 had closed.
	BlockedCall = "blocked_call"
	// SurplusEntities is a message with more than 100 entities.
	SurplusEntities = "surplus_entities"
)

// Violation is something a client did that the platform punishes.
type Violation struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Method string    `json:"method"`
	Chat   int64     `json:"chat"`
	Detail string    `json:"detail"`
}

// Violations counts what the platform punishes; a good client has none.
type Violations struct {
	OverLimit       int         `json:"over_limit"`
	BlockedCalls    int         `json:"blocked_calls"`
	SurplusEntities int         `json:"surplus_entities"`
	Details         []Violation `json:"details,omitempty"`
}

// Total is the number of violations of all kinds.
func (v Violations) Total() int { return v.OverLimit + v.BlockedCalls + v.SurplusEntities }

// Stats are counters since the start or the last Reset.
type Stats struct {
	rig.Stats
	// Messages, Edits, Drafts, Deletes, Actions and Reactions took effect.
	Messages  int `json:"messages"`
	Edits     int `json:"edits"`
	Drafts    int `json:"drafts"`
	Deletes   int `json:"deletes"`
	Actions   int `json:"actions"`
	Reactions int `json:"reactions"`
	// NotModified are edits that changed nothing.
	NotModified int `json:"not_modified"`
	// Conflicts are answers with status 409.
	Conflicts int `json:"conflicts"`
	// Pending are updates that no poll has confirmed and no webhook has taken.
	Pending    int        `json:"pending_updates"`
	Violations Violations `json:"violations"`
}

// Stats returns the counters. It is a copy.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Stats = s.Counted.Clone(s.limiter.Stats())
	st.Violations.Details = slices.Clone(st.Violations.Details)
	st.Pending = len(s.updates.pending)
	return st
}

func (s *Server) violate(now time.Time, kind string, call *Call, detail string) {
	v := Violation{At: now, Kind: kind, Method: call.Method, Chat: call.Chat, Detail: detail}
	switch kind {
	case OverLimit:
		s.stats.Violations.OverLimit++
	case BlockedCall:
		s.stats.Violations.BlockedCalls++
	case SurplusEntities:
		s.stats.Violations.SurplusEntities++
	}
	s.stats.Violations.Details = append(s.stats.Violations.Details, v)
	s.Publish("violation", Event{Chat: call.Chat, Violation: &v})
}
