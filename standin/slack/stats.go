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
	// BlockedCall is a call in a scope that a 429 had closed.
	BlockedCall = "blocked_call"
	// LateAck is an acknowledgement that came after its three seconds, on a socket that
	// lived all the time.
	LateAck = "late_ack"
	// BadAck is what came over a socket and acknowledges nothing.
	BadAck = "bad_ack"
	// Truncated is a text that the platform cut.
	Truncated = "truncated"
	// ReplyAsThread is a thread_ts that is a reply's, not its parent's.
	ReplyAsThread = "reply_as_thread"
)

// Violation is something a client did that the platform punishes, or that its
// documentation asks not to do.
type Violation struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Detail  string    `json:"detail"`
}

// Violations count by kind; a good client has none.
type Violations struct {
	ByKind  map[string]int `json:"by_kind,omitempty"`
	Details []Violation    `json:"details,omitempty"`
}

// Total returns the number of violations of all kinds.
func (v Violations) Total() int { return len(v.Details) }

// Stats holds the counters since the start or the last Reset.
type Stats struct {
	rig.Stats
	// ByError counts answers with ok=false.
	ByError map[string]int `json:"by_error"`
	// Messages, Edits, Deletes, Streams and Appends are the bot's and took effect.
	Messages int `json:"messages"`
	Edits    int `json:"edits"`
	Deletes  int `json:"deletes"`
	Streams  int `json:"streams"`
	Appends  int `json:"appends"`
	// NotModified are edits that changed nothing.
	NotModified int `json:"not_modified"`
	// Deliveries are attempts to bring something to the app, Redelivered those of them
	// that repeat an earlier one. Lost is what was given up, Pending is under way.
	Deliveries  int `json:"deliveries"`
	Redelivered int `json:"redelivered"`
	Lost        int `json:"lost"`
	Pending     int `json:"pending"`
	// Sockets are open now, Opened were so far.
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

func (s *Server) violate(kind, method, channel, detail string) {
	v := Violation{At: time.Now(), Kind: kind, Method: method, Channel: channel, Detail: detail}
	s.stats.Violations.ByKind[kind]++
	s.stats.Violations.Details = append(s.stats.Violations.Details, v)
	s.Publish("violation", Event{Channel: channel, Violation: &v})
}
