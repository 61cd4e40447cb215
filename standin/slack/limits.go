package slack

import (
	"fmt"
	"maps"
	"math"
	"time"
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

// NoLimits switches every limit off.
func NoLimits() Limits {
	return Limits{Tier1: -1, Tier2: -1, Tier3: -1, Tier4: -1, PostPerSecond: -1, PostBurst: -1, PostPerMinute: -1, StatusPerMinute: -1}
}

// orElse fills the fields that are zero from d.
func (l Limits) orElse(d Limits) Limits {
	l.Tier1, l.Tier2 = orElse(l.Tier1, d.Tier1), orElse(l.Tier2, d.Tier2)
	l.Tier3, l.Tier4 = orElse(l.Tier3, d.Tier3), orElse(l.Tier4, d.Tier4)
	l.PostPerSecond = orElse(l.PostPerSecond, d.PostPerSecond)
	l.PostBurst = orElse(l.PostBurst, d.PostBurst)
	l.PostPerMinute = orElse(l.PostPerMinute, d.PostPerMinute)
	l.StatusPerMinute = orElse(l.StatusPerMinute, d.StatusPerMinute)
	l.Jitter = orElse(l.Jitter, d.Jitter)
	l.MinRetryAfter = orElse(l.MinRetryAfter, d.MinRetryAfter)
	l.Methods = maps.Clone(l.Methods)
	return l
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

// window allows size calls in any minute.
type window struct {
	size   int
	jitter time.Duration
	times  []time.Time // at most size, oldest first.
}

func (w *window) wait(now time.Time) time.Duration {
	if len(w.times) < w.size {
		return 0
	}
	if d := w.times[0].Add(time.Minute).Sub(now); d > w.jitter {
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

// scope is one thing that is limited: a method, or posting to a channel.
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

// method is the scope of a method in the whole workspace.
func (l *limiter) method(name string) *scope {
	return l.scope(name, func(lim Limits) meter {
		size := lim.perMinute(name)
		if size <= 0 {
			return nil
		}
		return &window{size: size, jitter: max(0, lim.Jitter)}
	})
}

// post is the scope of chat.postMessage in a channel.
func (l *limiter) post(channel string) *scope {
	return l.scope(methodPost+":"+channel, func(lim Limits) meter {
		if lim.PostPerSecond <= 0 {
			return nil
		}
		return &bucket{
			interval: time.Duration(float64(time.Second) / lim.PostPerSecond),
			burst:    max(1, lim.PostBurst),
			jitter:   max(0, lim.Jitter),
		}
	})
}

func (l *limiter) scope(name string, build func(Limits) meter) *scope {
	if sc, ok := l.scopes[name]; ok {
		return sc
	}
	sc := &scope{name: name, published: build(l.published), hidden: build(l.hidden)}
	l.scopes[name] = sc
	return sc
}

// seconds rounds a wait up to what Retry-After can say.
func (l *limiter) seconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), l.published.MinRetryAfter, 1)
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten,
// and so are blocked windows.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter = newLimiter(published, hidden)
}

// checkBlocked answers 429 while a scope is blocked: the client was told to wait
// and does not.
func (s *Server) checkBlocked(now time.Time, sc *scope, call *Call) *apiError {
	if !sc.blocked.After(now) {
		return nil
	}
	left := sc.blocked.Sub(now)
	s.violate(BlockedCall, call.Method, call.Channel, fmt.Sprintf("%s is blocked for another %v", sc.name, left))
	return tooMany(s.limiter.seconds(left))
}

// charge counts a call in its scope, or answers 429 and blocks the scope when it
// is full.
func (s *Server) charge(now time.Time, sc *scope, call *Call) *apiError {
	if aerr := s.checkBlocked(now, sc, call); aerr != nil {
		return aerr
	}
	wait := time.Duration(0)
	if sc.published != nil {
		if wait = sc.published.wait(now); wait > 0 {
			s.violate(OverLimit, call.Method, call.Channel, fmt.Sprintf("%s is full for another %v", sc.name, wait))
		}
	}
	if sc.hidden != nil {
		wait = max(wait, sc.hidden.wait(now))
	}
	if wait > 0 {
		return s.block(now, sc, s.limiter.seconds(wait))
	}
	if sc.published != nil {
		sc.published.take(now)
	}
	if sc.hidden != nil {
		sc.hidden.take(now)
	}
	s.stats.scope(sc.name).Counted++
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
