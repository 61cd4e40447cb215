package whatsapp

import (
	"strings"
	"time"

	"telex/standin/quota"
)

// coexistencePerSecond is the number of messages per second for a number that is also used in the WhatsApp Business
// app. Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
const coexistencePerSecond = 20

// Limits are the rate limits that the stand-in enforces. A zero field means the published value, or in Options.Hidden
// no limit. A negative field disables the limit.
type Limits struct {
	// PerSecond limits the messages per second that the number sends and receives together. The server counts messages
	// that people send, but never refuses such messages. Source:
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
	PerSecond int `json:"per_second"`
	// PairInterval is the average minimum time between messages to one person. PairBurst is the number of messages that
	// the business may send without waiting for PairInterval. WhatsApp documents the error for too many messages to one
	// person, but not the numbers, which are from secondary sources.
	PairInterval time.Duration `json:"pair_interval"`
	PairBurst    int           `json:"pair_burst"`
	// PairWindow, if positive, is the time within which the business must send all messages of a burst. After PairWindow,
	// the business must wait PairInterval for each message of the burst before it sends another message. Secondary sources
	// describe the rule about PairWindow with a window of 6 seconds. 0 means that a burst may take any time, as in a token
	// bucket.
	PairWindow time.Duration `json:"pair_window"`
	// AccountPerHour limits the requests per hour that concern the number or media. Source:
	// https://developers.facebook.com/docs/graph-api/overview/rate-limiting#whatsapp-business-management-api
	AccountPerHour int `json:"account_per_hour"`
	// Jitter is the time by which a call may arrive too early, because the network delays some calls of a correct client
	// more than others. The default of Jitter is 20 ms.
	Jitter time.Duration `json:"jitter"`
}

// PublishedLimits returns the limits that WhatsApp publishes.
func PublishedLimits() Limits {
	return Limits{PerSecond: 80, PairInterval: 6 * time.Second, PairBurst: 45, AccountPerHour: 5000, Jitter: 20 * time.Millisecond}
}

// NoLimits disables every limit.
func NoLimits() Limits {
	return Limits{PerSecond: -1, PairInterval: -1, PairBurst: -1, AccountPerHour: -1}
}

// pair returns the meter of the messages to one person.
func (l Limits) pair() quota.Meter {
	if l.PairInterval <= 0 || l.PairBurst <= 0 {
		return nil
	}
	if l.PairWindow > 0 {
		return &burstLimiter{limits: l}
	}
	return quota.NewBucket(1/l.PairInterval.Seconds(), l.PairBurst)
}

// burstLimiter allows a burst of messages without a wait. After the burst, burstLimiter allows no message until
// PairInterval has passed for each message of the burst.
type burstLimiter struct {
	limits    Limits
	began     time.Time // the start of the burst
	count     int       // messages in the burst
	nextBurst time.Time // earliest start of the next burst
}

// Wait returns how long the business must wait before its next message.
func (m *burstLimiter) Wait(now time.Time) time.Duration {
	if now.Sub(m.began) < m.limits.PairWindow && m.count < m.limits.PairBurst {
		return 0
	}
	return max(0, m.nextBurst.Sub(now))
}

// Take counts a message.
func (m *burstLimiter) Take(now time.Time) {
	if !m.nextBurst.After(now) {
		m.began, m.count, m.nextBurst = now, 0, now
	}
	m.count++
	m.nextBurst = m.nextBurst.Add(m.limits.PairInterval)
}

// Names of scopes. The name of the scope of the messages to one person is pairScope followed by the person's id.
const (
	numberScope  = "number"
	accountScope = "account"
	pairScope    = "pair:"
)

// limiter counts calls. Server.mu guards it.
type limiter struct{ quota.Scopes[Limits] }

// effectiveLimits replaces zero fields with their defaults.
func effectiveLimits(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// throughput returns the scope of all messages of the number.
func (l *limiter) throughput() *quota.Scope {
	return l.Scope(numberScope, func(lim Limits) quota.Meter { return quota.NewWindow(lim.PerSecond, time.Second) })
}

// pair returns the scope of the messages to a person.
func (l *limiter) pair(user string) *quota.Scope {
	return l.Scope(pairScope+user, Limits.pair)
}

// account returns the scope of requests about the number and about media.
func (l *limiter) account() *quota.Scope {
	return l.Scope(accountScope, func(lim Limits) quota.Meter { return quota.NewWindow(lim.AccountPerHour, time.Hour) })
}

// SetLimits replaces the published and the hidden limits. SetLimits resets the counters, and unblocks scopes that a
// fault has blocked.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(effectiveLimits(published, hidden))
	s.limiter.Open()
}

// charge counts a call in scopes. charge refuses the call if the call exceeds the limit of a scope, or if a fault has
// blocked a scope. The error of the refused call has the code that belongs to the limit of the scope.
func (s *Server) charge(r *request, scopes ...*quota.Scope) {
	refusal := s.limiter.Closed(r.now, scopes...)
	if refusal == nil {
		refusal = s.limiter.Charge(r.now, scopes...)
	}
	if refusal == nil {
		return
	}
	// WhatsApp does not tell clients how long a scope is blocked. Because a client can't know the end of the block, a
	// call in a blocked scope does not count as a violation.
	if !refusal.Closed && !refusal.Hidden {
		s.recordViolation(OverLimit, r.call.Method, r.call.User, refusal.String())
	}
	panic(fail(limitCode(refusal.Name), ""))
}

// limitCode returns the error code of a call that exceeds the limit of a scope.
func limitCode(scope string) int {
	switch {
	case strings.HasPrefix(scope, pairScope):
		return CodePair
	case scope == accountScope:
		return CodeAccountCalls
	}
	return CodeThroughput
}
