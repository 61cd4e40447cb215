package budget

import (
	"time"

	"telex/internal/chat"
)

const (
	// rememberBlock is how long the end of a block is known after it.
	rememberBlock = time.Minute
	// minBlock is how long a refusal holds that does not say how long.
	minBlock = time.Second
	// maxRestored bounds a block of an earlier process: its end follows the wall clock, which
	// may have been wrong then or be wrong now.
	maxRestored = 24 * time.Hour
	// restoreMargin is added to a block of an earlier process: a store keeps milliseconds, and the
	// wall clock that connects the two processes is slewed and stepped by a few of them.
	restoreMargin = 50 * time.Millisecond
)

// Block records a refusal of c: no call of the kinds in ops, and of c's own kind, is granted in the
// scope for d from now on, and the scope's limits slow down. Without ops it is all kinds. A scope of 0
// stands for the chat and slows the message down with it; it stands for the endpoint when it must have
// been that. The message of a create, which has none yet, stands for the chat. Block returns what is
// blocked now, for those who keep it.
func (b *Budget) Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration) chat.Block {
	if d <= 0 {
		d = minBlock
	}
	if ops == 0 {
		ops = chat.OpAll
	}
	ops |= c.Op
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	blocked, slowed := s, key(s, c).scope
	if s == 0 {
		blocked, slowed = b.blame(c, now)
	}
	k := key(blocked, c)
	until := b.scope(k).block(ops, now.Add(d))
	for _, l := range c.Limits {
		unnamed := s == 0 && slowed == chat.ScopeChat && (l.Scope == chat.ScopeMessage || l.Scope == chat.ScopeThread)
		if (l.Scope == slowed || unnamed) && l.Ops&c.Op != 0 {
			b.scope(key(l.Scope, c)).meter(l).refuse(until, now)
		}
	}
	b.dispatch(now)
	return chat.Block{Scope: k.scope, Ops: ops, Chat: k.chat, Thread: k.thread, Message: k.message, Until: until}
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
	sc.block(ops, now.Add(min(k.Until.Sub(now), maxRestored)+restoreMargin))
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
