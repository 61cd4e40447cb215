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

// limiter is guarded by Server.mu.
type limiter struct{ quota.Scopes[Limits] }

// enforced fills in what limits leave open.
func enforced(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// scope finds the bucket of a kind for a resource, "" for the bot as a whole.
func (l *limiter) scope(kind, resource string) *quota.Scope {
	name := kind
	if resource != "" {
		name += ":" + resource
	}
	return l.Scope(name, func(lim Limits) quota.Meter { return quota.NewFixed(lim.bucketOf(kind)) })
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten, closed buckets stay closed.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(enforced(published, hidden))
}

// charge counts a call in its buckets, whatever will come of it, or answers 429 and closes the one that is
// full. Interactions are outside of the global limit.
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
		s.violate(r.now, OverLimit, r.call, full.String())
	}
	panic(block(r.now, full.Scope, full.Wait, kind))
}

// checkBlocked answers 429 while a bucket is closed, of which the client was told.
func (s *Server) checkBlocked(now time.Time, sc *quota.Scope, call *Call) *apiError {
	closed := s.limiter.Closed(now, sc)
	if closed == nil || closed.Wait <= s.limiter.Limits().Jitter {
		return nil
	}
	s.violate(now, BlockedCall, call, closed.String())
	return tooMany(closed.Wait, sc.Reason)
}

// block closes a bucket for a time.
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

// seconds are those of d, rounded up to milliseconds.
func seconds(d time.Duration) float64 { return math.Ceil(d.Seconds()*1000) / 1000 }

// headers tell the state of the call's bucket. What a hidden limit does they don't show.
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
	s.limiter.scope(bucketInvalid, "").Take(now)
}

// banned is the answer of what stands in front of the API to an address that sent too much nonsense; nil
// while it lets requests through.
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
