package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// blockMemory is how long the end of a past block is remembered.
	blockMemory = time.Minute
	// minBlock is the duration of a block if the refusal gives none.
	minBlock = time.Second
	// maxRestored limits a block of an earlier process: its end is in wall-clock time, which may have been wrong
	// then or be wrong now.
	maxRestored = 24 * time.Hour
	// restoreMargin is added to a block of an earlier process, because the store keeps only milliseconds, and the wall
	// clock may be adjusted by a few milliseconds between the two processes.
	restoreMargin = 50 * time.Millisecond
)

// Block records a refusal of c: for d, no call of the kinds in ops or of c's kind is granted in the scope, and
// the scope's limits slow down. If ops is 0, all kinds are blocked. A scope of 0 means that the platform named
// none: blame chooses the chat or the endpoint. If it chooses the chat, the message's and thread's limits slow
// down too. A create has no message yet, so its message scope means the chat. Block returns the resulting block,
// so that the caller can store it.
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
			b.meter(b.scope(key(l.Scope, c)), l).refuse(until, now)
		}
	}
	b.dispatch(now)
	return chat.Block{Scope: k.scope, Ops: ops, Chat: k.chat, Thread: k.thread, Message: k.message, Until: until}
}

// Assume records that an earlier process may have made as many calls like c as the limits allow, so that calls
// which the platform still counts are not granted again.
func (b *Budget) Assume(c chat.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, k := range keys(c) {
		for _, l := range c.Limits {
			if l.Scope == k.scope {
				b.meter(b.scope(k), l).assume(now)
			}
		}
	}
}

// AssumeChat is like Assume, for a chat that another process called until now. It leaves out the endpoint's limits,
// which the processes share by their claims (see Claims).
func (b *Budget) AssumeChat(c chat.Call) {
	c.Limits = slices.DeleteFunc(slices.Clone(c.Limits), func(l chat.Limit) bool { return l.Scope == chat.ScopeEndpoint })
	b.Assume(c)
}

// Restore restores a block of an earlier process, for a day at most.
func (b *Budget) Restore(k chat.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	sc := b.scope(scopeKey{scope: k.Scope, chat: k.Chat, thread: k.Thread, message: k.Message})
	ops := k.Ops
	if ops == 0 { // stored by a version whose blocks had no kinds
		ops = chat.OpAll
	}
	sc.block(ops, now.Add(min(k.Until.Sub(now), maxRestored)+restoreMargin))
}

// BlockedUntil returns the end of the last block that applies to c, including blocks that ended within the last
// minute. It returns the zero time if there is none.
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

// block is a refusal in one scope: no call of these kinds is granted before until.
type block struct {
	ops   chat.Op
	until time.Time
}

// block blocks calls of these kinds until a time, or longer if an existing block ends later, and returns the
// end.
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

// blockedUntil returns the end of the last block for a kind of call, which may be in the past.
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
