package slack

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
	// BlockedCall is a call in a scope that an earlier 429 had blocked.
	BlockedCall = "blocked_call"
	// LateAck is an acknowledgement that arrives more than three seconds after its envelope, over the socket of the
	// envelope.
	LateAck = "late_ack"
	// BadAck is a message that the client sends over a socket, and that acknowledges no envelope.
	BadAck = "bad_ack"
	// Truncated is a text that was cut because it was too long.
	Truncated = "truncated"
	// ReplyAsThread is a thread_ts that names a reply and not the thread's parent message.
	ReplyAsThread = "reply_as_thread"
)

// Violation is an action of a client that Slack refuses, or that Slack's documentation asks clients to avoid.
type Violation struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Detail  string    `json:"detail"`
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
	// ByError counts the responses with ok=false by their error code.
	ByError map[string]int `json:"by_error"`
	// Messages, Edits, Deletes, Streams and Appends count the bot's calls that took effect.
	Messages int `json:"messages"`
	Edits    int `json:"edits"`
	Deletes  int `json:"deletes"`
	Streams  int `json:"streams"`
	Appends  int `json:"appends"`
	// NotModified counts edits that changed nothing.
	NotModified int `json:"not_modified"`
	// Deliveries counts the attempts to deliver to the app. Redelivered counts the attempts that repeat an earlier
	// attempt. Lost counts the deliveries that failed and that the server does not attempt again. Pending is the number of
	// deliveries in progress.
	Deliveries  int `json:"deliveries"`
	Redelivered int `json:"redelivered"`
	Lost        int `json:"lost"`
	Pending     int `json:"pending"`
	// Sockets is the number of open sockets. Opened is the number of all sockets that clients have opened so far.
	Sockets    int        `json:"sockets"`
	Opened     int        `json:"sockets_opened"`
	Violations Violations `json:"violations"`
}

func newStats() Stats {
	return Stats{ByError: make(map[string]int), Violations: Violations{ByKind: make(map[string]int)}}
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Stats = s.Counted.Clone(s.limiter.Stats())
	st.ByError = maps.Clone(st.ByError)
	st.Violations.ByKind = maps.Clone(st.Violations.ByKind)
	st.Violations.Details = slices.Clone(st.Violations.Details)
	st.Sockets = len(s.sockets)
	return st
}

func (s *Server) recordViolation(kind, method, channel, detail string) {
	v := Violation{At: time.Now(), Kind: kind, Method: method, Channel: channel, Detail: detail}
	s.stats.Violations.ByKind[kind]++
	s.stats.Violations.Details = append(s.stats.Violations.Details, v)
	s.Publish("violation", Event{Channel: channel, Violation: &v})
}
