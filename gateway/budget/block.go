package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// rememberBlock is how long the end of a block is known after it.
	rememberBlock = time.Minute
	// leastBlock is how long a refusal holds that does not say how long.
	leastBlock = time.Second
	// mostRestored bounds a block of an earlier process: its end follows the wall clock, which
	// may have been wrong then or be wrong now.
	mostRestored = 24 * time.Hour
	// restoreMargin is added to a block of an earlier process: a store keeps milliseconds, and the
	// wall clock that connects the two processes is slewed and stepped by a few of them.
	restoreMargin = 50 * time.Millisecond
)

// So many chats that were refused without a reason of their own within so long show that the
// endpoint's limit was hit.
const (
	suspectChats = 3
	suspectFor   = 5 * time.Second
)

// suspect is a chat that was refused though it had hardly used its own limits.
type suspect struct {
	chat chat.ChatID
	at   time.Time
}

// Block records a refusal of c: no call of the kinds in ops, and of c's own kind, is granted in the
// scope for d from now on, and the scope's limits slow down. Without ops it is all kinds. A scope of 0
// stands for the chat and slows the message down with it; it stands for the endpoint when it must have
// been that. The message of a create, which has none yet, stands for the chat. Block returns what is
// blocked now, for those who keep it.
func (b *Budget) Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration) chat.Block {
	if d <= 0 {
		d = leastBlock
	}
	if ops == 0 {
		ops = chat.OpAll
	}
	ops |= c.Op
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	k, charged := key(s, c), key(s, c).scope
	if s == 0 && b.hardlyUsed(c, now) {
		if b.guilty(c, now) {
			k = key(chat.ScopeEndpoint, c)
		}
		if k.scope == chat.ScopeEndpoint || b.slowed(c, now) {
			charged = chat.ScopeEndpoint
		}
	}
	until := b.scope(k).block(ops, now.Add(d))
	for _, l := range c.Limits {
		unnamed := s == 0 && charged == chat.ScopeChat && (l.Scope == chat.ScopeMessage || l.Scope == chat.ScopeThread)
		if (l.Scope == charged || unnamed) && l.Ops&c.Op != 0 {
			b.scope(key(l.Scope, c)).meter(l).refuse(until, now)
		}
	}
	b.dispatch(now)
	return chat.Block{Scope: k.scope, Ops: ops, Chat: k.chat, Thread: k.thread, Message: k.message, Until: until}
}

// hardlyUsed says that others than c had used less of the limits of its chat and message than of the endpoint's.
func (b *Budget) hardlyUsed(c chat.Call, now time.Time) bool {
	own := b.share(c, now, true)
	return own < 0.5 && own <= b.share(c, now, false)
}

// slowed says that the endpoint refused calls like c lately. What else it refuses is evidence of its limit.
func (b *Budget) slowed(c chat.Call, now time.Time) bool {
	return slices.ContainsFunc(b.scope(key(chat.ScopeEndpoint, c)).meters, func(m *meter) bool {
		return m.limit.Ops&c.Op != 0 && m.slow.active(now)
	})
}

// guilty says that the endpoint's limit must have been hit when c was refused, which had hardly used
// its own: not for the first, but when several chats were. Their slowdowns end.
func (b *Budget) guilty(c chat.Call, now time.Time) bool {
	b.suspects = slices.DeleteFunc(b.suspects, func(s suspect) bool {
		return now.Sub(s.at) >= suspectFor || s.chat == c.To.Chat
	})
	b.suspects = append(b.suspects, suspect{c.To.Chat, now})
	if len(b.suspects) < suspectChats {
		return false
	}
	for _, s := range b.suspects {
		if sc := b.scopes[scopeKey{scope: chat.ScopeChat, chat: s.chat}]; sc != nil {
			for _, m := range sc.meters {
				m.slow = slowdown{}
			}
		}
	}
	return true
}

// share returns how much of the limits of its chat or message, or else of the endpoint, others than c
// had used: of the one that is used most.
func (b *Budget) share(c chat.Call, now time.Time, own bool) (most float64) {
	for _, l := range c.Limits {
		if own != (l.Scope != chat.ScopeEndpoint) || l.Ops&c.Op == 0 {
			continue
		}
		inWindow, ofBurst := b.scope(key(l.Scope, c)).meter(l).used(now)
		for _, used := range []struct {
			calls    float64
			capacity int
		}{{inWindow - 1, l.Count}, {ofBurst - 1, l.Burst}} {
			if used.calls >= 0.5 {
				most = max(most, used.calls/float64(max(1, used.capacity-1)))
			}
		}
	}
	return most
}

// Assume says that an earlier process may have made calls like c until now, as many as it could:
// what the platform still counts is not given out again.
func (b *Budget) Assume(c chat.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, k := range keys(c) {
		for _, l := range c.Limits {
			if l.Scope == k.scope {
				b.scope(k).meter(l).assume(now)
			}
		}
	}
}

// Restore takes up a block of an earlier process, for a day at most.
func (b *Budget) Restore(k chat.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	sc := b.scope(scopeKey{scope: k.Scope, chat: k.Chat, thread: k.Thread, message: k.Message})
	ops := k.Ops
	if ops == 0 { // stored before blocks had kinds
		ops = chat.OpAll
	}
	sc.block(ops, now.Add(min(k.Until.Sub(now), mostRestored)+restoreMargin))
}

// BlockedUntil returns when the last block that holds for c ends, or ended: a block is known
// for a minute after its end. It returns the zero time without one.
func (b *Budget) BlockedUntil(c chat.Call) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var until time.Time
	for _, k := range keys(c) {
		if sc := b.scopes[k]; sc != nil {
			until = latest(until, sc.blockedUntil(c.Op))
		}
	}
	return until
}

// block is a refusal of one scope: no call of these kinds before until.
type block struct {
	ops   chat.Op
	until time.Time
}

// block closes the scope for calls of these kinds until a time, or for longer where it is closed
// for longer already, and returns until when.
func (s *scope) block(ops chat.Op, until time.Time) time.Time {
	for i := range s.blocks {
		if b := &s.blocks[i]; b.ops == ops {
			b.until = latest(b.until, until)
			return b.until
		}
	}
	s.blocks = append(s.blocks, block{ops, until})
	return until
}

// blockedUntil returns when the last block that holds for calls of a kind ends, or ended.
func (s *scope) blockedUntil(op chat.Op) (until time.Time) {
	for _, b := range s.blocks {
		if b.ops&op != 0 {
			until = latest(until, b.until)
		}
	}
	return until
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
