package telegram

import (
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// OverLimit is a call that exceeds a published limit.
	OverLimit = "over_limit"
	// BlockedCall is a call in a scope that an earlier 429 had blocked.
	BlockedCall = "blocked_call"
	// SurplusEntities is a message with more than 100 entities.
	SurplusEntities = "surplus_entities"
)

// Violation is an action of a client that Telegram refuses or punishes, such as a call beyond a limit.
type Violation struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Method string    `json:"method"`
	Chat   int64     `json:"chat"`
	Detail string    `json:"detail"`
}

// Violations counts the violations. A correct client causes no violations.
type Violations struct {
	OverLimit       int         `json:"over_limit"`
	BlockedCalls    int         `json:"blocked_calls"`
	SurplusEntities int         `json:"surplus_entities"`
	Details         []Violation `json:"details,omitempty"`
}

// Total returns the number of violations of all kinds.
func (v Violations) Total() int { return v.OverLimit + v.BlockedCalls + v.SurplusEntities }

// Stats contains the counters. The counters count from the start of the server or from the last Reset.
type Stats struct {
	rig.Stats
	// Messages, Edits, Drafts, Deletes, Actions and Reactions count the bot's calls that took effect.
	Messages  int `json:"messages"`
	Edits     int `json:"edits"`
	Drafts    int `json:"drafts"`
	Deletes   int `json:"deletes"`
	Actions   int `json:"actions"`
	Reactions int `json:"reactions"`
	// NotModified counts edits that changed nothing.
	NotModified int `json:"not_modified"`
	// Conflicts counts responses with status 409.
	Conflicts int `json:"conflicts"`
	// Pending is the number of updates that the bot has not received yet. No call of getUpdates has confirmed such an
	// update, and no webhook has accepted it.
	Pending    int        `json:"pending_updates"`
	Violations Violations `json:"violations"`
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Stats = s.Counted.Clone(s.limiter.Stats())
	st.Violations.Details = slices.Clone(st.Violations.Details)
	st.Pending = len(s.updates.pending)
	return st
}

func (s *Server) recordViolation(now time.Time, kind string, call *Call, detail string) {
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
