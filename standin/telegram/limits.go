package telegram

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"telex/standin/quota"
)

// Limits are the rates that the platform enforces on calls that show something:
// sends, edits and drafts count alike. A field that is zero takes the published
// value (in Options.Hidden: no limit), a negative one switches its limit off.
//
// Sources: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
// for the numbers; that edits in groups count like messages is a statement of
// TDLib's maintainers; that bursts in private chats are tolerated is in the FAQ,
// how long they may be is not.
type Limits struct {
	// PrivatePerSecond and PrivateBurst are a token bucket per private chat.
	PrivatePerSecond float64 `json:"private_per_second"`
	PrivateBurst     int     `json:"private_burst"`
	// GroupPerMinute counts in a sliding window of a minute per group.
	GroupPerMinute int `json:"group_per_minute"`
	// GlobalPerSecond counts in a sliding window of a second over all chats.
	GlobalPerSecond int `json:"global_per_second"`
	// Jitter is how much too early a call may come: what the network between a
	// correct client and the platform shifts. Published: 20 ms.
	Jitter time.Duration `json:"jitter"`
	// MinRetryAfter is the least retry_after of a 429, in seconds. Published: 1;
	// real groups see 18 to 35.
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

// NoLimits switches every limit off.
func NoLimits() Limits {
	return Limits{PrivatePerSecond: -1, PrivateBurst: -1, GroupPerMinute: -1, GlobalPerSecond: -1}
}

// orElse fills the fields that are zero from d.
func (l Limits) orElse(d Limits) Limits {
	l.PrivatePerSecond = cmp.Or(l.PrivatePerSecond, d.PrivatePerSecond)
	l.PrivateBurst = cmp.Or(l.PrivateBurst, d.PrivateBurst)
	l.GroupPerMinute = cmp.Or(l.GroupPerMinute, d.GroupPerMinute)
	l.GlobalPerSecond = cmp.Or(l.GlobalPerSecond, d.GlobalPerSecond)
	l.Jitter = cmp.Or(l.Jitter, d.Jitter)
	l.MinRetryAfter = cmp.Or(l.MinRetryAfter, d.MinRetryAfter)
	return l
}

// limiter is guarded by Server.mu.
type limiter struct{ quota.Scopes[Limits] }

func newLimiter(published, hidden Limits) limiter {
	return limiter{quota.NewScopes(enforced(published, hidden))}
}

// enforced fills in what limits leave open.
func enforced(published, hidden Limits) (Limits, Limits) {
	published = published.orElse(PublishedLimits())
	hidden = hidden.orElse(NoLimits())
	hidden.Jitter = published.Jitter
	return published, hidden
}

const globalScope = "global"

func chatScope(id int64) string { return fmt.Sprintf("chat:%d", id) }

func (l *limiter) global() *quota.Scope {
	return l.Scope(globalScope, func(lim Limits) quota.Meter {
		return quota.NewWindow(lim.GlobalPerSecond, time.Second, lim.Jitter)
	})
}

func (l *limiter) chat(c *chat) *quota.Scope {
	return l.Scope(chatScope(c.info.ID), func(lim Limits) quota.Meter {
		if !c.private() {
			return quota.NewWindow(lim.GroupPerMinute, time.Minute, lim.Jitter)
		}
		return quota.NewBucket(lim.PrivatePerSecond, lim.PrivateBurst, lim.Jitter)
	})
}

// seconds rounds a wait up to what retry_after can say.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.Published().MinRetryAfter, 1)
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten,
// blocked windows stay.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(enforced(published, hidden))
}

// checkBlocked answers 429 while a scope of the chat is blocked: the client was
// told to wait and does not.
func (s *Server) checkBlocked(now time.Time, c *chat, call *Call) *apiError {
	for _, sc := range []*quota.Scope{s.limiter.global(), s.limiter.chat(c)} {
		if left := sc.Closed(now); left > 0 {
			s.violate(now, BlockedCall, call, fmt.Sprintf("%s is blocked for another %v", sc.Name, left))
			return tooMany(s.limiter.seconds(left))
		}
	}
	return nil
}

// charge counts a call that shows something in its scopes, or answers 429 and
// blocks the scope that is full.
func (s *Server) charge(now time.Time, c *chat, call *Call) *apiError {
	scopes := []*quota.Scope{s.limiter.global(), s.limiter.chat(c)}
	for _, sc := range scopes {
		published, hidden := sc.Wait(now)
		if published > 0 {
			s.violate(now, OverLimit, call, fmt.Sprintf("%s is full for another %v", sc.Name, published))
		}
		if wait := max(published, hidden); wait > 0 {
			return s.block(now, sc, s.limiter.seconds(wait))
		}
	}
	for _, sc := range scopes {
		sc.Take(now)
		quota.Of(s.Counted.Scopes, sc.Name).Counted++
	}
	return nil
}

// block closes a scope until retryAfter seconds are over.
func (s *Server) block(now time.Time, sc *quota.Scope, retryAfter int) *apiError {
	sc.Close(now.Add(time.Duration(retryAfter) * time.Second))
	quota.Of(s.Counted.Scopes, sc.Name).TooManyRequests++
	return tooMany(retryAfter)
}
