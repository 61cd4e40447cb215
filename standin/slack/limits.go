package slack

import (
	"math"
	"time"

	"telex/standin/quota"
)

// Limits are the rate limits that Slack enforces per app and workspace. A zero field means the published value, or in
// Options.Hidden no limit. A negative field disables the limit.
//
// The tiers are from https://docs.slack.dev/apis/web-api/rate-limits. Slack's page about rate limits allows one message
// per second and channel, with short bursts, and several hundred messages per minute in the workspace. Slack's
// documentation states neither the length of the bursts nor the exact maximum of messages.
type Limits struct {
	// Tier1 to Tier4 are the numbers of calls per minute that are allowed for each method in that tier.
	Tier1 int `json:"tier1"`
	Tier2 int `json:"tier2"`
	Tier3 int `json:"tier3"`
	Tier4 int `json:"tier4"`
	// PostPerSecond and PostBurst define a token bucket per channel, for chat.postMessage.
	PostPerSecond float64 `json:"post_per_second"`
	PostBurst     int     `json:"post_burst"`
	// PostPerMinute limits chat.postMessage in the whole workspace.
	PostPerMinute int `json:"post_per_minute"`
	// StatusPerMinute limits assistant.threads.setStatus.
	StatusPerMinute int `json:"status_per_minute"`
	// Methods contains the numbers of calls per minute that are allowed for single methods, by the methods' names. The
	// limit of a method in Methods replaces the limit of the method's tier.
	Methods map[string]int `json:"methods"`
	// Jitter is the time by which a call may arrive too early, because the network delays some calls of a correct client
	// more than others. The default of Jitter is 20 ms.
	Jitter time.Duration `json:"jitter"`
	// MinRetryAfter is the minimum Retry-After of a 429 in seconds. The default of MinRetryAfter is 1.
	MinRetryAfter int `json:"min_retry_after"`
}

// PublishedLimits are the limits that Slack publishes.
func PublishedLimits() Limits {
	return Limits{
		Tier1: 1, Tier2: 20, Tier3: 50, Tier4: 100,
		PostPerSecond: 1, PostBurst: 3, PostPerMinute: 300, StatusPerMinute: 600,
		Jitter: 20 * time.Millisecond, MinRetryAfter: 1,
	}
}

// NoLimits disables every limit.
func NoLimits() Limits {
	return Limits{Tier1: -1, Tier2: -1, Tier3: -1, Tier4: -1, PostPerSecond: -1, PostBurst: -1, PostPerMinute: -1, StatusPerMinute: -1}
}

// perMinute returns how often a client may call a method per minute. A number of 0 or less means that there is no
// limit.
func (l Limits) perMinute(method string) int {
	if n, ok := l.Methods[method]; ok {
		return n
	}
	switch methods()[method].tier {
	case tier1:
		return l.Tier1
	case tier2:
		return l.Tier2
	case tier3:
		return l.Tier3
	case tier4:
		return l.Tier4
	case tierPost:
		return l.PostPerMinute
	case tierStatus:
		return l.StatusPerMinute
	}
	return 0
}

// limiter counts calls. Server.mu guards it.
type limiter struct{ quota.Scopes[Limits] }

// effectiveLimits replaces zero fields with their defaults.
func effectiveLimits(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// method returns the scope of a method in the whole workspace.
func (l *limiter) method(name string) *quota.Scope {
	return l.Scope(name, func(lim Limits) quota.Meter {
		return quota.NewWindow(lim.perMinute(name), time.Minute)
	})
}

// post returns the scope of chat.postMessage in a channel.
func (l *limiter) post(channel string) *quota.Scope {
	return l.Scope(methodPost+":"+channel, func(lim Limits) quota.Meter {
		return quota.NewBucket(lim.PostPerSecond, lim.PostBurst)
	})
}

// seconds returns the Retry-After for a wait: whole seconds, rounded up, and at least MinRetryAfter.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.Limits().MinRetryAfter, 1)
}

// SetLimits replaces the published and the hidden limits. SetLimits resets the counters, and unblocks all scopes.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(effectiveLimits(published, hidden))
	s.limiter.Open()
}

// checkBlocked returns a 429 while a scope is blocked by an earlier 429.
func (s *Server) checkBlocked(now time.Time, sc *quota.Scope, call *Call) *apiError {
	r := s.limiter.Closed(now, sc)
	if r == nil {
		return nil
	}
	s.recordViolation(BlockedCall, call.Method, call.Channel, r.String())
	return tooMany(s.limiter.seconds(r.Wait))
}

// charge counts a call in its scope. If the call exceeds the limit of the scope, charge refuses it with 429 and blocks
// the scope.
func (s *Server) charge(now time.Time, sc *quota.Scope, call *Call) {
	if aerr := s.checkBlocked(now, sc, call); aerr != nil {
		panic(aerr)
	}
	r := s.limiter.Charge(now, sc)
	if r == nil {
		return
	}
	if !r.Hidden {
		s.recordViolation(OverLimit, call.Method, call.Channel, r.String())
	}
	panic(s.block(now, sc, s.limiter.seconds(r.Wait)))
}

// block blocks a scope for retryAfter seconds.
func (s *Server) block(now time.Time, sc *quota.Scope, retryAfter int) *apiError {
	sc.Close(now.Add(time.Duration(retryAfter)*time.Second), "")
	return tooMany(retryAfter)
}
