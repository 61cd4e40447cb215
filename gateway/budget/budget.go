package budget

import (
	"math"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// forever is a wait that only an event can end.
const forever = time.Duration(math.MaxInt64)

// sweepEvery is how many requests pass between two searches for scopes that can be forgotten.
const sweepEvery = 1024

// Budget arbitrates the calls to one endpoint. Its methods are safe for concurrent use and
// never block.
type Budget struct {
	mu       sync.Mutex
	scopes   map[scopeKey]*scope
	waiting  []*Ticket
	timer    *time.Timer // wakes the dispatcher; stopped when nobody waits
	requests uint64
}

type scopeKey struct {
	scope   chat.Scope
	chat    chat.ChatID
	message chat.MessageID
}

type scope struct {
	blocked time.Time // nothing is granted before
	meters  []*meter
}

// New returns a Budget with nothing spent.
func New() *Budget { return &Budget{scopes: make(map[scopeKey]*scope)} }

// Request queues a call and returns its ticket, which must be ended with Done or Cancel.
func (b *Budget) Request(c chat.Call) *Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	if b.requests%sweepEvery == 0 {
		b.sweep(time.Now())
	}
	t := &Ticket{budget: b, call: c, seq: b.requests, ready: make(chan struct{})}
	b.waiting = append(b.waiting, t)
	b.dispatch()
	return t
}

// Block records a refusal of c: nothing is granted in the scope for d from now on, and its
// rate is lowered. A scope of 0 stands for the chat.
func (b *Budget) Block(c chat.Call, s chat.Scope, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if s == 0 {
		s = chat.ScopeChat
	}
	sc := b.scope(key(s, c))
	if until := now.Add(d); until.After(sc.blocked) {
		sc.blocked = until
	}
	for _, l := range c.Limits {
		if l.Scope == s && l.Ops&c.Op != 0 {
			sc.meter(l).lower(now)
		}
	}
	b.dispatch()
}

// BlockedUntil returns when the last block that holds for c ends; the zero time without one.
func (b *Budget) BlockedUntil(c chat.Call) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var until time.Time
	for _, k := range keys(c) {
		if sc := b.scopes[k]; sc != nil && sc.blocked.After(until) && sc.blocked.After(time.Now()) {
			until = sc.blocked
		}
	}
	return until
}

// dispatch grants what can be granted, in order, and arranges to be called again when the
// next ticket may become ready. A scope that has no room for one call has none for a less
// urgent one either, so going through the queue in order is fair.
func (b *Budget) dispatch() {
	if len(b.waiting) == 0 {
		b.stopTimer()
		return
	}
	now := time.Now()
	slices.SortFunc(b.waiting, compare)
	next := forever
	b.waiting = slices.DeleteFunc(b.waiting, func(t *Ticket) bool {
		d := b.wait(t.call, now)
		if d > 0 {
			next = min(next, d)
			return false
		}
		b.grant(t, now)
		return true
	})
	b.stopTimer()
	if len(b.waiting) > 0 && next < forever {
		b.timer = time.AfterFunc(next, b.wake)
	}
}

func (b *Budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch()
}

func (b *Budget) stopTimer() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// wait returns how long c has to wait for the slowest of its scopes.
func (b *Budget) wait(c chat.Call, now time.Time) time.Duration {
	var d time.Duration
	for _, k := range keys(c) {
		sc := b.scopes[k]
		if sc == nil {
			continue
		}
		d = max(d, sc.blocked.Sub(now))
		for _, l := range c.Limits {
			if l.Scope == k.scope && l.Ops&c.Op != 0 {
				d = max(d, sc.meter(l).wait(c.Class, now))
			}
		}
	}
	return d
}

func (b *Budget) grant(t *Ticket, now time.Time) {
	for _, k := range keys(t.call) {
		for _, l := range t.call.Limits {
			if l.Scope == k.scope && l.Ops&t.call.Op != 0 {
				t.uses = append(t.uses, b.scope(k).meter(l).take(now))
			}
		}
	}
	t.granted = true
	close(t.ready)
}

func (b *Budget) scope(k scopeKey) *scope {
	sc := b.scopes[k]
	if sc == nil {
		sc = &scope{}
		b.scopes[k] = sc
	}
	return sc
}

// sweep forgets the scopes that hold no information, so that memory follows activity.
func (b *Budget) sweep(now time.Time) {
	for k, sc := range b.scopes {
		busy := slices.ContainsFunc(sc.meters, func(m *meter) bool { return !m.idle(now) })
		if !busy && !sc.blocked.After(now) {
			delete(b.scopes, k)
		}
	}
}

// meter returns the meter of l, made on first use.
func (s *scope) meter(l chat.Limit) *meter {
	for _, m := range s.meters {
		if m.limit == l {
			return m
		}
	}
	m := newMeter(l)
	s.meters = append(s.meters, m)
	return m
}

func key(s chat.Scope, c chat.Call) scopeKey {
	switch s {
	case chat.ScopeMessage:
		return scopeKey{scope: s, chat: c.To.Chat, message: c.Message}
	case chat.ScopeEndpoint:
		return scopeKey{scope: s}
	default:
		return scopeKey{scope: chat.ScopeChat, chat: c.To.Chat}
	}
}

func keys(c chat.Call) []scopeKey {
	ks := make([]scopeKey, 0, 3)
	if c.Message != "" {
		ks = append(ks, key(chat.ScopeMessage, c))
	}
	return append(ks, key(chat.ScopeChat, c), key(chat.ScopeEndpoint, c))
}
