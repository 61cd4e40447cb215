package whatsapp

import (
	"strings"
	"time"

	"telex/standin/quota"
)

// coexistencePerSecond is the throughput of a number that is also used in the WhatsApp Business app.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
const coexistencePerSecond = 20

// Limits are the rates that the platform enforces. A zero field means the published value (in
// Options.Hidden: no limit), and a negative field disables the limit.
type Limits struct {
	// PerSecond is how many messages the number may send and receive. What people write counts, but is never refused.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
	PerSecond int `json:"per_second"`
	// PairInterval is how far apart the messages to one person are on average, and PairBurst is how many may be sent
	// ahead of that. The error is documented, but the numbers come from secondary sources.
	PairInterval time.Duration `json:"pair_interval"`
	PairBurst    int           `json:"pair_burst"`
	// PairWindow, if positive, is the time in which a burst must be sent: after it, nothing may be sent until each of
	// its messages has waited for PairInterval. Secondary sources describe this rule with 6 seconds, too. 0: a burst
	// may be spread, as in a token bucket.
	PairWindow time.Duration `json:"pair_window"`
	// AccountPerHour is how often the number and media may be looked up.
	// Source: https://developers.facebook.com/docs/graph-api/overview/rate-limiting#whatsapp-business-management-api
	AccountPerHour int `json:"account_per_hour"`
	// Jitter is how much too early a call may arrive, because the network changes the distances between calls.
	// Published: 20 ms.
	Jitter time.Duration `json:"jitter"`
}

// PublishedLimits are the limits that WhatsApp publishes.
func PublishedLimits() Limits {
	return Limits{PerSecond: 80, PairInterval: 6 * time.Second, PairBurst: 45, AccountPerHour: 5000, Jitter: 20 * time.Millisecond}
}

// NoLimits disables every limit.
func NoLimits() Limits {
	return Limits{PerSecond: -1, PairInterval: -1, PairBurst: -1, AccountPerHour: -1}
}

// pair is the meter of the messages to one person.
func (l Limits) pair() quota.Meter {
	if l.PairInterval <= 0 || l.PairBurst <= 0 {
		return nil
	}
	if l.PairWindow > 0 {
		return &loan{limits: l}
	}
	return quota.NewBucket(1/l.PairInterval.Seconds(), l.PairBurst)
}

// loan lets a burst borrow from the time after it.
type loan struct {
	limits Limits
	began  time.Time // the burst.
	count  int       // of its messages.
	repaid time.Time // when the next burst may begin.
}

// Wait is how long until one more message fits.
func (m *loan) Wait(now time.Time) time.Duration {
	if now.Sub(m.began) < m.limits.PairWindow && m.count < m.limits.PairBurst {
		return 0
	}
	return max(0, m.repaid.Sub(now))
}

// Take counts a message.
func (m *loan) Take(now time.Time) {
	if !m.repaid.After(now) {
		m.began, m.count, m.repaid = now, 0, now
	}
	m.count++
	m.repaid = m.repaid.Add(m.limits.PairInterval)
}

// Names of scopes; that of a pair is followed by the person's id.
const (
	numberScope  = "number"
	accountScope = "account"
	pairScope    = "pair:"
)

// limiter counts calls. Server.mu guards it.
type limiter struct{ quota.Scopes[Limits] }

// enforced replaces zero fields with their defaults.
func enforced(published, hidden Limits) (Limits, Limits, time.Duration) {
	published = quota.Fill(published, PublishedLimits())
	return published, quota.Fill(hidden, NoLimits()), published.Jitter
}

// throughput is the scope of all messages of the number.
func (l *limiter) throughput() *quota.Scope {
	return l.Scope(numberScope, func(lim Limits) quota.Meter { return quota.NewWindow(lim.PerSecond, time.Second) })
}

// pair is the scope of the messages to a person.
func (l *limiter) pair(user string) *quota.Scope {
	return l.Scope(pairScope+user, Limits.pair)
}

// account is the scope of what looks things up.
func (l *limiter) account() *quota.Scope {
	return l.Scope(accountScope, func(lim Limits) quota.Meter { return quota.NewWindow(lim.AccountPerHour, time.Hour) })
}

// SetLimits replaces both sets of limits; what was counted so far is forgotten, and what a fault closed is open.
func (s *Server) SetLimits(published, hidden Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.Renew(enforced(published, hidden))
	s.limiter.Open()
}

// charge counts a call in scopes, or refuses it when one of them is full or a fault closed it. The code is that of the
// scope's limit.
func (s *Server) charge(r *request, scopes ...*quota.Scope) {
	refusal := s.limiter.Closed(r.now, scopes...)
	if refusal == nil {
		refusal = s.limiter.Charge(r.now, scopes...)
	}
	if refusal == nil {
		return
	}
	// A client is not told when a scope opens again, so calling before that is no violation.
	if !refusal.Closed && !refusal.Hidden {
		s.violate(OverLimit, r.call.Method, r.call.User, refusal.String())
	}
	panic(fail(limitCode(refusal.Name), ""))
}

// limitCode is the code with which a full scope refuses calls.
func limitCode(scope string) int {
	switch {
	case strings.HasPrefix(scope, pairScope):
		return CodePair
	case scope == accountScope:
		return CodeAccountCalls
	}
	return CodeThroughput
}
