package rig

import (
	"maps"

	"telex/standin/quota"
)

// Stats are the counters that all platforms have in common. The counters count from the start of the stand-in or from
// the last Reset. The Stats type of each platform embeds this struct.
type Stats struct {
	Calls    int            `json:"calls"`
	ByMethod map[string]int `json:"by_method"`
	// ByStatus counts answers by HTTP status; 0 counts dropped connections.
	ByStatus map[int]int `json:"by_status"`
	// TooManyRequests counts all answers with status 429. Forced counts the answers with status 429 that a fault
	// caused.
	TooManyRequests int `json:"too_many_requests"`
	Forced          int `json:"forced_too_many_requests"`
	// Scopes are the counters of the limited scopes, by name.
	Scopes map[string]quota.Stats `json:"scopes"`
}

func newStats() Stats {
	return Stats{ByMethod: make(map[string]int), ByStatus: make(map[int]int)}
}

// Clone returns an independent copy of the counters, with Scopes set to scopes.
func (s Stats) Clone(scopes map[string]quota.Stats) Stats {
	s.ByMethod, s.ByStatus, s.Scopes = maps.Clone(s.ByMethod), maps.Clone(s.ByStatus), scopes
	return s
}
