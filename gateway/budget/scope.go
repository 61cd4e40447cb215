package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// scopeKey identifies a scope. Fields that don't apply to the scope are empty.
type scopeKey struct {
	scope   chat.Scope
	chat    chat.ChatID
	thread  chat.ThreadID
	message chat.MessageID
}

// scope is the state of one message, one thread, one chat or the endpoint.
type scope struct {
	blocks     []block // one block for each set of kinds of calls that the platform has refused
	meters     []*meter
	allowances []*allowance
	queued     int // number of waiting tickets
	running    int // number of running calls
}

// key returns the key of the scope of kind s in which call c counts. In three cases, the function key returns the key
// of the chat instead: if s is ScopeMessage and c creates a message, if s is ScopeThread and no limit counts per
// thread, and if s is an unknown scope.
func key(s chat.Scope, c chat.Call) scopeKey {
	switch {
	case s == chat.ScopeThread && countsPerThread(c):
		return scopeKey{scope: s, chat: c.To.Chat, thread: c.To.Thread}
	case s == chat.ScopeMessage && c.Message != "":
		return scopeKey{scope: s, chat: c.To.Chat, message: c.Message}
	case s == chat.ScopeEndpoint:
		return scopeKey{scope: s}
	default:
		return scopeKey{scope: chat.ScopeChat, chat: c.To.Chat}
	}
}

// keys returns the keys of all scopes in which call c counts, the widest scope first.
func keys(c chat.Call) []scopeKey {
	ks := append(make([]scopeKey, 0, 4), key(chat.ScopeEndpoint, c), key(chat.ScopeChat, c))
	if countsPerThread(c) {
		ks = append(ks, key(chat.ScopeThread, c))
	}
	if c.Message != "" {
		ks = append(ks, key(chat.ScopeMessage, c))
	}
	return ks
}

// countsPerThread reports whether a limit of c counts per thread.
func countsPerThread(c chat.Call) bool {
	return slices.ContainsFunc(c.Limits, func(l chat.Limit) bool { return l.Scope == chat.ScopeThread })
}

// scope returns the scope with key k, creating it on first use.
func (b *Budget) scope(k scopeKey) *scope {
	s := b.scopes[k]
	if s == nil {
		s = &scope{}
		b.scopes[k] = s
	}
	return s
}

// meter returns the meter of l, creating it on first use.
func (b *Budget) meter(s *scope, l chat.Limit) *meter {
	for _, m := range s.meters {
		if m.limit == l {
			return m
		}
	}
	part, pace := b.part(l)
	m := newMeter(l, s, part, pace)
	s.meters = append(s.meters, m)
	return m
}

// wait returns how long ticket t must wait because of this scope's blocks, and because of the limits that the platform
// has reported for this scope.
func (s *scope) wait(t *Ticket, now time.Time) time.Duration {
	d := s.blockedUntil(t.call.Op).Sub(now)
	for _, a := range s.allowances {
		if a.ops&t.call.Op != 0 {
			d = max(d, a.wait(t.headroom(a.limit, now), now))
		}
	}
	return d
}

// idle reports whether the scope can be removed, because its state no longer affects any call.
func (s *scope) idle(now time.Time) bool {
	return s.queued+s.running == 0 && now.Sub(s.blockedUntil(chat.OpAll)) > blockMemory &&
		!slices.ContainsFunc(s.meters, func(m *meter) bool { return !m.idle(now) }) &&
		!slices.ContainsFunc(s.allowances, func(a *allowance) bool { return now.Before(a.until) })
}
