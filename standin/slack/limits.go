package slack

import (
	"math"
	"time"

	"telex/standin/quota"
)

// Limits are the rates that the platform enforces per app and workspace. A field
// that is zero takes the published value (in Options.Hidden: no limit), a
// negative one switches its limit off.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits for the tiers and "one
// message per second per channel", with short bursts and a ceiling of several
// hundred a minute; how long the bursts may be and what the ceiling is, is not said.
type Limits struct {
	// Tier1 to Tier4 are calls a minute of each method in that tier.
	Tier1 int `json:"tier1"`
	Tier2 int `json:"tier2"`
	Tier3 int `json:"tier3"`
	Tier4 int `json:"tier4"`
	// PostPerSecond and PostBurst are a token bucket per channel, for chat.postMessage.
	PostPerSecond float64 `json:"post_per_second"`
	PostBurst     int     `json:"post_burst"`
	// PostPerMinute is what chat.postMessage may do in the workspace.
	PostPerMinute int `json:"post_per_minute"`
	// StatusPerMinute is for assistant.threads.setStatus.
	StatusPerMinute int `json:"status_per_minute"`
	// Methods are calls a minute of single methods, in place of their tier.
	Methods map[string]int `json:"methods"`
	// Jitter is how much too early a call may come: what the network between a
	// correct client and the platform shifts. Published: 20 ms.
	Jitter time.Duration `json:"jitter"`
	// MinRetryAfter is the least Retry-After of a 429, in seconds. Published: 1.
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

// perMinute is how often a method may be called; not positive: without limit.
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

// enforced replaces zero fields with their defaults.
func enforced(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// method is the scope of a method in the whole workspace.
func (l *limiter) method(name string) *quota.Scope {
	return l.Scope(name, func(lim Limits) quota.Meter {
		return quota.NewWindow(lim.perMinute(name), time.Minute)
	})
}

// post is the scope of chat.postMessage in a channel.
func (l *limiter) post(channel string) *quota.Scope {
	return l.Scope(methodPost+":"+channel, func(lim Limits) quota.Meter {
		return quota.NewBucket(lim.PostPerSecond, lim.PostBurst)
	})
}

// seconds rounds a wait up to what Retry-After can say.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.Limits().MinRetryAfter, 1)
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten,
// and so are blocked windows.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(enforced(published, hidden))
	s.limiter.Open()
}

// checkBlocked answers 429 while a scope is blocked: the client was told to wait
// and does not.
func (s *Server) checkBlocked(now time.Time, sc *quota.Scope, call *Call) *apiError {
	r := s.limiter.Closed(now, sc)
	if r == nil {
		return nil
	}
	s.violate(BlockedCall, call.Method, call.Channel, r.String())
	return tooMany(s.limiter.seconds(r.Wait))
}

// charge counts a call in its scope, or answers 429 and blocks the scope when it
// is full.
func (s *Server) charge(now time.Time, sc *quota.Scope, call *Call) {
	if aerr := s.checkBlocked(now, sc, call); aerr != nil {
		panic(aerr)
	}
	r := s.limiter.Charge(now, sc)
	if r == nil {
		return
	}
	if !r.Hidden {
		s.violate(OverLimit, call.Method, call.Channel, r.String())
	}
	panic(s.block(now, sc, s.limiter.seconds(r.Wait)))
}

// block closes a scope until retryAfter seconds are over.
func (s *Server) block(now time.Time, sc *quota.Scope, retryAfter int) *apiError {
	sc.Close(now.Add(time.Duration(retryAfter)*time.Second), "")
	return tooMany(retryAfter)
}
