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
	// renewEvery is the time between two renewals of the lease. renewEvery is also the time between two regular searches
	// for work. The regular searches find work even if the signal that announced the work was lost.
	renewEvery = time.Second
	// renewWait is the timeout of a renewal of the lease. renewWait is short, so that a slow renewal does not delay
	// the next one.
	renewWait = time.Second
	// orphanDelay is the time between the end of another replica's lease and the search for the chats of that
	// replica. orphanDelay is not 0, because the clocks of the replicas are not exact.
	orphanDelay = 20 * time.Millisecond
	// At every reloadEvery-th regular search for work, a replica also reads admissions and rate-limit blocks again,
	// because a signal may have been lost.
	reloadEvery = 5
	// leaveEvery is the time between two searches of a stopping process for chats that it can give up.
	leaveEvery = 100 * time.Millisecond
	// workWait is the timeout of one attempt to handle signals, to forward work to other replicas, or to give work up.
	workWait = 10 * time.Second
	// maxOrphans is the maximum number of dead replicas' chats that a replica takes over at once. The maximum leaves some of a
	// dead replica's chats to the other living replicas.
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
	rejoins bool // this process has lost an earlier lease
	joined  time.Time

	renewing chan struct{} // capacity 1: full while a renewal is running
	peers    atomic.Pointer[[]chat.Replica]

	accepted *replica.Accepted

	signals atomic.Uint32  // signals that this process has not handled yet; a set of chat.Signal
	heard   chan struct{}  // capacity 1: signals that the field signals has changed
	taken   int64          // number of successful calls of Replicas.Take; used by the methods work and handOver
	kept    []chat.Pending // forwarded messages for the next owners of their chats; used by the method handOver

	mu       sync.Mutex
	receives map[chat.EndpointID]bool // endpoints that allow only one receiver, and for which this process is the receiver
	divided  map[chat.EndpointID]bool // endpoints whose rate limits this replica shares with the others
	excused  map[string]bool          // turns that will run again because a lease was lost, not because a process crashed

	shareNow chan struct{} // capacity 1: signals that a rate limit has no share yet
}

// liveShared does what the method live does, if several processes share the store.
func (g *Gateway) liveShared(ctx context.Context, ready func()) error {
	m, err := g.register(ctx)
	if err != nil { // the process was stopped before it began any work
		return nil //nolint:nilerr // err is the error of ctx
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
	m.renew(working) // learn which other replicas exist before receiving begins
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
		g.Log.Error("the lease on the store is lost; joining the replicas again", slog.Int64("replica", int64(m.id)))
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

// register makes this process a replica. If the store refuses, the method register tries again until ctx ends.
func (g *Gateway) register(ctx context.Context) (*member, error) {
	m := &member{g: g, store: g.shared, chats: replica.NewChats(), accepted: replica.NewAccepted(), renewing: make(chan struct{}, 1), heard: make(chan struct{}, 1), receives: make(map[chat.EndpointID]bool), divided: make(map[chat.EndpointID]bool), excused: make(map[string]bool), rejoins: g.lostLeases.Load() > 0, shareNow: make(chan struct{}, 1)}
	for ; ctx.Err() == nil; pause(ctx, renewEvery) {
		asked := time.Now()
		err := m.registerOnce(ctx)
		if err == nil {
			m.lease, m.joined = replica.NewLease(asked), time.Now()
			g.leaseErr.Store(nil)
			g.Log.Info("joined the other replicas", slog.Int64("replica", int64(m.id)))
			return m, nil
		}
		if g.leaseErr.Swap(&err) == nil && ctx.Err() == nil {
			g.Log.Error("this replica can't join the others; trying again until it can", slog.Any("error", err))
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
	m.peers.Store(&[]chat.Replica{self}) // the first renewal returns the other replicas too
	return m.reload(ctx)
}

// excuse records that a turn probably did not crash its process: the turn was interrupted because its replica lost the
// lease. If a lost lease interrupts an attempt to run a turn, this attempt does not count towards maxRuns. excuse
// assumes a lost lease if this process has itself lost a lease and registered again less than chat.LeaseTime ago.
func (m *member) excuse(rec chat.Turn) {
	if !m.rejoins || time.Since(m.joined) > chat.LeaseTime || rec.State != chat.TurnRunning {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.excused[rec.ID] = true
}

// excusedRuns returns 1 if a lost lease interrupted the last attempt to run a turn, and the turn's journal does not
// count this attempt yet. In all other cases, excusedRuns returns 0. The parameter through is the number of the last
// attempt whose end is stored.
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

// forgetExcuse removes a turn from the map excused. The caller must first have counted the excused attempt in the
// turn's journal.
func (g *Gateway) forgetExcuse(turn string) {
	if m := g.member.Load(); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.excused, turn)
	}
}

// self returns the description of this process that the other replicas read from the store.
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

// renewals renews the lease every second until ctx ends or the lease is lost.
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

// renew renews the lease once and reads which other replicas run.
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
	case err != nil && living.Err() != nil: // this process interrupted the renewal, so err says nothing about the store
	case err != nil:
		if m.g.leaseErr.Swap(&err) == nil {
			m.g.Log.Error("the lease was not renewed; trying again until it expires", slog.Any("error", err))
		}
	default:
		m.g.leaseErr.Store(nil)
		m.lease.Renewed(asked)
		m.peers.Store(&peers)
	}
}

// listen receives signals from the store until ctx ends. Signals that the store sends between two connections are lost,
// so Replicas.Listen begins each connection with chat.SignalAll.
func (m *member) listen(ctx context.Context) {
	for failing := false; ctx.Err() == nil; pause(ctx, renewEvery) {
		if err := m.store.Listen(ctx, m.hear); err != nil && ctx.Err() == nil && !failing {
			failing = true
			m.g.Log.Error("signals of other replicas can't be received; trying again until they can", slog.Any("error", err))
		}
	}
}

// hear records a signal of the store and wakes the goroutine that handles signals. hear does not block.
func (m *member) hear(s chat.Signal) {
	m.signals.Or(uint32(s))
	select {
	case m.heard <- struct{}{}:
	default:
	}
}

// fellows returns how many other replicas may receive from an endpoint at this moment, and how many of these are older than
// this replica. The parameter receiving is the context in which this replica receives from the endpoint. Once the context
// receiving has ended, the method fellows first renews the lease to read the list of replicas, because a replica may have
// begun since the last renewal. If this process has no lease, the result all is at least 1, because the process can't know
// whether other replicas run.
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

// hasSuccessor reports whether another replica runs that is not about to stop.
func (m *member) hasSuccessor() bool {
	peers := m.peers.Load()
	return peers != nil && slices.ContainsFunc(*peers, func(r chat.Replica) bool { return r.ID != m.id && !r.Leaving })
}

// The method leave tells the other replicas that this replica is about to stop.
func (m *member) leave(ctx context.Context) {
	m.leaving.Store(true)
	m.renew(ctx)
}

// unregister gives up the lease at once, so that other replicas take over the chats without waiting for the end of the lease.
func (m *member) unregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	m.passKept(ctx)
	m.lease.Lose() // from now on, other replicas may own the chats
	m.retireShares(ctx)
	if err := m.store.Unregister(ctx); err != nil {
		m.g.Log.Error("lease was not given up; the other replicas take over when it expires", slog.Any("error", err))
	}
}

// ahead returns how far this process's clock is ahead of the store's clock. All replicas convert times to the store's
// clock before they compare them.
func (g *Gateway) ahead() time.Duration {
	if g.shared == nil {
		return 0
	}
	return g.shared.Ahead()
}

// lost returns a channel that is closed when the lease is over. If the store is not shared, the method lost returns nil.
func (g *Gateway) lost() <-chan struct{} {
	if m := g.member.Load(); m != nil {
		return m.lease.Lost()
	}
	return nil
}

// mayCall reports whether this process may call platforms. A process that shares the store with others may call
// platforms only while it has a lease.
func (g *Gateway) mayCall() bool {
	m := g.member.Load()
	return m == nil || m.lease.Holds()
}

// CheckLease reports whether err says that the store refused a write because the lease of this process is over. If CheckLease
// returns true, it has ended the lease in this process, so that the process makes no more calls to platforms. After a lost
// lease, the caller tells people nothing about the failed write, because the next owner of the chat repeats the work.
func (g *Gateway) CheckLease(err error) (lost bool) {
	lost = errors.Is(err, chat.ErrLost)
	if m := g.member.Load(); m != nil && lost {
		m.lease.Lose()
	}
	return lost
}

// abort ends all turns and deliveries at once, without storing or sending anything. The channel ended is closed when
// all actors have ended.
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

// forward passes a message that is not stored, such as an edit, to the replica that owns the chat. forward returns
// false if no replica owns the chat.
func (g *Gateway) forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error) {
	if m := g.member.Load(); m != nil {
		m.accepted.Add(replica.Key(c, in), time.Now())
	}
	return g.shared.Forward(ctx, c, in)
}
