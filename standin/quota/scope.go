package quota

import "time"

// Scope is one thing that is limited, such as a chat.
type Scope struct {
	Name              string
	built             bool      // the meters are.
	published, hidden Meter     // nil: no limit.
	closed            time.Time // until when, by a 429.
}

// Wait is how long until one more call fits into the published limit, and into the hidden one.
func (s *Scope) Wait(now time.Time) (published, hidden time.Duration) {
	if s.published != nil {
		published = s.published.Wait(now)
	}
	if s.hidden != nil {
		hidden = s.hidden.Wait(now)
	}
	return published, hidden
}

// Take counts a call.
func (s *Scope) Take(now time.Time) {
	if s.published != nil {
		s.published.Take(now)
	}
	if s.hidden != nil {
		s.hidden.Take(now)
	}
}

// Close closes the scope until then, unless it is closed for longer.
func (s *Scope) Close(until time.Time) {
	if until.After(s.closed) {
		s.closed = until
	}
}

// Closed is how long the scope is still closed.
func (s *Scope) Closed(now time.Time) time.Duration { return max(0, s.closed.Sub(now)) }

// Scopes are all scopes of a stand-in under its limits: those that the platform publishes and those it hides.
type Scopes[L any] struct {
	published, hidden L
	scopes            map[string]*Scope
}

// NewScopes returns scopes in which nothing was counted.
func NewScopes[L any](published, hidden L) Scopes[L] {
	return Scopes[L]{published: published, hidden: hidden, scopes: make(map[string]*Scope)}
}

// Published are the limits that the platform publishes.
func (s *Scopes[L]) Published() L { return s.published }

// Scope returns the scope of that name. build makes its meters when nothing was counted in it yet.
func (s *Scopes[L]) Scope(name string, build func(L) Meter) *Scope {
	sc := s.scopes[name]
	if sc == nil {
		sc = &Scope{Name: name}
		s.scopes[name] = sc
	}
	if !sc.built {
		sc.built, sc.published, sc.hidden = true, build(s.published), build(s.hidden)
	}
	return sc
}

// Renew replaces the limits: what was counted is forgotten, what is closed stays so.
func (s *Scopes[L]) Renew(published, hidden L) {
	s.published, s.hidden = published, hidden
	for _, sc := range s.scopes {
		sc.built = false
	}
}
