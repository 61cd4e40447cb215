package discord

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// Limits are the rate limits that the stand-in enforces. A zero field means the published value, or in Options.Hidden
// no limit. A negative field disables the limit.
//
// Discord publishes how its limits work, and the number of the global limit. Discord states all other numbers only in
// the headers of its responses: https://docs.discord.com/developers/topics/rate-limits. The numbers of calls per bucket
// in this struct are numbers that bots have observed. Discord's staff stated that sends and edits share a bucket:
// https://github.com/discord/discord-api-docs/issues/20.
type Limits struct {
	// Messages is the limit on sends and edits together, per 5 s and channel. Published: 5.
	Messages int `json:"messages"`
	// Deletes is the limit on deletions, per 1 s and channel. Assumed: 5.
	Deletes int `json:"deletes"`
	// Typing is the limit on typing indicators, per 5 s and channel. Assumed: 5.
	Typing int `json:"typing"`
	// Reads is the limit on calls that only read, per 1 s and channel or guild. Assumed: 10.
	Reads int `json:"reads"`
	// Others is the limit on all calls without a bucket of their own, per 20 s. Assumed: 10.
	Others int `json:"others"`
	// Webhook is the limit on edits and follow-ups, per 5 s and interaction token. Assumed: 5.
	Webhook int `json:"webhook"`
	// Global is the limit on all calls per second except those of interactions. Published: 50.
	Global int `json:"global"`
	// OldEdits is the limit on edits of messages older than an hour, per hour and channel. No response header states the
	// limit on these edits, and its number is undocumented: https://github.com/discord/discord-api-docs/issues/4413.
	// Assumed: 30.
	OldEdits int `json:"old_edits"`
	// Invalid is the number of responses with status 401, 403 or 429 that a client may get in 10 minutes. After more such
	// responses, all calls of the client are refused. Published: 10,000.
	Invalid int `json:"invalid"`
	// Sessions is the number of sessions that a client may start in 24 hours. Published: 1,000.
	Sessions int `json:"sessions"`
	// Jitter is the time by which a call may arrive too early, because the network delays some calls of a correct client
	// more than others. Assumed: 20 ms.
	Jitter time.Duration `json:"jitter"`
}

// PublishedLimits returns the limits that Discord publishes. For each limit without a published number, PublishedLimits
// returns the observed or assumed number that the comments on Limits give.
func PublishedLimits() Limits {
	return Limits{
		Messages: 5, Deletes: 5, Typing: 5, Reads: 10, Others: 10, Webhook: 5, Global: 50,
		OldEdits: 30, Invalid: 10_000, Sessions: 1000, Jitter: 20 * time.Millisecond,
	}
}

// NoLimits disables every limit.
func NoLimits() Limits {
	return Limits{
		Messages: -1, Deletes: -1, Typing: -1, Reads: -1, Others: -1, Webhook: -1, Global: -1,
		OldEdits: -1, Invalid: -1, Sessions: -1,
	}
}

// These are the kinds of buckets. Each kind has one bucket for each channel, guild or interaction token in a path.
const (
	bucketNone     = "" // for calls that are counted only by the global limit, or by no limit
	bucketMessages = "messages"
	bucketDeletes  = "deletes"
	bucketTyping   = "typing"
	bucketReads    = "reads"
	bucketOthers   = "others"
	bucketWebhook  = "webhook"
)

// bucketOf returns the number of calls that a bucket allows in each period. A number of 0 or less means that there is
// no limit.
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

// Buckets that count calls of several routes together.
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

// limiter counts calls. Server.mu guards it.
type limiter struct{ quota.Scopes[Limits] }

// effectiveLimits replaces zero fields with their defaults.
func effectiveLimits(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// scope returns the bucket of a kind for a resource, such as a channel. The resource "" stands for the whole bot.
func (l *limiter) scope(kind, resource string) *quota.Scope {
	name := kind
	if resource != "" {
		name += ":" + resource
	}
	return l.Scope(name, func(lim Limits) quota.Meter { return quota.NewFixed(lim.bucketOf(kind)) })
}

// SetLimits replaces the published and the hidden limits. SetLimits resets the counters, but blocked buckets stay
// blocked.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(effectiveLimits(published, hidden))
}

// charge counts a call in its buckets, even if the call fails later. If a bucket is full, charge refuses the call with
// 429 and blocks the bucket. The global limit does not count calls about interactions.
func (s *Server) charge(r *request) {
	var scopes []*quota.Scope
	if !r.route.interaction {
		scopes = append(scopes, s.limiter.scope(bucketGlobal, ""))
	}
	if r.bucket != nil {
		scopes = append(scopes, r.bucket)
	}
	for _, sc := range scopes {
		if aerr := s.checkBlocked(r.now, sc, r.call); aerr != nil {
			panic(aerr)
		}
	}
	full := s.limiter.Charge(r.now, scopes...)
	if full == nil {
		return
	}
	kind := scopeUser
	switch {
	case full.Name == bucketGlobal:
		kind = scopeGlobal
	case full.Hidden:
		kind = scopeShared
	}
	if !full.Hidden {
		s.recordViolation(r.now, OverLimit, r.call, full.String())
	}
	panic(block(r.now, full.Scope, full.Wait, kind))
}

// checkBlocked returns a 429 while a bucket is blocked by an earlier 429.
func (s *Server) checkBlocked(now time.Time, sc *quota.Scope, call *Call) *apiError {
	closed := s.limiter.Closed(now, sc)
	if closed == nil || closed.Wait <= s.limiter.Limits().Jitter {
		return nil
	}
	s.recordViolation(now, BlockedCall, call, closed.String())
	return tooMany(closed.Wait, sc.Reason)
}

// block blocks a bucket for a time.
func block(now time.Time, sc *quota.Scope, wait time.Duration, kind string) *apiError {
	sc.Close(now.Add(wait), kind)
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

// seconds returns d in seconds, rounded up to milliseconds.
func seconds(d time.Duration) float64 { return math.Ceil(d.Seconds()*1000) / 1000 }

// headers sets the response headers about the call's bucket. The headers don't show hidden limits.
func headers(now time.Time, sc *quota.Scope, h http.Header) {
	w, ok := sc.Published().(*quota.Fixed)
	if !ok {
		return
	}
	calls, ends := w.Left(now)
	ends = cmp.Or(ends, w.Period)
	kind, _, _ := strings.Cut(sc.Name, ":")
	h.Set("X-RateLimit-Limit", strconv.Itoa(w.Size))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(calls))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(now.Add(ends).UnixMilli())/1000, 'f', 3, 64))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(seconds(ends), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", bucketHash(kind))
}

// bucketHash returns the name of a kind of buckets for the response headers. As on Discord, all channels share this
// name.
func bucketHash(kind string) string {
	const prime, offset = 1099511628211, 14695981039346656037
	h := uint64(offset)
	for _, c := range []byte(kind) {
		h = (h ^ uint64(c)) * prime
	}
	return fmt.Sprintf("%016x%016x", h, h*prime)
}

// countInvalid counts a response that Discord considers a sign of abuse, such as a 401. Discord bans an address after
// too many such responses. Source:
// https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
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
	s.limiter.scope(bucketInvalid, "").Take(now)
}

// banned returns the response that the proxy in front of the API gives to a banned address. banned returns nil if the
// address is not banned.
func (s *Server) banned(now time.Time) *rig.Answer {
	wait, _ := s.limiter.scope(bucketInvalid, "").Wait(now)
	if wait <= 0 {
		return nil
	}
	return &rig.Answer{
		Status: http.StatusTooManyRequests, ContentType: "text/plain; charset=UTF-8", RetryAfter: seconds(wait),
		Body: []byte("error code: 1015"),
	}
}
