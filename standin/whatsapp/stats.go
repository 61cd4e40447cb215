package whatsapp

import (
	"maps"
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// OverLimit is a call that exceeds a published limit.
	OverLimit = "over_limit"
	// EditAttempt is an attempt to change or delete a sent message. WhatsApp's API has no method that changes or deletes a
	// sent message.
	EditAttempt = "edit_attempt"
	// BadReference is a reply to a message that is not in the conversation.
	BadReference = "bad_reference"
)

// Violation is an action of a client that WhatsApp refuses, or that WhatsApp's documentation asks clients to avoid.
type Violation struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Method string    `json:"method,omitempty"`
	User   string    `json:"user,omitempty"`
	Detail string    `json:"detail"`
}

// Violations counts the violations by kind. A correct client causes no violations.
type Violations struct {
	ByKind  map[string]int `json:"by_kind,omitempty"`
	Details []Violation    `json:"details,omitempty"`
}

// Total returns the number of violations of all kinds.
func (v Violations) Total() int { return len(v.Details) }

// Stats contains the counters. The counters count from the start of the server or from the last Reset.
type Stats struct {
	rig.Stats
	// ByCode counts the error responses by their error code.
	ByCode map[int]int `json:"by_code"`
	// Messages, Reactions, Reads, Typings and Uploads count the business's calls that took effect.
	Messages  int `json:"messages"`
	Reactions int `json:"reactions"`
	Reads     int `json:"reads"`
	Typings   int `json:"typings"`
	Uploads   int `json:"uploads"`
	// EditAttempts counts the attempts to change or delete a sent message. The server refuses all of these attempts.
	EditAttempts int `json:"edit_attempts"`
	// Failed counts the messages that the server accepted and then did not deliver.
	Failed int `json:"failed"`
	// Deliveries counts the requests to the callback URL. Redelivered counts the requests that repeat an earlier one. Lost
	// counts the webhooks that the app did not accept and that the server does not send again. Pending is the number of
	// webhooks in progress.
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
