package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"telex/gateway/queue"
	"telex/gateway/replica"
	"telex/internal/chat"
)

// The method work takes unanswered messages and unfinished turns from the store until ctx ends or the lease is lost.
func (m *member) work(ctx context.Context) {
	ticks := time.NewTicker(renewEvery)
	defer ticks.Stop()
	m.hear(chat.SignalWork)
	for n := 1; ; {
		select {
		case <-m.heard:
		case <-m.orphans():
			m.signals.Or(uint32(chat.SignalWork))
		case <-ticks.C:
			m.signals.Or(uint32(chat.SignalWork))
			if n++; n%reloadEvery == 0 {
				m.signals.Or(uint32(chat.SignalAll))
			}
			m.free(ctx, false)
		case <-ctx.Done():
			return
		case <-m.lease.Lost():
			return
		}
		m.react(ctx)
	}
}

// react handles the signals that arrived since the last call of react.
func (m *member) react(ctx context.Context) {
	if err := m.handle(ctx, chat.Signal(m.signals.Swap(0))); err != nil && ctx.Err() == nil {
		m.g.CheckLease(err)
		m.g.Log.Warn("forwarded work could not be read; trying again", slog.Any("error", err))
	}
}

// orphans returns a channel that delivers a value shortly after the end of another replica's lease. If no lease can end before
// the next regular search for work, the method orphans returns nil.
func (m *member) orphans() <-chan time.Time {
	peers := m.peers.Load()
	if peers == nil {
		return nil
	}
	for _, r := range *peers {
		if left := time.Until(r.Renewed.Add(chat.LeaseTime)); r.ID != m.id && left > 0 && left < renewEvery {
			return time.After(left + orphanDelay)
		}
	}
	return nil
}

// The method handle does the work that signals announce.
func (m *member) handle(ctx context.Context, s chat.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, workWait)
	defer cancel()
	if s&(chat.SignalAccess|chat.SignalBlocks) != 0 {
		if err := m.reload(ctx); err != nil {
			return err
		}
	}
	if s&chat.SignalWork == 0 {
		return nil
	}
	if m.g.isStopping() {
		return m.take(ctx, 0)
	}
	if err := m.elect(ctx); err != nil {
		return err
	}
	return m.take(ctx, maxOrphans)
}

// The method reload reads admissions, pairing requests, moves of chats and rate-limit blocks, which other replicas may have
// changed.
func (m *member) reload(ctx context.Context) error {
	known := make(map[chat.Move]bool)
	for _, move := range m.g.policy.Moves() {
		known[move] = true
	}
	if err := m.g.policy.Load(ctx); err != nil {
		return err
	}
	for _, move := range m.g.policy.Moves() {
		if !known[move] {
			if err := m.g.readdressShared(ctx, move); err != nil {
				return err
			}
		}
	}
	return m.g.restoreBlocks(ctx, m.g.current().endpoints)
}

// passOn gives up those of the taken chats in which another replica must answer, and returns the work in the other
// chats. While the configurations of the replicas differ, a replica may own chats of endpoints that it does not run.
func (m *member) passOn(ctx context.Context, taken chat.Taken) (chat.Taken, error) {
	isForeign := func(c chat.Conversation) bool { return m.isForeign(c) && !m.g.isBusy(replica.Of(c)) }
	var foreign []chat.Conversation
	taken.Turns = slices.DeleteFunc(taken.Turns, func(t chat.Turn) bool {
		if !isForeign(t.Conversation) {
			return false
		}
		foreign = append(foreign, t.Conversation)
		return true
	})
	taken.Messages = slices.DeleteFunc(taken.Messages, func(p chat.Pending) bool {
		if !isForeign(p.Conversation) {
			return false
		}
		foreign = append(foreign, p.Conversation)
		return true
	})
	if len(foreign) == 0 {
		return taken, nil
	}
	return taken, m.store.Free(ctx, true, foreign...)
}

// The method take takes new work from the store and passes it to the actors. The method take may also take over chats without
// an owner; the parameter orphans is the maximum number of such chats.
func (m *member) take(ctx context.Context, orphans int) error {
	taken, err := m.store.Take(ctx, m.taken+1, orphans)
	if err != nil {
		return fmt.Errorf("take work: %w", err)
	}
	if taken, err = m.passOn(ctx, taken); err != nil { // the next call of Take returns the work again
		return fmt.Errorf("pass on work: %w", err)
	}
	m.taken++
	m.countForwarded(taken.Messages)
	now := time.Now()
	resumes := make(map[chat.Conversation]bool) // chats in which another replica may have called the platform
	for _, c := range taken.Chats {
		m.chats.Touch(c, now)
		resumes[c] = true
	}
	left := leftovers{of: make(map[chat.Conversation]*leftover)}
	for _, t := range taken.Turns {
		m.excuse(t)
		m.chats.Touch(t.Conversation, now)
		resumes[replica.Of(t.Conversation)] = true
		l := left.in(t.Conversation)
		l.turns = append(l.turns, t)
	}
	var rest []chat.Pending
	for _, p := range taken.Messages {
		m.chats.Touch(p.Conversation, now)
		if isForwarded(p.Message) || p.Begun == 0 && !resumes[replica.Of(p.Conversation)] {
			rest = append(rest, p)
			continue
		}
		l := left.in(p.Conversation)
		l.messages = append(l.messages, queue.Message{Inbound: p.Message, Accepted: p.Accepted, Runs: p.Begun})
	}
	m.g.resumeAll(left)
	for _, p := range rest {
		if !m.g.give(p) && m.g.isStopping() && isForwarded(p.Message) {
			m.kept = append(m.kept, p)
		}
	}
	return nil
}

// The method give passes a new message to the actor of its conversation. If the conversation has no actor, the method give
// starts one. The method give returns false for an edit or a deletion without an actor, because such a message matters only
// for an active conversation. The method give also returns false if no actor may start because the gateway is stopping.
func (g *Gateway) give(p chat.Pending) bool {
	p.Message = g.adopt(p.Message, p.Conversation.Endpoint)
	if p.Message.Kind == chat.Edited || p.Message.Kind == chat.Deleted {
		return g.tell(p.Conversation, p.Message)
	}
	g.remind(p.Conversation)
	return g.wake(p.Conversation, func(a *actor) {
		a.inbox = append(a.inbox, queue.Message{Inbound: p.Message, Accepted: p.Accepted, Runs: p.Begun})
	})
}

// isForwarded reports whether a message is an edit, a deletion or an operator's order, which Replicas.Forward passes on.
func isForwarded(in chat.Inbound) bool {
	return in.Kind == chat.Edited || in.Kind == chat.Deleted || in.Kind == chat.Forgotten || in.Kind == chat.Erased
}

// The method free gives up the inactive chats of this replica. If another replica must own a chat, the method free gives up
// the chat even if it has unfinished work, and the other replica finishes this work.
func (m *member) free(ctx context.Context, leaving bool) {
	foreign := func(c chat.Conversation) bool { return leaving || m.isForeign(c) }
	ctx, cancel := context.WithTimeout(ctx, workWait)
	defer cancel()
	idle := make(map[bool][]chat.Conversation)
	for _, c := range m.chats.Idle(time.Now(), foreign, m.g.isBusy) {
		idle[foreign(c)] = append(idle[foreign(c)], c)
	}
	for unfinished, chats := range idle {
		if err := m.store.Free(ctx, unfinished, chats...); err != nil {
			m.g.CheckLease(err)
			for _, c := range chats { // keep these chats, so that a later call tries again
				m.chats.Touch(c, time.Now())
			}
		} else if unfinished {
			m.g.forgetUndone(chats)
		}
	}
}

// forgetUndone removes from the map Gateway.undone the replies in chats that this process has given up. The next owner of a
// chat delivers the chat's undelivered replies.
func (g *Gateway) forgetUndone(chats []chat.Conversation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.undone, func(c chat.Conversation, _ []string) bool { return slices.Contains(chats, replica.Of(g.now(c))) })
}

// handOver gives up the chats of a stopping process, each chat once the process has finished its work in the chat. While the
// process still has work, active conversations get new messages, because people may stop answers, edit questions and decide
// about tool calls. Inactive conversations stay inactive: their new messages stay in the store for the next owner of the chat.
func (m *member) handOver(ctx context.Context) {
	ticks, looks := time.NewTicker(leaveEvery), time.NewTicker(renewEvery)
	defer ticks.Stop()
	defer looks.Stop()
	m.hear(chat.SignalWork) // the end of the context may have interrupted the last call of Take
	for {
		select {
		case <-m.heard:
			m.react(ctx)
		case <-looks.C:
			m.hear(chat.SignalWork)
		case <-ticks.C:
			if m.leaving.Load() { // before that, the store may still give chats to this replica
				m.passKept(ctx)
				m.free(ctx, true)
			}
		case <-ctx.Done():
			return
		case <-m.lease.Lost():
			return
		}
	}
}

// passKept forwards the messages in the field kept to the next owners of their chats. passKept forwards a message only when no
// conversation of its chat is active in this process. If a message can't be forwarded, the next call of passKept tries again.
func (m *member) passKept(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, workWait)
	defer cancel()
	m.kept = slices.DeleteFunc(m.kept, func(p chat.Pending) bool {
		if m.g.isBusy(replica.Of(p.Conversation)) {
			return false
		}
		_, err := m.store.Forward(ctx, p.Conversation, p.Message)
		m.g.CheckLease(err)
		return err == nil
	})
}

// isBusy reports whether a conversation of a chat is active here, or has an undelivered reply that this process may
// deliver later. isBusy compares the current ids of chats, because a chat may have several ids, and the store gives
// up the chat under any of them.
func (g *Gateway) isBusy(c chat.Conversation) bool {
	e := g.current().endpoints[c.Endpoint]
	c = g.now(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.actors {
		if replica.Of(g.now(other)) == c {
			return true
		}
	}
	for other := range g.undone {
		if replica.Of(g.now(other)) == c && !g.isStopping() && (e == nil || e.isFit()) {
			return true
		}
	}
	return false
}
