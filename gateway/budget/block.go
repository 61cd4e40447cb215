package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// blockMemory is how long the Budget remembers a block after its end.
	blockMemory = time.Minute
	// minBlock is the duration of a block if the platform's refusal contains no duration.
	minBlock = time.Second
	// maxRestored limits the duration of a block that an earlier process stored. The store keeps the end of a block as a
	// wall-clock time. The wall clock may have been wrong when the block was stored, or may be wrong now.
	maxRestored = 24 * time.Hour
	// restoreMargin is added to a block of an earlier process. The store keeps only milliseconds, and the wall clock may
	// be adjusted by a few milliseconds between the two processes.
	restoreMargin = 50 * time.Millisecond
)

// Block records that the platform refused call c because of a rate limit. For the duration d, the Budget grants no call in
// scope s whose kind is in ops or is the kind of c. If ops is 0, the Budget grants no call of any kind in the scope. Block
// also slows down the limits of the scope. If s is 0, the platform named no scope, and blame chooses the chat or the endpoint.
// If blame chooses the chat, the limits of the message and the thread slow down too. A create call has no message yet, so for
// create calls chat.ScopeMessage means the chat. Block returns the resulting block, so that the caller can store it.
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

// Assume records that an earlier process may have made as many calls like c as the limits allow. The platform may still
// count those calls, so this process must not make the same number of calls again.
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

// AssumeChat is like Assume, but for a chat in which another process made the calls until now. AssumeChat does not
// change the endpoint's limits, which the processes divide by their claims (see Claims).
func (b *Budget) AssumeChat(c chat.Call) {
	c.Limits = slices.DeleteFunc(slices.Clone(c.Limits), func(l chat.Limit) bool { return l.Scope == chat.ScopeEndpoint })
	b.Assume(c)
}

// Restore restores a block that an earlier process stored. The restored block lasts at most maxRestored.
func (b *Budget) Restore(k chat.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	sc := b.scope(scopeKey{scope: k.Scope, chat: k.Chat, thread: k.Thread, message: k.Message})
	ops := k.Ops
	if ops == 0 { // older versions of telex stored blocks without kinds of calls
		ops = chat.OpAll
	}
	sc.block(ops, now.Add(min(k.Until.Sub(now), maxRestored)+restoreMargin))
}

// BlockedUntil returns the end of the last block that applies to call c, including blocks that ended within the last
// minute. BlockedUntil returns the zero time if no block applies.
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

// block records that the Budget grants no call of the kinds ops in one scope before the time until.
type block struct {
	ops   chat.Op
	until time.Time
}

// block blocks calls of the kinds ops until a time, or longer if an existing block ends later. block returns the end of
// the block.
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

// blockedUntil returns the end of the last block for a kind of call. blockedUntil may return a time in the past.
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
