package homeassistant

import (
	"maps"
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// UnknownService is a call of a service that does not exist.
	UnknownService = "unknown_service"
	// UnknownCommand is a command that does not exist. UnknownPath is a REST call with a route or HTTP method that
	// does not exist.
	UnknownCommand = "unknown_command"
	UnknownPath    = "unknown_path"
	// UnknownEntity is a service call for an entity that does not exist or belongs to another domain.
	UnknownEntity = "unknown_entity"
	// UnknownSubscription is an attempt to end a subscription that the socket does not have.
	UnknownSubscription = "unknown_subscription"
	// DoubleSubscription is a second subscription to the same events on one socket. Each event of such a subscription then
	// arrives twice.
	DoubleSubscription = "double_subscription"
	// BadFormat is a call with missing, wrong or unknown fields, or a malformed frame.
	BadFormat = "bad_format"
	// IDReuse is a command whose id is not greater than the previous id on the socket.
	IDReuse = "id_reuse"
	// BadAuth is a wrong token while the bot's token is valid, or a first message that is not an auth message.
	BadAuth = "bad_auth"
	// LateFeatures is a command supported_features that is not the first command.
	LateFeatures = "late_features"
	// SlowReader is a client that reads so slowly that the server closes its socket.
	SlowReader = "slow_reader"
	// ForeignNotification is an attempt to overwrite or dismiss a notification that the bot did not create.
	ForeignNotification = "foreign_notification"
)

// Violation is an action of a client that Home Assistant refuses, or that Home Assistant's documentation asks clients
// to avoid.
type Violation struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Method string    `json:"method,omitempty"`
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
	// ByError counts the errors: errors on a socket by their code, and errors of REST calls by their text.
	ByError map[string]int `json:"by_error"`
	// Notifications counts new notifications. Edits counts how often the bot overwrote a notification, and
	// Dismissed how often the bot removed one. NotModified counts the edits that changed nothing.
	Notifications int `json:"notifications"`
	Edits         int `json:"edits"`
	NotModified   int `json:"not_modified"`
	Dismissed     int `json:"dismissed"`
	// StateChanges counts the changes of states. Events counts all fired events.
	StateChanges int `json:"state_changes"`
	Events       int `json:"events"`
	FailedLogins int `json:"failed_logins"`
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
	st.Stats = s.Counted.Clone(nil)
	st.ByError = maps.Clone(st.ByError)
	st.Violations.ByKind = maps.Clone(st.Violations.ByKind)
	st.Violations.Details = slices.Clone(st.Violations.Details)
	st.Sockets = len(s.sockets)
	return st
}

// recordViolation records a violation. The caller holds s.mu.
func (s *Server) recordViolation(kind, method, detail string) {
	v := Violation{At: time.Now(), Kind: kind, Method: method, Detail: detail}
	s.stats.Violations.ByKind[kind]++
	s.stats.Violations.Details = append(s.stats.Violations.Details, v)
	s.Publish("violation", Event{Violation: &v})
}
