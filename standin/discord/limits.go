package discord

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// Limits are the rates that the platform enforces. A field that is zero takes the published value (in
// Options.Hidden: no limit), a negative one switches its limit off.
//
// The platform publishes the form and the global limit, and tells everything else in the headers of its
// answers: https://docs.discord.com/developers/topics/rate-limits. The numbers of the buckets are what
// bots observe; that sends and edits share theirs is a remark of its staff,
// https://github.com/discord/discord-api-docs/issues/20.
type Limits struct {
	// Messages are sends and edits together, in 5 s in a channel. Published: 5.
	Messages int `json:"messages"`
	// Deletes are deletions in 1 s in a channel. Assumed: 5.
	Deletes int `json:"deletes"`
	// Typing are typing indicators in 5 s in a channel. Assumed: 5.
	Typing int `json:"typing"`
	// Reads are calls that change nothing, in 1 s in a channel or guild. Assumed: 10.
	Reads int `json:"reads"`
	// Others are all calls that have no bucket of their own, in 20 s. Assumed: 10.
	Others int `json:"others"`
	// Webhook are edits and follow-ups in 5 s with the token of one interaction. Assumed: 5.
	Webhook int `json:"webhook"`
	// Global counts all calls in a second but those of interactions. Published: 50.
	Global int `json:"global"`
	// OldEdits are edits in an hour, in a channel, of messages older than an hour, which no header tells.
	// The number is a secret, https://github.com/discord/discord-api-docs/issues/4413. Assumed: 30.
	OldEdits int `json:"old_edits"`
	// Invalid are answers 401, 403 and 429 in 10 minutes; beyond it nobody gets in. Published: 10,000.
	Invalid int `json:"invalid"`
	// Sessions are identifies in 24 hours. Published: 1,000.
	Sessions int `json:"sessions"`
	// Jitter is how much too early a call may come: what the network between a correct client and the
	// platform shifts. Assumed: 20 ms.
	Jitter time.Duration `json:"jitter"`
}

// PublishedLimits are the limits that Discord publishes, or is seen to have.
func PublishedLimits() Limits {
	return Limits{
		Messages: 5, Deletes: 5, Typing: 5, Reads: 10, Others: 10, Webhook: 5, Global: 50,
		OldEdits: 30, Invalid: 10_000, Sessions: 1000, Jitter: 20 * time.Millisecond,
	}
}

// NoLimits switches every limit off.
func NoLimits() Limits {
	return Limits{
		Messages: -1, Deletes: -1, Typing: -1, Reads: -1, Others: -1, Webhook: -1, Global: -1,
		OldEdits: -1, Invalid: -1, Sessions: -1,
	}
}

// orElse fills the fields that are zero from d.
func (l Limits) orElse(d Limits) Limits {
	return Limits{
		Messages: cmp.Or(l.Messages, d.Messages), Deletes: cmp.Or(l.Deletes, d.Deletes), Typing: cmp.Or(l.Typing, d.Typing),
		Reads: cmp.Or(l.Reads, d.Reads), Others: cmp.Or(l.Others, d.Others), Webhook: cmp.Or(l.Webhook, d.Webhook),
		Global: cmp.Or(l.Global, d.Global), OldEdits: cmp.Or(l.OldEdits, d.OldEdits), Invalid: cmp.Or(l.Invalid, d.Invalid),
		Sessions: cmp.Or(l.Sessions, d.Sessions), Jitter: cmp.Or(l.Jitter, d.Jitter),
	}
}

// Kinds of buckets. Each is split by the channel, guild, or interaction token in the path.
const (
	bucketNone     = "" // calls that only the global limit counts, or none.
	bucketMessages = "messages"
	bucketDeletes  = "deletes"
	bucketTyping   = "typing"
	bucketReads    = "reads"
	bucketOthers   = "others"
	bucketWebhook  = "webhook"
)

// bucketOf is how many calls a bucket takes in which time; not positive means without end.
func (l Limits) bucketOf(kind string) (limit int, period time.Duration) {
	switch kind {
	case bucketMessages:
		return l.Messages, 5 * time.Second
	case bucketDeletes:
		return l.Deletes, time.Second
	case bucketTyping:
		return l.Typing, 5 * time.Second
	case bucketReads:
		return l.Reads, time.Second
	case bucketOthers:
		return l.Others, 20 * time.Second
	case bucketWebhook:
		return l.Webhook, 5 * time.Second
	case bucketGlobal:
		return l.Global, time.Second
	case bucketOldEdits:
		return l.OldEdits, time.Hour
	case bucketSessions:
		return l.Sessions, 24 * time.Hour
	case bucketInvalid:
		return l.Invalid, 10 * time.Minute
	}
	return -1, time.Second
}

// Buckets that no route names.
const (
	bucketGlobal   = "global"
	bucketOldEdits = "old_edits"
	bucketInvalid  = "invalid"
	bucketSessions = "sessions"
)

// Scopes of a 429.
const (
	scopeUser   = "user"
	scopeGlobal = "global"
	scopeShared = "shared"
)

// window counts the calls of a bucket from the first one until period is over.
type window struct {
	limit  int // not positive: without end.
	period time.Duration
	jitter time.Duration
	ends   time.Time
	used   int
}

// wait is how long until one more call fits.
func (w *window) wait(now time.Time) time.Duration {
	if w.limit <= 0 || w.used < w.limit {
		return 0
	}
	if left := w.ends.Sub(now); left > w.jitter {
		return left
	}
	return 0
}

func (w *window) take(now time.Time) {
	if w.ends.Sub(now) <= 0 || (w.limit > 0 && w.used >= w.limit) {
		w.ends, w.used = now.Add(w.period), 0
	}
	w.used++
}

// scope is one thing that is limited.
type scope struct {
	name, kind        string
	published, hidden window
	blocked           time.Time
	blockedScope      string // what the 429 said that closed it.
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

// scope finds the bucket of a kind for a resource, "" for the bot as a whole.
func (l *limiter) scope(kind, resource string) *scope {
	name := kind
	if resource != "" {
		name += ":" + resource
	}
	if sc, ok := l.scopes[name]; ok {
		return sc
	}
	sc := &scope{name: name, kind: kind}
	build := func(lim Limits) window {
		limit, period := lim.bucketOf(kind)
		return window{limit: limit, period: period, jitter: max(0, lim.Jitter)}
	}
	sc.published, sc.hidden = build(l.published), build(l.hidden)
	l.scopes[name] = sc
	return sc
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten, closed buckets stay closed.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.limiter.scopes
	s.limiter = newLimiter(published, hidden)
	for name, sc := range old {
		fresh := &scope{name: name, kind: sc.kind, blocked: sc.blocked, blockedScope: sc.blockedScope}
		for _, set := range []struct {
			to  *window
			lim Limits
		}{{&fresh.published, s.limiter.published}, {&fresh.hidden, s.limiter.hidden}} {
			limit, period := set.lim.bucketOf(sc.kind)
			*set.to = window{limit: limit, period: period, jitter: max(0, set.lim.Jitter)}
		}
		s.limiter.scopes[name] = fresh
	}
}

// charge counts a call in its buckets, whatever will come of it, or answers 429 and closes the one that is
// full. Interactions are outside of the global limit.
func (s *Server) charge(r *request) *apiError {
	var scopes []*scope
	if !r.route.interaction {
		scopes = append(scopes, s.limiter.scope(bucketGlobal, ""))
	}
	if r.bucket != nil {
		scopes = append(scopes, r.bucket)
	}
	for _, sc := range scopes {
		if left := sc.blocked.Sub(r.now); left > s.limiter.published.Jitter {
			s.violate(r.now, BlockedCall, r.call, fmt.Sprintf("%s is closed for another %v", sc.name, left))
			return tooMany(left, sc.blockedScope)
		}
	}
	for _, sc := range scopes {
		if wait := sc.published.wait(r.now); wait > 0 {
			s.violate(r.now, OverLimit, r.call, fmt.Sprintf("%s is full for another %v", sc.name, wait))
			return s.block(r.now, sc, wait, sc.ownScope())
		}
		if wait := sc.hidden.wait(r.now); wait > 0 {
			kind := scopeShared
			if sc.kind == bucketGlobal {
				kind = scopeGlobal
			}
			return s.block(r.now, sc, wait, kind)
		}
	}
	for _, sc := range scopes {
		sc.published.take(r.now)
		sc.hidden.take(r.now)
		quota.Of(s.Counted.Scopes, sc.name).Counted++
	}
	return nil
}

func (sc *scope) ownScope() string {
	if sc.kind == bucketGlobal {
		return scopeGlobal
	}
	return scopeUser
}

// block closes a bucket for a time.
func (s *Server) block(now time.Time, sc *scope, wait time.Duration, kind string) *apiError {
	if until := now.Add(wait); until.After(sc.blocked) {
		sc.blocked, sc.blockedScope = until, kind
	}
	quota.Of(s.Counted.Scopes, sc.name).TooManyRequests++
	return tooMany(wait, kind)
}

func tooMany(wait time.Duration, kind string) *apiError {
	message := "You are being rate limited."
	if kind == scopeShared {
		message = "The resource is being rate limited."
	}
	e := fail(http.StatusTooManyRequests, 0, message)
	e.limit = &rateLimited{retryAfter: seconds(wait), scope: kind}
	return e
}

// seconds are those of d, rounded up to milliseconds.
func seconds(d time.Duration) float64 { return math.Ceil(d.Seconds()*1000) / 1000 }

// headers tell the state of the call's bucket. What a hidden limit does they don't show.
func (sc *scope) headers(now time.Time, h http.Header) {
	w := &sc.published
	if w.limit <= 0 {
		return
	}
	left, used := max(0, w.ends.Sub(now)), w.used
	if left == 0 {
		left, used = w.period, 0
	}
	resets := now.Add(left)
	h.Set("X-RateLimit-Limit", strconv.Itoa(w.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, w.limit-used)))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(resets.UnixMilli())/1000, 'f', 3, 64))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(seconds(left), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", bucketHash(sc.kind))
}

// bucketHash looks like the platform's name of a bucket, which has no resource in it.
func bucketHash(kind string) string {
	const prime, offset = 1099511628211, 14695981039346656037
	h := uint64(offset)
	for _, c := range []byte(kind) {
		h = (h ^ uint64(c)) * prime
	}
	return fmt.Sprintf("%016x%016x", h, h*prime)
}

// countInvalid counts an answer that the platform takes for a sign of abuse.
// Source: https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
func (s *Server) countInvalid(now time.Time, a rig.Answer) {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
	case http.StatusTooManyRequests:
		if a.Header.Get("X-RateLimit-Scope") == scopeShared {
			return
		}
	default:
		return
	}
	s.stats.InvalidRequests++
	s.limiter.scope(bucketInvalid, "").published.take(now)
}

// banned is the answer of what stands in front of the API to an address that sent too much nonsense; nil
// while it lets requests through.
func (s *Server) banned(now time.Time) *rig.Answer {
	wait := s.limiter.scope(bucketInvalid, "").published.wait(now)
	if wait <= 0 {
		return nil
	}
	return &rig.Answer{
		Status: http.StatusTooManyRequests, ContentType: "text/plain; charset=UTF-8", RetryAfter: seconds(wait),
		Body: []byte("error code: 1015"),
	}
}
