package quota

import (
	"fmt"
	"reflect"
	"time"
)

// Scope is a set of calls that a limit counts together, such as the calls to one chat.
type Scope struct {
	Name string
	// Reason is the text of the last 429 that closed the scope. A closed scope refuses all calls for a time.
	Reason string

	built             bool  // Scopes.Scope has created the meters
	published, hidden Meter // nil: no limit
	jitter            time.Duration
	closed            time.Time // until this time, the scope is closed because of a 429
	stats             Stats
}

// Published returns the meter of the published limit, or nil if no limit is published.
func (s *Scope) Published() Meter { return s.published }

// Wait returns how long the client must wait before its next call: under the published limit, and under the hidden
// limit.
func (s *Scope) Wait(now time.Time) (published, hidden time.Duration) {
	wait := func(m Meter) time.Duration {
		if m == nil {
			return 0
		}
		if d := m.Wait(now); d > s.jitter {
			return d
		}
		return 0
	}
	return wait(s.published), wait(s.hidden)
}

// Take counts a call.
func (s *Scope) Take(now time.Time) {
	for _, m := range []Meter{s.published, s.hidden} {
		if m != nil {
			m.Take(now)
		}
	}
	s.stats.Counted++
}

// Close closes the scope after a 429 until the given time. If the scope is already closed until a later time, it stays
// closed until that time.
func (s *Scope) Close(until time.Time, reason string) {
	if until.After(s.closed) {
		s.closed, s.Reason = until, reason
	}
	s.stats.TooManyRequests++
}

// Refusal describes why a scope refuses a call.
type Refusal struct {
	*Scope
	Wait time.Duration
	// Closed means that an earlier 429 closed the scope. Hidden means that the call exceeds only the hidden limit.
	Closed, Hidden bool
}

func (r *Refusal) String() string {
	how := "full"
	if r.Closed {
		how = "closed"
	}
	return fmt.Sprintf("%s is %s for another %v", r.Name, how, r.Wait)
}

// Scopes are all scopes of a stand-in, with their published and hidden limits.
type Scopes[L any] struct {
	published, hidden L
	jitter            time.Duration
	scopes            map[string]*Scope
}

// NewScopes returns scopes in which no calls are counted yet. A call that arrives too early by at most the duration
// jitter is still allowed.
func NewScopes[L any](published, hidden L, jitter time.Duration) Scopes[L] {
	return Scopes[L]{published: published, hidden: hidden, jitter: jitter, scopes: make(map[string]*Scope)}
}

// Limits returns the published limits.
func (s *Scopes[L]) Limits() L { return s.published }

// Scope returns the scope with a name. At the first use of the scope, Scope calls the function build to create the
// scope's meters.
func (s *Scopes[L]) Scope(name string, build func(L) Meter) *Scope {
	sc := s.scopes[name]
	if sc == nil {
		sc = &Scope{Name: name}
		s.scopes[name] = sc
	}
	if !sc.built {
		sc.built, sc.published, sc.hidden, sc.jitter = true, build(s.published), build(s.hidden), max(0, s.jitter)
	}
	return sc
}

// Renew replaces the limits. Renew forgets the calls counted so far, but closed scopes stay closed.
func (s *Scopes[L]) Renew(published, hidden L, jitter time.Duration) {
	s.published, s.hidden, s.jitter = published, hidden, jitter
	for _, sc := range s.scopes {
		sc.built = false
	}
}

// Open opens every scope that a 429 closed.
func (s *Scopes[L]) Open() {
	for _, sc := range s.scopes {
		sc.closed = time.Time{}
	}
}

// Closed returns the refusal of a call if a 429 has closed one of the scopes, or nil.
func (s *Scopes[L]) Closed(now time.Time, scopes ...*Scope) *Refusal {
	for _, sc := range scopes {
		if left := sc.closed.Sub(now); left > 0 {
			return &Refusal{Scope: sc, Wait: left, Closed: true}
		}
	}
	return nil
}

// Charge counts a call in all scopes. If one of the scopes refuses the call, Charge counts the call in none of them and
// returns the reason.
func (s *Scopes[L]) Charge(now time.Time, scopes ...*Scope) *Refusal {
	for _, sc := range scopes {
		published, hidden := sc.Wait(now)
		if wait := max(published, hidden); wait > 0 {
			return &Refusal{Scope: sc, Wait: wait, Hidden: published == 0}
		}
	}
	for _, sc := range scopes {
		sc.Take(now)
	}
	return nil
}

// Stats returns the counters by the scopes' names, without scopes whose counters are all 0.
func (s *Scopes[L]) Stats() map[string]Stats {
	list := make(map[string]Stats)
	for name, sc := range s.scopes {
		if sc.stats != (Stats{}) {
			list[name] = sc.stats
		}
	}
	return list
}

// Stats are the counters of one scope.
type Stats struct {
	// Counted is the number of calls that the limit has counted.
	Counted int `json:"counted"`
	// TooManyRequests is the number of 429s that closed the scope.
	TooManyRequests int `json:"too_many_requests"`
}

// Fill returns limits, in which each field that is zero gets the value of the same field of d.
func Fill[L any](limits, d L) L {
	to, from := reflect.ValueOf(&limits).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		if f := to.Field(i); f.IsZero() {
			f.Set(from.Field(i))
		}
	}
	return limits
}
