package telegram

import (
	"fmt"
	"math"
	"time"

	"telex/standin/quota"
)

// Limits are the rate limits on calls that change what people see: each send, edit and draft counts as one call. A zero
// field means the published value, or in Options.Hidden no limit. A negative field disables the limit.
//
// The numbers are from https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this. TDLib's
// maintainers state that edits in groups count like messages. According to the FAQ, Telegram tolerates bursts in
// private chats, but Telegram does not publish the length of these bursts.
type Limits struct {
	// PrivatePerSecond and PrivateBurst define a token bucket per private chat.
	PrivatePerSecond float64 `json:"private_per_second"`
	PrivateBurst     int     `json:"private_burst"`
	// GroupPerMinute is the number of calls to a group that are allowed in any minute.
	GroupPerMinute int `json:"group_per_minute"`
	// GlobalPerSecond is the number of calls to all chats together that are allowed in any second.
	GlobalPerSecond int `json:"global_per_second"`
	// Jitter is the time by which a call may arrive too early, because the network delays some calls of a correct client
	// more than others. The default of Jitter is 20 ms.
	Jitter time.Duration `json:"jitter"`
	// MinRetryAfter is the minimum retry_after of a 429 in seconds. The default of MinRetryAfter is 1. In real groups,
	// retry_after is 18 to 35 seconds.
	MinRetryAfter int `json:"min_retry_after"`
}

// PublishedLimits are the limits that Telegram publishes.
func PublishedLimits() Limits {
	return Limits{
		PrivatePerSecond: 1, PrivateBurst: 3,
		GroupPerMinute: 20, GlobalPerSecond: 30,
		Jitter: 20 * time.Millisecond, MinRetryAfter: 1,
	}
}

// NoLimits disables every limit.
func NoLimits() Limits {
	return Limits{PrivatePerSecond: -1, PrivateBurst: -1, GroupPerMinute: -1, GlobalPerSecond: -1}
}

// limiter counts calls. Server.mu guards it.
type limiter struct{ quota.Scopes[Limits] }

// effectiveLimits replaces zero fields with their defaults.
func effectiveLimits(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

const globalScope = "global"

func chatScope(id int64) string { return fmt.Sprintf("chat:%d", id) }

func (l *limiter) global() *quota.Scope {
	return l.Scope(globalScope, func(lim Limits) quota.Meter {
		return quota.NewWindow(lim.GlobalPerSecond, time.Second)
	})
}

func (l *limiter) chat(c *chat) *quota.Scope {
	return l.Scope(chatScope(c.info.ID), func(lim Limits) quota.Meter {
		if !c.private() {
			return quota.NewWindow(lim.GroupPerMinute, time.Minute)
		}
		return quota.NewBucket(lim.PrivatePerSecond, lim.PrivateBurst)
	})
}

// seconds returns the retry_after for a wait: whole seconds, rounded up, and at least MinRetryAfter.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.Limits().MinRetryAfter, 1)
}

// SetLimits replaces the published and the hidden limits. SetLimits resets the counters, but blocked scopes stay
// blocked.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(effectiveLimits(published, hidden))
}

// checkBlocked returns a 429 while a scope of the chat is blocked by an earlier 429.
func (s *Server) checkBlocked(now time.Time, c *chat, call *Call) *apiError {
	r := s.limiter.Closed(now, s.limiter.global(), s.limiter.chat(c))
	if r == nil {
		return nil
	}
	s.recordViolation(now, BlockedCall, call, r.String())
	return tooMany(s.limiter.seconds(r.Wait))
}

// charge counts a call in two scopes: its chat, and all chats together. If the call exceeds the limit of a scope,
// charge refuses it with 429 and blocks that scope.
func (s *Server) charge(now time.Time, c *chat, call *Call) {
	if call.late {
		return
	}
	r := s.limiter.Charge(now, s.limiter.global(), s.limiter.chat(c))
	if r == nil {
		return
	}
	if !r.Hidden {
		s.recordViolation(now, OverLimit, call, r.String())
	}
	panic(s.block(now, r.Scope, s.limiter.seconds(r.Wait)))
}

// block blocks a scope for retryAfter seconds.
func (s *Server) block(now time.Time, sc *quota.Scope, retryAfter int) *apiError {
	sc.Close(now.Add(time.Duration(retryAfter)*time.Second), "")
	return tooMany(retryAfter)
}
