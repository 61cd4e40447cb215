package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// scopeKey names a scope. Fields that are wider than the scope are empty.
type scopeKey struct {
	scope   chat.Scope
	chat    chat.ChatID
	thread  chat.ThreadID
	message chat.MessageID
}

// scope is one message, one thread, one chat or the endpoint.
type scope struct {
	blocks     []block // a few: one for each set of kinds that was refused
	meters     []*meter
	allowances []*allowance
	queued     int // tickets that wait
	running    int // calls under way
}

// key returns the scope of kind s that c belongs to. The message of a create, which has none
// yet, stands for its chat, and so do a thread where no limit counts over one, and a scope that is
// not known.
func key(s chat.Scope, c chat.Call) scopeKey {
	switch {
	case s == chat.ScopeThread && threaded(c):
		return scopeKey{scope: s, chat: c.To.Chat, thread: c.To.Thread}
	case s == chat.ScopeMessage && c.Message != "":
		return scopeKey{scope: s, chat: c.To.Chat, message: c.Message}
	case s == chat.ScopeEndpoint:
		return scopeKey{scope: s}
	default:
		return scopeKey{scope: chat.ScopeChat, chat: c.To.Chat}
	}
}

// keys returns the scopes of c, widest first.
func keys(c chat.Call) []scopeKey {
	ks := append(make([]scopeKey, 0, 4), key(chat.ScopeEndpoint, c), key(chat.ScopeChat, c))
	if threaded(c) {
		ks = append(ks, key(chat.ScopeThread, c))
	}
	if c.Message != "" {
		ks = append(ks, key(chat.ScopeMessage, c))
	}
	return ks
}

// threaded says that a limit of c counts over one thread.
func threaded(c chat.Call) bool {
	return slices.ContainsFunc(c.Limits, func(l chat.Limit) bool { return l.Scope == chat.ScopeThread })
}

// scope returns the scope that k names, made on first use.
func (b *Budget) scope(k scopeKey) *scope {
	s := b.scopes[k]
	if s == nil {
		s = &scope{}
		b.scopes[k] = s
	}
	return s
}

// meter returns the meter of l, made on first use.
func (s *scope) meter(l chat.Limit) *meter {
	for _, m := range s.meters {
		if m.limit == l {
			return m
		}
	}
	m := newMeter(l, s)
	s.meters = append(s.meters, m)
	return m
}

// wait returns how long t has to wait for what the platform said of the scope.
func (s *scope) wait(t *Ticket, now time.Time) time.Duration {
	d := s.blockedUntil(t.call.Op).Sub(now)
	for _, a := range s.allowances {
		if a.ops&t.call.Op != 0 {
			d = max(d, a.wait(t.headroom(a.limit, now), now))
		}
	}
	return d
}

// idle says that forgetting the scope would change nothing that matters.
func (s *scope) idle(now time.Time) bool {
	return s.queued+s.running == 0 && now.Sub(s.blockedUntil(chat.OpAll)) > rememberBlock &&
		!slices.ContainsFunc(s.meters, func(m *meter) bool { return !m.idle(now) }) &&
		!slices.ContainsFunc(s.allowances, func(a *allowance) bool { return now.Before(a.until) })
}
