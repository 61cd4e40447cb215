package whatsapp

import (
	"maps"
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// OverLimit is a call beyond the published limits.
	OverLimit = "over_limit"
	// EditAttempt is an attempt to change or delete a sent message. The API has no method for this.
	EditAttempt = "edit_attempt"
	// BadReference is a reply to a message that is not in the conversation.
	BadReference = "bad_reference"
)

// Violation is an action of a client that the platform punishes, or that its documentation asks clients not to do.
type Violation struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Method string    `json:"method,omitempty"`
	User   string    `json:"user,omitempty"`
	Detail string    `json:"detail"`
}

// Violations counts the violations by kind. A correct client has none.
type Violations struct {
	ByKind  map[string]int `json:"by_kind,omitempty"`
	Details []Violation    `json:"details,omitempty"`
}

// Total returns the number of violations of all kinds.
func (v Violations) Total() int { return len(v.Details) }

// Stats holds the counters since the start or the last Reset.
type Stats struct {
	rig.Stats
	// ByCode counts errors by code.
	ByCode map[int]int `json:"by_code"`
	// Messages, Reactions, Reads, Typings and Uploads count the business's calls that took effect.
	Messages  int `json:"messages"`
	Reactions int `json:"reactions"`
	Reads     int `json:"reads"`
	Typings   int `json:"typings"`
	Uploads   int `json:"uploads"`
	// EditAttempts counts attempts to change or delete a sent message. All were refused.
	EditAttempts int `json:"edit_attempts"`
	// Failed counts messages that were accepted and then not delivered.
	Failed int `json:"failed"`
	// Deliveries counts requests to the callback URL, and Redelivered the requests that repeat an earlier one. Lost counts
	// webhooks that were given up, and Pending those in progress.
	Deliveries  int        `json:"deliveries"`
	Redelivered int        `json:"redelivered"`
	Lost        int        `json:"lost"`
	Pending     int        `json:"pending"`
	Violations  Violations `json:"violations"`
}

func newStats() Stats {
	return Stats{ByCode: make(map[int]int), Violations: Violations{ByKind: make(map[string]int)}}
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Stats = s.Counted.Clone(s.limiter.Stats())
	st.ByCode = maps.Clone(st.ByCode)
	st.Violations.ByKind = maps.Clone(st.Violations.ByKind)
	st.Violations.Details = slices.Clone(st.Violations.Details)
	return st
}

func (s *Server) recordViolation(kind, method, user, detail string) {
	v := Violation{At: time.Now(), Kind: kind, Method: method, User: user, Detail: detail}
	s.stats.Violations.ByKind[kind]++
	s.stats.Violations.Details = append(s.stats.Violations.Details, v)
	s.Publish("violation", Event{User: user, Violation: &v})
}
