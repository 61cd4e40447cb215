package telegram

import (
	"fmt"
	"math"
	"time"
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
	l.PrivatePerSecond = orElse(l.PrivatePerSecond, d.PrivatePerSecond)
	l.PrivateBurst = orElse(l.PrivateBurst, d.PrivateBurst)
	l.GroupPerMinute = orElse(l.GroupPerMinute, d.GroupPerMinute)
	l.GlobalPerSecond = orElse(l.GlobalPerSecond, d.GlobalPerSecond)
	l.Jitter = orElse(l.Jitter, d.Jitter)
	l.MinRetryAfter = orElse(l.MinRetryAfter, d.MinRetryAfter)
	return l
}

func orElse[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// meter says how long until one more call fits.
type meter interface {
	wait(now time.Time) time.Duration
	take(now time.Time)
}

// bucket is a token bucket, kept as the time at which it is full again.
type bucket struct {
	interval time.Duration
	burst    int
	jitter   time.Duration
	full     time.Time
}

func (b *bucket) wait(now time.Time) time.Duration {
	earliest := b.full.Add(-time.Duration(b.burst-1) * b.interval)
	if d := earliest.Sub(now); d > b.jitter {
		return d
	}
	return 0
}

func (b *bucket) take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
}

// window allows size calls in any span of length period.
type window struct {
	size   int
	period time.Duration
	jitter time.Duration
	times  []time.Time // at most size, oldest first.
}

func (w *window) wait(now time.Time) time.Duration {
	if len(w.times) < w.size {
		return 0
	}
	if d := w.times[0].Add(w.period).Sub(now); d > w.jitter {
		return d
	}
	return 0
}

func (w *window) take(now time.Time) {
	if len(w.times) >= w.size {
		w.times = append(w.times[:0], w.times[len(w.times)-w.size+1:]...)
	}
	w.times = append(w.times, now)
}

// scope is one thing that is limited: a chat, or the bot as a whole.
type scope struct {
	name              string
	published, hidden meter // nil: no limit.
	blocked           time.Time
}

// limiter is guarded by Server.mu.
type limiter struct {
	published, hidden Limits
	scopes            map[string]*scope
}

func newLimiter(published, hidden Limits) limiter {
	published = published.orElse(PublishedLimits())
	hidden = hidden.orElse(NoLimits())
	hidden.Jitter = published.Jitter
	return limiter{published: published, hidden: hidden, scopes: make(map[string]*scope)}
}

const globalScope = "global"

func chatScope(id int64) string { return fmt.Sprintf("chat:%d", id) }

func (l *limiter) global() *scope {
	return l.scope(globalScope, func(lim Limits) meter {
		return newWindow(lim.GlobalPerSecond, time.Second, lim.Jitter)
	})
}

func (l *limiter) chat(c *chat) *scope {
	return l.scope(chatScope(c.info.ID), func(lim Limits) meter {
		if !c.private() {
			return newWindow(lim.GroupPerMinute, time.Minute, lim.Jitter)
		}
		if lim.PrivatePerSecond <= 0 {
			return nil
		}
		return &bucket{
			interval: time.Duration(float64(time.Second) / lim.PrivatePerSecond),
			burst:    max(1, lim.PrivateBurst),
			jitter:   max(0, lim.Jitter),
		}
	})
}

func newWindow(size int, period, jitter time.Duration) meter {
	if size <= 0 {
		return nil
	}
	return &window{size: size, period: period, jitter: max(0, jitter)}
}

func (l *limiter) scope(name string, build func(Limits) meter) *scope {
	if sc, ok := l.scopes[name]; ok {
		return sc
	}
	sc := &scope{name: name, published: build(l.published), hidden: build(l.hidden)}
	l.scopes[name] = sc
	return sc
}

// seconds rounds a wait up to what retry_after can say.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.published.MinRetryAfter, 1)
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten,
// blocked windows stay.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.limiter.scopes
	s.limiter = newLimiter(published, hidden)
	now := time.Now()
	for name, sc := range old {
		if !sc.blocked.After(now) {
			continue
		}
		var fresh *scope
		if name == globalScope {
			fresh = s.limiter.global()
		} else {
			for _, c := range s.chats {
				if chatScope(c.info.ID) == name {
					fresh = s.limiter.chat(c)
				}
			}
		}
		if fresh != nil {
			fresh.blocked = sc.blocked
		}
	}
}

// checkBlocked answers 429 while a scope of the chat is blocked: the client was
// told to wait and does not.
func (s *Server) checkBlocked(now time.Time, c *chat, call *Call) *apiError {
	for _, sc := range []*scope{s.limiter.global(), s.limiter.chat(c)} {
		if sc.blocked.After(now) {
			left := sc.blocked.Sub(now)
			s.violate(now, BlockedCall, call, fmt.Sprintf("%s is blocked for another %v", sc.name, left))
			return tooMany(s.limiter.seconds(left))
		}
	}
	return nil
}

// charge counts a call that shows something in its scopes, or answers 429 and
// blocks the scope that is full.
func (s *Server) charge(now time.Time, c *chat, call *Call) *apiError {
	scopes := []*scope{s.limiter.global(), s.limiter.chat(c)}
	for _, sc := range scopes {
		wait := time.Duration(0)
		if sc.published != nil {
			if wait = sc.published.wait(now); wait > 0 {
				s.violate(now, OverLimit, call, fmt.Sprintf("%s is full for another %v", sc.name, wait))
			}
		}
		if sc.hidden != nil {
			wait = max(wait, sc.hidden.wait(now))
		}
		if wait > 0 {
			return s.block(now, sc, s.limiter.seconds(wait))
		}
	}
	for _, sc := range scopes {
		if sc.published != nil {
			sc.published.take(now)
		}
		if sc.hidden != nil {
			sc.hidden.take(now)
		}
		s.stats.scope(sc.name).Counted++
	}
	return nil
}

// block closes a scope until retryAfter seconds are over.
func (s *Server) block(now time.Time, sc *scope, retryAfter int) *apiError {
	if until := now.Add(time.Duration(retryAfter) * time.Second); until.After(sc.blocked) {
		sc.blocked = until
	}
	s.stats.scope(sc.name).TooManyRequests++
	return tooMany(retryAfter)
}
