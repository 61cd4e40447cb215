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

const (
	// sweepEvery is how many requests pass between two searches for scopes that can be forgotten.
	sweepEvery = 1024
	// rememberBlock is how long the end of a block is known after it.
	rememberBlock = time.Minute
	// leastBlock is how long a refusal holds that does not say how long.
	leastBlock = time.Second
)

// Budget arbitrates the calls to one endpoint. Its methods are safe for concurrent use and
// never block.
type Budget struct {
	mu       sync.Mutex
	scopes   map[scopeKey]*scope
	waiting  []*Ticket   // in the order in which they are served
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
	now := time.Now()
	b.requests++
	if b.requests%sweepEvery == 0 {
		b.sweep(now)
	}
	t := &Ticket{budget: b, call: c, keys: keys(c), seq: b.requests, ready: make(chan struct{})}
	i, _ := slices.BinarySearchFunc(b.waiting, t, compare)
	b.waiting = slices.Insert(b.waiting, i, t)
	b.dispatch(now)
	return t
}

// Block records a refusal of c: nothing is granted in the scope for d from now on, and its
// speed is lowered. A scope of 0 stands for the chat, and so does the message of a create,
// which has none yet. It returns what is blocked now, for those who keep it.
func (b *Budget) Block(c chat.Call, s chat.Scope, d time.Duration) chat.Block {
	if s == 0 || s == chat.ScopeMessage && c.Message == "" {
		s = chat.ScopeChat
	}
	if d <= 0 {
		d = leastBlock
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	sc := b.scope(key(s, c))
	if until := now.Add(d); until.After(sc.blocked) {
		sc.blocked = until
	}
	for _, l := range c.Limits {
		if l.Scope == s && l.Ops&c.Op != 0 {
			sc.meter(l).lower(now)
		}
	}
	b.dispatch(now)
	k := key(s, c)
	return chat.Block{Scope: k.scope, Chat: k.chat, Message: k.message, Until: sc.blocked}
}

// Tell records what the platform said of its limits in the answer to c.
func (b *Budget) Tell(chat.Call, []chat.Told) {}

// Restore takes up a block of an earlier process.
func (b *Budget) Restore(k chat.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sc := b.scope(scopeKey{scope: k.Scope, chat: k.Chat, message: k.Message})
	if k.Until.After(sc.blocked) {
		sc.blocked = k.Until
	}
}

// BlockedUntil returns when the last block that holds for c ends, or ended: a block is known
// for a minute after its end. It returns the zero time without one.
func (b *Budget) BlockedUntil(c chat.Call) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var until time.Time
	for _, k := range keys(c) {
		if sc := b.scopes[k]; sc != nil && sc.blocked.After(until) {
			until = sc.blocked
		}
	}
	return until
}

// dispatch grants what can be granted, in order, and arranges to be called again when the
// next ticket may become ready. A scope that has no room for one call has none for a less
// urgent one either, so going through the queue in order is fair.
func (b *Budget) dispatch(now time.Time) {
	next := forever
	b.waiting = slices.DeleteFunc(b.waiting, func(t *Ticket) bool {
		d := b.wait(t, now)
		if d > 0 {
			next = min(next, d)
			return false
		}
		b.grant(t, now)
		return true
	})
	switch {
	case next == forever && b.timer != nil:
		b.timer.Stop()
	case next == forever:
	case b.timer == nil:
		b.timer = time.AfterFunc(next, b.wake)
	default:
		b.timer.Reset(next)
	}
}

func (b *Budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch(time.Now())
}

// wait returns how long t has to wait for the slowest of its scopes.
func (b *Budget) wait(t *Ticket, now time.Time) time.Duration {
	var d time.Duration
	for _, k := range t.keys {
		sc := b.scopes[k]
		if sc == nil {
			continue
		}
		d = max(d, sc.blocked.Sub(now))
		for _, l := range t.call.Limits {
			if l.Scope == k.scope && l.Ops&t.call.Op != 0 {
				d = max(d, sc.meter(l).wait(t.call.Class, now))
			}
		}
	}
	return d
}

func (b *Budget) grant(t *Ticket, now time.Time) {
	for _, k := range t.keys {
		for _, l := range t.call.Limits {
			if l.Scope == k.scope && l.Ops&t.call.Op != 0 {
				m := b.scope(k).meter(l)
				m.take(now)
				t.meters = append(t.meters, m)
			}
		}
	}
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
		if !busy && now.Sub(sc.blocked) > rememberBlock {
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
