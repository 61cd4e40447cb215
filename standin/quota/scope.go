package quota

import (
	"fmt"
	"reflect"
	"time"
)

// Scope is one thing that is limited, such as a chat.
type Scope struct {
	Name string
	// Reason is what the 429 said that closed the scope.
	Reason string

	built             bool  // the meters are.
	published, hidden Meter // nil: no limit.
	jitter            time.Duration
	closed            time.Time // until when, by a 429.
	stats             Stats
}

// Published is the meter of the limit that the platform publishes; nil for none.
func (s *Scope) Published() Meter { return s.published }

// Wait is how long until one more call fits into the published limit, and into the hidden one.
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

// Close answers a call with 429: the scope is closed until then, unless it is closed for longer.
func (s *Scope) Close(until time.Time, reason string) {
	if until.After(s.closed) {
		s.closed, s.Reason = until, reason
	}
	s.stats.TooManyRequests++
}

// Refusal is why a call does not fit into a scope.
type Refusal struct {
	*Scope
	Wait time.Duration
	// Closed tells that a 429 closed the scope before; Hidden that only the hidden limit is reached.
	Closed, Hidden bool
}

func (r *Refusal) String() string {
	how := "full"
	if r.Closed {
		how = "closed"
	}
	return fmt.Sprintf("%s is %s for another %v", r.Name, how, r.Wait)
}

// Scopes are all scopes of a stand-in under its limits: those that the platform publishes and those it hides.
type Scopes[L any] struct {
	published, hidden L
	jitter            time.Duration
	scopes            map[string]*Scope
}

// NewScopes returns scopes in which nothing was counted. A call may come too early by jitter.
func NewScopes[L any](published, hidden L, jitter time.Duration) Scopes[L] {
	return Scopes[L]{published: published, hidden: hidden, jitter: jitter, scopes: make(map[string]*Scope)}
}

// Limits are the published limits.
func (s *Scopes[L]) Limits() L { return s.published }

// Scope returns the scope of that name. build makes its meters when nothing was counted in it yet.
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

// Renew replaces the limits: what was counted is forgotten, what is closed stays so.
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

// Closed is the refusal of a call in scopes of which a 429 has closed one; nil while all are open.
func (s *Scopes[L]) Closed(now time.Time, scopes ...*Scope) *Refusal {
	for _, sc := range scopes {
		if left := sc.closed.Sub(now); left > 0 {
			return &Refusal{Scope: sc, Wait: left, Closed: true}
		}
	}
	return nil
}

// Charge counts a call in scopes, or returns why it is refused: then it is counted in none.
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

// Stats returns the counters of the scopes that have any, by name.
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
	// Counted are the calls that counted against the limit.
	Counted int `json:"counted"`
	// TooManyRequests are the 429s that closed the scope.
	TooManyRequests int `json:"too_many_requests"`
}

// Fill is limits with the fields of d in place of those that are zero.
func Fill[L any](limits, d L) L {
	to, from := reflect.ValueOf(&limits).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		if f := to.Field(i); f.IsZero() {
			f.Set(from.Field(i))
		}
	}
	return limits
}
