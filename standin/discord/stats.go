package discord

import (
	"slices"
	"time"

	"telex/standin/rig"
)

// Kinds of violations.
const (
	// OverLimit is a call that exceeds a published limit.
	OverLimit = "over_limit"
	// BlockedCall is a call in a bucket that an earlier 429 had blocked.
	BlockedCall = "blocked_call"
	// LateInteraction is an interaction to which the bot did not respond within 3 seconds.
	LateInteraction = "late_interaction"
	// BadGateway is an error of a client on the gateway for which Discord closes the connection.
	BadGateway = "bad_gateway"
)

// Violation is an action of a client that Discord refuses or punishes, such as a call beyond a limit.
type Violation struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method"`
	Channel string    `json:"channel,omitempty"`
	Detail  string    `json:"detail"`
}

// Violations counts the violations. A correct client causes no violations.
type Violations struct {
	OverLimit        int         `json:"over_limit"`
	BlockedCalls     int         `json:"blocked_calls"`
	LateInteractions int         `json:"late_interactions"`
	BadGateway       int         `json:"bad_gateway"`
	Details          []Violation `json:"details,omitempty"`
}

// Total returns the number of violations of all kinds.
func (v Violations) Total() int {
	return v.OverLimit + v.BlockedCalls + v.LateInteractions + v.BadGateway
}

func (v *Violations) add(one Violation) {
	switch one.Kind {
	case OverLimit:
		v.OverLimit++
	case BlockedCall:
		v.BlockedCalls++
	case LateInteraction:
		v.LateInteractions++
	case BadGateway:
		v.BadGateway++
	}
	v.Details = append(v.Details, one)
}

// Stats contains the counters. The counters count from the start of the server or from the last Reset.
type Stats struct {
	rig.Stats
	// Messages, Edits, Deletes and Typings count the bot's calls that took effect.
	Messages int `json:"messages"`
	Edits    int `json:"edits"`
	Deletes  int `json:"deletes"`
	Typings  int `json:"typings"`
	// Deduplicated counts sends that returned an existing message because of their nonce.
	Deduplicated int `json:"deduplicated"`
	// InvalidRequests counts responses with status 401, 403 or 429, except those with scope shared.
	InvalidRequests int `json:"invalid_requests"`
	// Identifies and Resumes count the payloads Identify and Resume that succeeded. RefusedResumes counts the payloads
	// Resume that the gateway answered with Invalid Session.
	Identifies     int `json:"identifies"`
	Resumes        int `json:"resumes"`
	RefusedResumes int `json:"refused_resumes"`
	// ResumesElsewhere counts resumes for which the client did not use resume_gateway_url.
	ResumesElsewhere int `json:"resumes_elsewhere"`
	// Replayed counts events that a resume sent again.
	Replayed int `json:"replayed"`
	// Heartbeats counts the heartbeats of clients.
	Heartbeats int `json:"heartbeats"`
	// Connections is the number of open connections to the gateway.
	Connections int        `json:"connections"`
	Violations  Violations `json:"violations"`
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, now := s.stats, time.Now()
	st.Stats = s.Counted.Clone(s.limiter.Stats())
	st.Connections = len(s.sockets)
	st.Violations.Details = slices.Clone(st.Violations.Details)
	for _, i := range s.interactionList {
		if i.failed(now) {
			st.Violations.add(Violation{
				At: i.At.Add(responseTimeout), Kind: LateInteraction, Method: "callback", Channel: i.Channel,
				Detail: "interaction " + i.ID + " was not answered in time",
			})
		}
	}
	return st
}

// recordViolation records a violation. call is nil for a violation on the gateway.
func (s *Server) recordViolation(now time.Time, kind string, call *Call, detail string) {
	v := Violation{At: now, Kind: kind, Method: "gateway", Detail: detail}
	if call != nil {
		v.Method, v.Channel = call.Method, call.Channel
	}
	s.stats.Violations.add(v)
	s.Publish("violation", Event{Channel: v.Channel, Violation: &v})
}
