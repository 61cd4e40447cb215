package slack

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
	// BlockedCall is a call in a scope that a 429 had blocked.
	BlockedCall = "blocked_call"
	// LateAck is an acknowledgement that comes more than three seconds after its envelope, over the socket of the
	// envelope.
	LateAck = "late_ack"
	// BadAck is a message on a socket that acknowledges nothing.
	BadAck = "bad_ack"
	// Truncated is a text that the platform cut.
	Truncated = "truncated"
	// ReplyAsThread is a thread_ts that names a reply instead of the thread's parent.
	ReplyAsThread = "reply_as_thread"
)

// Violation is an action of a client that the platform punishes, or that its documentation asks clients not to do.
type Violation struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Detail  string    `json:"detail"`
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
	// ByError counts responses with ok=false.
	ByError map[string]int `json:"by_error"`
	// Messages, Edits, Deletes, Streams and Appends count the bot's calls that took effect.
	Messages int `json:"messages"`
	Edits    int `json:"edits"`
	Deletes  int `json:"deletes"`
	Streams  int `json:"streams"`
	Appends  int `json:"appends"`
	// NotModified counts edits that changed nothing.
	NotModified int `json:"not_modified"`
	// Deliveries counts attempts to deliver to the app, and Redelivered the attempts that repeat an earlier one. Lost
	// counts deliveries that were given up, and Pending those in progress.
	Deliveries  int `json:"deliveries"`
	Redelivered int `json:"redelivered"`
	Lost        int `json:"lost"`
	Pending     int `json:"pending"`
	// Sockets is the number of open sockets, and Opened the number of all sockets so far.
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
