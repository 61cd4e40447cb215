package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"telex/gateway/replica"
	"telex/internal/chat"
)

const (
	// renewEvery is the time between two renewals of the lease, and between two searches for work that no signal
	// announced.
	renewEvery = time.Second
	// renewWait bounds a renewal, so that the next one is not late.
	renewWait = time.Second
	// orphanDelay is how long after the end of a lease its chats are searched for. It is not 0, because clocks are
	// not exact.
	orphanDelay = 20 * time.Millisecond
	// reloadEvery is the number of regular searches for work after which everything is read again, even without a
	// signal.
	reloadEvery = 5
	// leaveEvery is the time between two searches for chats that a stopping process can give up.
	leaveEvery = 100 * time.Millisecond
	// workWait bounds one call to the store.
	workWait = 10 * time.Second
	// maxOrphans is how many chats of dead replicas a replica takes over at once, so that others get some too.
	maxOrphans = 64
)

// member is the state of this process as a replica, from its registration to the end of its lease.
type member struct {
	g       *Gateway
	store   Replicas
	id      chat.ReplicaID
	lease   *replica.Lease
	chats   *replica.Chats
	leaving atomic.Bool
	rejoins bool // this process had a lease before, and lost it
	joined  time.Time

	renewing chan struct{} // capacity 1: a renewal is running
	peers    atomic.Pointer[[]chat.Replica]

	accepted *replica.Accepted

	signals atomic.Uint32  // chat.Signals that are not handled yet
	heard   chan struct{}  // capacity 1: signals has changed
	taken   int64          // number of successful calls of Take; used by work and handOver
	kept    []chat.Pending // forwarded messages for the next owner of their chats; used by handOver

	mu       sync.Mutex
	receives map[chat.EndpointID]bool // the endpoints that allow only one receiver and for which this process is the receiver
	divided  map[chat.EndpointID]bool // the endpoints whose limits this replica shares with the others
	excused  map[string]bool          // turns that will run again and whose last run ended because of a lost lease, not with its process

	shareNow chan struct{} // capacity 1: a limit has no share yet
}

// liveShared does what live does, for a store that several processes share.
func (g *Gateway) liveShared(ctx context.Context, ready func()) error {
	m, err := g.register(ctx)
	if err != nil { // stopped before anything began
		return nil //nolint:nilerr // the error is ctx's
	}
	g.member.Store(m)
	for _, e := range g.current().endpoints {
		g.divide(e)
	}
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stopWorking()
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	m.renew(working) // so that the other replicas are known before anything is received
	loops.Go(func() { m.renewals(working) })
	loops.Go(func() { m.listen(working) })
	loops.Go(func() { m.shares(working) })
	loops.Go(func() {
		select {
		case <-m.lease.Lost():
			stopReceiving()
		case <-working.Done():
		}
	})
	took := make(chan struct{})
	finishing, stopTaking := context.WithCancel(working)
	defer stopTaking()
	handed := make(chan struct{})
	loops.Go(func() {
		defer close(handed)
		m.work(receiving)
		g.close()
		close(took)
		m.handOver(finishing)
	})
	g.receiveUntil(receiving, ready)
	<-took
	if !m.lease.Holds() {
		g.Log.Error("the lease on the store is lost: everything begins anew", slog.Int64("replica", int64(m.id)))
		_, ended := g.stop()
		return g.abort(ended)
	}
	m.leave(working)
	if err = g.drain(); errors.Is(err, chat.ErrLost) {
		return err
	}
	stopTaking()
	<-handed
	m.unregister(working)
	return err
}

// register makes this process a replica, trying until it succeeds or ctx ends.
func (g *Gateway) register(ctx context.Context) (*member, error) {
	m := &member{g: g, store: g.shared, chats: replica.NewChats(), accepted: replica.NewAccepted(), renewing: make(chan struct{}, 1), heard: make(chan struct{}, 1), receives: make(map[chat.EndpointID]bool), divided: make(map[chat.EndpointID]bool), excused: make(map[string]bool), rejoins: g.lostLeases.Load() > 0, shareNow: make(chan struct{}, 1)}
	for ; ctx.Err() == nil; pause(ctx, renewEvery) {
		asked := time.Now()
		err := m.registerOnce(ctx)
		if err == nil {
			m.lease, m.joined = replica.NewLease(asked), time.Now()
			g.leaseErr.Store(nil)
			g.Log.Info("joined the replicas", slog.Int64("replica", int64(m.id)))
			return m, nil
		}
		if g.leaseErr.Swap(&err) == nil && ctx.Err() == nil {
			g.Log.Error("can't join the replicas; trying again until it works", slog.Any("error", err))
		}
	}
	return nil, ctx.Err()
}

func (m *member) registerOnce(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	if m.id, err = m.store.Register(ctx, m.self()); err != nil {
		return err
	}
	self := m.self()
	self.Began = time.Now()
	self.Renewed = self.Began
	m.peers.Store(&[]chat.Replica{self}) // until the first renewal returns the others
	return m.reload(ctx)
}

// excuse records that the last run of a turn probably ended because its replica lost the lease, not because the
// turn crashed the process: this process lost its lease at about the same time and is alive.
func (m *member) excuse(rec chat.Turn) {
	if !m.rejoins || time.Since(m.joined) > chat.LeaseTime || rec.State != chat.TurnRunning {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.excused[rec.ID] = true
}

// excusedRuns returns 1 if the last run of a turn ended because of a lost lease and no process has stored that;
// otherwise 0. through is the number of the last run whose end is stored.
func (g *Gateway) excusedRuns(rec chat.Turn, through int) int {
	m := g.member.Load()
	if m == nil || rec.Runs <= through {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.excused[rec.ID] {
		return 1
	}
	return 0
}

// forgetExcuse removes a turn from excused, once the turn's journal counts the excused run.
func (g *Gateway) forgetExcuse(turn string) {
	if m := g.member.Load(); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.excused, turn)
	}
}

// self describes this process for the others.
func (m *member) self() chat.Replica {
	now := m.g.current()
	self := now.Self
	self.ID, self.Leaving = m.id, m.leaving.Load()
	for id, e := range now.endpoints {
		if e.isFit() && (!e.account().Platform.Capabilities().ReceiverAnswers || m.isReceiver(id)) {
			self.Endpoints = append(self.Endpoints, id)
		}
	}
	return self
}

// renewals renews the lease until ctx ends or the lease is lost.
func (m *member) renewals(ctx context.Context) {
	ticks := time.NewTicker(renewEvery)
	defer ticks.Stop()
	for {
		m.renew(ctx)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		case <-m.lease.Lost():
			return
		}
	}
}

// renew renews the lease once.
func (m *member) renew(living context.Context) {
	ctx, cancel := context.WithTimeout(living, renewWait)
	defer cancel()
	select {
	case m.renewing <- struct{}{}:
		defer func() { <-m.renewing }()
	case <-ctx.Done():
		return
	}
	asked := time.Now()
	peers, err := m.store.Renew(ctx, m.self())
	switch {
	case errors.Is(err, chat.ErrLost):
		m.lease.Lose()
	case err != nil && living.Err() != nil: // the renewal was cut off, so its failure says nothing about the store
	case err != nil:
		if m.g.leaseErr.Swap(&err) == nil {
			m.g.Log.Error("the lease was not renewed; trying again while it lasts", slog.Any("error", err))
		}
	default:
		m.g.leaseErr.Store(nil)
		m.lease.Renewed(asked)
		m.peers.Store(&peers)
	}
}

// listen handles signals until ctx ends. Signals between two connections are lost, so each new connection starts with
// chat.SignalAll.
func (m *member) listen(ctx context.Context) {
	for failing := false; ctx.Err() == nil; pause(ctx, renewEvery) {
		if err := m.store.Listen(ctx, m.hear); err != nil && ctx.Err() == nil && !failing {
			failing = true
			m.g.Log.Error("signals of other replicas are not heard; trying again until they are", slog.Any("error", err))
		}
	}
}

// hear records a signal. It does not block.
func (m *member) hear(s chat.Signal) {
	m.signals.Or(uint32(s))
	select {
	case m.heard <- struct{}{}:
	default:
	}
}

// fellows returns how many other replicas may receive from an endpoint at this moment, and how many of them are
// older. receiving is the context in which this replica receives from the endpoint. Once this context has ended,
// fellows asks the store, because a replica may have begun since the last renewal. Without the lease, all is at
// least 1: this process can't know that it is alone.
func (g *Gateway) fellows(receiving context.Context, e chat.EndpointID, p Platform) (all, older int) {
	m := g.member.Load()
	if m == nil || p.Capabilities().OneReceiver {
		return 0, 0
	}
	if receiving.Err() != nil && m.lease.Holds() {
		m.renew(context.WithoutCancel(receiving))
	}
	if peers := m.peers.Load(); peers != nil {
		for _, r := range *peers {
			if r.ID == m.id || r.Leaving || !slices.Contains(r.Endpoints, e) {
				continue
			}
			all++
			if r.ID < m.id {
				older++
			}
		}
	}
	if !m.lease.Holds() {
		all = max(1, all)
	}
	return all, older
}

// hasSuccessor reports whether another replica keeps running.
func (m *member) hasSuccessor() bool {
	peers := m.peers.Load()
	return peers != nil && slices.ContainsFunc(*peers, func(r chat.Replica) bool { return r.ID != m.id && !r.Leaving })
}

// leave tells the other replicas that this one stops.
func (m *member) leave(ctx context.Context) {
	m.leaving.Store(true)
	m.renew(ctx)
}

// unregister gives up the lease at once, so that other replicas take over the chats.
func (m *member) unregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	m.passKept(ctx)
	m.lease.Lose() // from now on others may own the chats
	m.retireShares(ctx)
	if err := m.store.Unregister(ctx); err != nil {
		m.g.Log.Error("the other replicas take over only after the lease", slog.Any("error", err))
	}
}

// ahead returns how far this process's clock is ahead of the store's clock, on which all replicas agree.
func (g *Gateway) ahead() time.Duration {
	if g.shared == nil {
		return 0
	}
	return g.shared.Ahead()
}

// lost returns a channel that is closed when the lease is over; nil if the store is not shared.
func (g *Gateway) lost() <-chan struct{} {
	if m := g.member.Load(); m != nil {
		return m.lease.Lost()
	}
	return nil
}

// mayCall reports whether this process may call platforms.
func (g *Gateway) mayCall() bool {
	m := g.member.Load()
	return m == nil || m.lease.Holds()
}

// CheckLease reports whether err says that the store refused a write because the lease is over. It then ends the
// lease here too, so that no call to a platform follows. The caller tells people nothing: the next owner of the
// chat makes the write.
func (g *Gateway) CheckLease(err error) (lost bool) {
	lost = errors.Is(err, chat.ErrLost)
	if m := g.member.Load(); m != nil && lost {
		m.lease.Lose()
	}
	return lost
}

// abort ends everything at once, without storing or sending anything. ended is closed when the actors have ended.
func (g *Gateway) abort(ended <-chan struct{}) error {
	g.endTurns(chat.ErrLost)
	g.endAll(chat.ErrLost)
	select {
	case <-ended:
		return chat.ErrLost
	case <-time.After(g.current().Grace):
		return errors.New("stop after a lost lease: conversations did not end")
	}
}

// forward passes a message that is not stored to the owner of its chat. It returns false if the chat has no owner.
func (g *Gateway) forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error) {
	if m := g.member.Load(); m != nil {
		m.accepted.Add(replica.Key(c, in), time.Now())
	}
	return g.shared.Forward(ctx, c, in)
}
