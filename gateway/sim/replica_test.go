package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"telex/gateway"
	"telex/internal/chat"
)

// This file contains the events and the additional checks of schedules in which several gateways share one store.

// cut is a period in which one replica can't reach the store, can't reach the platform, or does not run at all.
type cut struct {
	slot        int
	what        string
	from, until time.Duration
}

// What a replica is cut off from.
const (
	cutStore    = "no store"
	cutPlatform = "no platform"
	// The replica does not run; its calls continue when it wakes up, and signals during the pause are lost.
	cutAll = "paused"
)

// Names under which events of replicas are counted.
const (
	withoutStore    = "fault: replica without the store"
	withoutPlatform = "fault: replica without the platform"
	pausedReplica   = "fault: replica paused"
	signalLost      = "fault: signal lost"
	answerLost      = "fault: answer of the store lost"
)

var errAway = errors.New("the store is away")

// drawReplicas chooses the number of replicas at random, and the events that affect them.
func (s *schedule) drawReplicas(t *rapid.T) {
	s.replicas, s.losses = rapid.IntRange(2, 3).Draw(t, "replicas"), map[int]bool{}
	s.kind.caps.OneReceiver = rapid.Bool().Draw(t, "one receives")
	s.shorten()
	for i := range s.says { // only the replica that receives the first piece knows that more pieces follow
		s.says[i].more = s.says[i].more && s.kind.caps.OneReceiver
	}
	for i := range s.kills {
		k := &s.kills[i]
		k.slot = rapid.IntRange(0, s.replicas-1).Draw(t, "slot")
		if k.where == beforeWrite || k.where == afterWrite {
			k.n *= rapid.IntRange(1, 8).Draw(t, "heartbeats") // lease renewals count as writes, too, so choose larger numbers
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "rolling restart") == 0 {
		at := span(t, "restart", 0, 10_000)
		for slot := range s.replicas {
			s.kills = append(s.kills, kill{where: inOrder, slot: slot, at: at, down: span(t, "down", 10, 3000)})
			at += span(t, "next", 0, 5000)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "cuts") {
		from := span(t, "cut", 0, 15_000)
		s.cuts = append(s.cuts, cut{
			slot: rapid.IntRange(0, s.replicas-1).Draw(t, "whose"), from: from,
			what:  rapid.SampledFrom([]string{cutStore, cutStore, cutAll, cutAll, cutPlatform}).Draw(t, "from what"),
			until: from + rapid.OneOf(span2(100, 4000), span2(100, 30_000)).Draw(t, "how long"),
		})
	}
	if rapid.Bool().Draw(t, "clocks differ") {
		for range s.replicas {
			s.clocks = append(s.clocks, span(t, "clock", -8000, 8000))
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "losses") {
		s.losses[rapid.IntRange(0, 200).Draw(t, "loss")] = true
	}
}

// receivesBeside reports whether all replicas receive messages at the same time.
func (s *schedule) receivesBeside() bool { return s.replicas > 0 && !s.kind.caps.OneReceiver }

// hookRetry is how long the platform waits before it offers an update to another replica, if all replicas receive and
// one has not accepted the update.
const hookRetry = 2 * time.Second

// runBeside implements Run if all replicas receive messages. The platform offers each update to one replica. If the
// first replica does not accept an update, the platform offers the update to another one.
func (a *adapter) runBeside(ctx context.Context, accept func(context.Context, chat.Inbound) error) error {
	w, l := a.l.w, a.l
	for i := 0; ctx.Err() == nil; {
		in, wait := w.update(i)
		if in == nil {
			select {
			case <-wait:
			case <-ctx.Done():
			}
			continue
		}
		offered, taken := w.offered(i)
		switch slot := (i + int(time.Since(offered)/hookRetry)) % w.s.replicas; {
		case taken:
			i++
		case slot != l.slot || w.outageNow() || l.isCut(cutPlatform) || l.isCut(cutAll) || l.isDead() || accept(ctx, *in) != nil:
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		case l.isDead(): // the platform gets no response from the dead process
		default:
			w.take(i)
		}
	}
	return ctx.Err()
}

// offered returns when the platform first offered update i, and whether a replica has accepted it.
func (w *world) offered(i int) (at time.Time, taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.hooks) <= i {
		w.hooks = append(w.hooks, hook{first: time.Now()})
	}
	return w.hooks[i].first, w.hooks[i].taken
}

// take records that a replica has accepted update i.
func (w *world) take(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks[i].taken = true
	for w.acked < len(w.hooks) && w.hooks[w.acked].taken {
		w.acked++
	}
}

// hook is an update that the platform offers to one replica after another.
type hook struct {
	first time.Time
	taken bool
}

// mostWait is the maximum duration of a fault in schedules with replicas. The simulation of long faults would be slow,
// because each replica renews its lease every second.
const mostWait = 40 * time.Second

// shorten limits the long durations of a schedule.
func (s *schedule) shorten() {
	for n, f := range s.faults {
		f.after = min(f.after, mostWait)
		s.faults[n] = f
	}
	for n, f := range s.typing {
		f.after = min(f.after, mostWait)
		s.typing[n] = f
	}
	for i := range s.kills {
		s.kills[i].down = min(s.kills[i].down, mostWait)
	}
	for i := range s.outages {
		s.outages[i].until = min(s.outages[i].until, s.outages[i].from+mostWait)
	}
}

// The method ends returns the time when the process's current cut of the given kind ends. If there is no such cut now,
// the method returns the zero time.
func (l *life) ends(what string) time.Time {
	at := time.Since(l.w.began)
	for _, c := range l.w.s.cuts {
		if c.slot == l.slot && c.what == what && at >= c.from && at < c.until {
			return l.w.began.Add(c.until)
		}
	}
	return time.Time{}
}

func (l *life) isCut(what string) bool { return !l.ends(what).IsZero() }

// wakes waits while the process is paused. wakes returns false if the process died or ctx ended during the pause.
func (l *life) wakes(ctx context.Context) bool {
	paused := false
	for until := l.ends(cutAll); !until.IsZero() && !l.isDead(); until = l.ends(cutAll) { // pauses may overlap
		paused = true
		select {
		case <-time.After(time.Until(until)):
		case <-l.dead:
		}
	}
	if !paused {
		return true
	}
	l.count(pausedReplica)
	return !l.isDead() && ctx.Err() == nil
}

// reachPlatform fails if the process can't make a call to the platform now, because it was paused or its network is
// cut. After a pause, the call fails so that the process checks its lease before it makes the call again.
func (l *life) reachPlatform(ctx context.Context) error {
	paused := l.isCut(cutAll)
	l.wakes(ctx)
	if paused || l.isCut(cutPlatform) {
		l.count(withoutPlatform)
		return &chat.SendError{Kind: chat.Temporary}
	}
	return nil
}

func (l *life) count(what string) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.counts.add(what, 1)
}

// unsent records a call that never left its process, and returns its error.
func (w *world) unsent(l *life, c *call, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.begin(l)
	c.done, c.err = c.at, err
	w.failed = append(w.failed, c)
	return err
}

// reach waits until the process can reach the store. reach fails if the process dies or ctx ends before that.
func (k *keeper) reach(ctx context.Context) error {
	l := k.l
	if l.w.s.replicas == 0 {
		return nil
	}
	l.wakes(ctx)
	until := l.ends(cutStore)
	if until.IsZero() {
		return nil
	}
	l.count(withoutStore)
	select {
	case <-time.After(time.Until(until)):
		return nil
	case <-l.dead:
	case <-ctx.Done():
	}
	return errAway
}

// agree makes a write with which replicas coordinate. The gateway can repeat each such write, so the schedule may lose
// its response.
func (k *keeper) agree(ctx context.Context, do func() error, note func()) error {
	w := k.l.w
	lost := false
	err := k.write(ctx, do, func() {
		if note != nil {
			note()
		}
		lost = w.s.losses[w.agreed]
		w.agreed++
	})
	if err == nil && lost {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counts.add(answerLost, 1)
		return errAway
	}
	return err
}

// isOver reports whether the state of a process no longer matters, because the process is dead or another replica may
// have taken over its chats.
func (l *life) isOver() bool {
	return l.isDead() || l.id != 0 && (l.isCut(cutAll) || !l.w.store.IsAlive(l.id))
}

// silent reports whether a process lost its lease or died before it could store what it learned at the given time.
func (l *life) silent(at time.Time) bool {
	// A paused process may not have noticed the loss of its lease yet.
	lost := l.lost || l.id != 0 && !l.gaveUp && !l.w.store.IsAlive(l.id)
	if l.died.IsZero() && !lost {
		return false
	}
	for _, c := range l.w.s.cuts {
		if !lost && l.died.After(l.w.began.Add(c.until)) {
			continue
		}
		if c.slot == l.slot && c.what != cutPlatform && !at.Before(l.w.began.Add(c.from)) && !at.After(l.w.began.Add(c.until)) {
			return true
		}
	}
	return false
}

// judgeLease checks that the process that makes call c has a lease and owns the chat. The caller holds world.mu.
func (w *world) judgeLease(c *call) {
	if w.s.replicas == 0 {
		return
	}
	if !w.store.IsAlive(c.life.id) {
		w.complain("F41: a call without a lease: %s", c)
	}
	home := chat.Conversation{Endpoint: endpoint, Chat: c.to.Chat}
	if owner := w.store.Owner(home); owner != 0 && owner != c.life.id && c.turn != "" {
		w.complain("F41: a call in a chat of another replica: %s", c)
	}
}

// judgeWrite checks that a process that writes about a turn has a lease, and that no other process owns the chat. The
// caller holds world.mu.
func (k *keeper) judgeWrite(t *turnLog) {
	w, l := k.l.w, k.l
	to := w.target(t.place)
	if w.s.replicas == 0 || l.id == 0 || len(w.moved) > 0 && !w.s.private(t.place) {
		// Until the store knows that the chat has a new id, the chat counts as two conversations.
		return
	}
	if owner := w.store.Owner(chat.Conversation{Endpoint: endpoint, Chat: to.Chat}); owner != 0 && owner != l.id || !w.store.IsAlive(l.id) {
		w.complain("F41: replica %d writes about turn %s, in a chat of replica %d", l.id, t.id, owner)
	}
}

// Register makes the process a replica. A process registers again after it has lost its lease and discarded its state.
// The simulation then counts the process as dead and starts the next one.
func (k *keeper) Register(ctx context.Context, self chat.Replica) (id chat.ReplicaID, err error) {
	l := k.l
	l.w.mu.Lock()
	again := l.id != 0
	l.w.mu.Unlock()
	if again {
		l.die(&kill{where: leaseLost, ghost: true})
		l.w.mu.Lock()
		l.losesLease()
		l.w.mu.Unlock()
		<-ctx.Done()
		return 0, errDead
	}
	err = k.write(ctx, func() error {
		id, err = k.store.Register(ctx, self)
		return err
	}, nil)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if err == nil {
		l.id, l.renewed = id, time.Now()
		l.w.note("life %d is replica %d", l.n, id)
	}
	return id, err
}

// losesLease records that a process has lost its lease, if its last renewal is too long ago and it did not give up the
// lease itself. The caller holds world.mu.
func (l *life) losesLease() {
	if at := l.renewed.Add(chat.LeaseTime - 500*time.Millisecond); l.id != 0 && !l.gaveUp && !time.Now().Before(at) {
		l.died, l.lost = at, true // the process noticed the loss at this time, or later if it was paused
	}
}

// leaseLost is the reason for the end of a process that has lost its lease.
const leaseLost = "lease lost"

func (k *keeper) Renew(ctx context.Context, self chat.Replica) (list []chat.Replica, err error) {
	err = k.agree(ctx, func() error {
		list, err = k.store.Renew(ctx, self)
		return err
	}, func() { k.l.renewed = time.Now() })
	return list, err
}

func (k *keeper) Unregister(ctx context.Context) error {
	return k.agree(ctx, func() error { return k.store.Unregister(ctx) }, func() { k.l.gaveUp = true })
}

// Listen drops signals without an error while the process is paused or can't reach the store.
func (k *keeper) Listen(ctx context.Context, heard func(chat.Signal)) error {
	if err := k.reach(ctx); err != nil {
		return err
	}
	return k.store.Listen(ctx, func(s chat.Signal) {
		if k.l.isCut(cutStore) || k.l.isCut(cutAll) {
			k.l.w.signalsLost.Add(1) // atomic, since the caller may hold the mutex
			return
		}
		heard(s)
	})
}

func (k *keeper) Take(ctx context.Context, call int64, orphans int) (taken chat.Taken, err error) {
	err = k.agree(ctx, func() error {
		taken, err = k.store.Take(ctx, call, orphans)
		taken.Turns = k.readTurns(taken.Turns)
		return err
	}, func() {
		for _, t := range taken.Turns {
			k.l.w.note("replica %d takes turn %s", k.l.id, t.ID)
			tl := k.l.w.turns[t.ID]
			tl.taken[k.l] = append(tl.taken[k.l], time.Now())
			k.l.w.counts.add("turns that another replica takes", 1)
		}
		for _, m := range taken.Messages {
			k.l.w.note("replica %d takes %s of kind %d", k.l.id, m.Message.ID, m.Message.Kind)
			if k.l.w.messages[numberOf(m.Message.ID)].receiver != k.l {
				k.l.w.counts.add("messages that another replica received", 1)
			}
		}
	})
	if err == nil {
		k.l.w.given(taken.Messages)
	}
	return taken, err
}

// The method given records that a replica has received messages from the store. The simulation calls
// given only if the replica got the store's response.
func (w *world) given(list []chat.Pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range list {
		m := w.messages[numberOf(p.Message.ID)]
		if p.Message.Kind == chat.Edited || p.Message.Kind == chat.Deleted {
			continue
		}
		if m.heardLast = time.Now(); m.heard.IsZero() {
			m.heard = m.heardLast
		}
	}
}

func (k *keeper) Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error {
	return k.agree(ctx, func() error { return k.store.Free(ctx, unfinished, chats...) }, nil)
}

func (k *keeper) Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (owned bool, err error) {
	err = k.agree(ctx, func() error {
		owned, err = k.store.Forward(ctx, c, in)
		return err
	}, func() {
		if owned && in.Kind == chat.Edited {
			k.l.w.counts.add("edits that are passed to the owner of the chat", 1)
		}
	})
	return owned, err
}

func (k *keeper) Receive(ctx context.Context, e chat.EndpointID) (is bool, err error) {
	err = k.agree(ctx, func() error {
		is, err = k.store.Receive(ctx, e)
		return err
	}, nil)
	return is, err
}

func (k *keeper) Yield(ctx context.Context, e chat.EndpointID) error {
	return k.agree(ctx, func() error { return k.store.Yield(ctx, e) }, nil)
}

func (k *keeper) Share(ctx context.Context, e chat.EndpointID, decide func([]chat.Claim) []chat.Claim) error {
	return k.agree(ctx, func() error { return k.store.Share(ctx, e, decide) }, nil)
}

func (k *keeper) CountTurn(ctx context.Context, p chat.Person, limit int) (counted bool, err error) {
	w := k.l.w
	err = k.agree(ctx, func() error {
		counted, err = k.store.CountTurn(ctx, p, limit)
		return err
	}, func() {
		if counted {
			w.paces[p.User] = append(w.paces[p.User], time.Now())
			w.judgePace(p.User)
		}
	})
	if counted || err != nil { // if counting fails, the gateway lets the turn begin
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counted[turnsOf{k.l, p.User}]++
	}
	return counted, err
}

// turnsOf identifies the turns that one process began for one person.
type turnsOf struct {
	life *life
	user chat.UserID
}

// judgePace checks that all replicas together begin no more turns of a person per minute than the limit allows.
func (w *world) judgePace(u chat.UserID) {
	all := w.paces[u]
	if n := len(all) - w.s.perMinute; n > 0 && time.Since(all[n-1]) < time.Minute {
		w.complain("D3: more than %d turns of %s in a minute", w.s.perMinute, u)
	}
}

// judgeCounted checks that each turn of each replica was counted toward the limit of its person.
func (w *world) judgeCounted() {
	if w.s.replicas == 0 || w.s.perMinute == 0 {
		return
	}
	began := map[turnsOf]int{}
	for i, t := range w.order {
		again := slices.ContainsFunc(w.order[:i], func(old *turnLog) bool { // an earlier turn with the same question was counted
			return !old.released.IsZero() && slices.ContainsFunc(t.messages, func(n int) bool { return slices.Contains(old.messages, n) })
		})
		if len(t.runs) > 0 && !again {
			began[turnsOf{t.begun[0].life, w.messages[t.messages[t.first-1]].user}]++
		}
	}
	for of, n := range began {
		if n > w.counted[of] {
			w.complain("D3: %d turns of %s began in life %d, %d were counted", n, of.user, of.life.n, w.counted[of])
		}
	}
}

var _ gateway.Replicas = (*keeper)(nil)
