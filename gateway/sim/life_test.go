package sim

import (
	"context"
	"log/slog"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// life is one simulated process with its gateway, from its start to its end.
type life struct {
	w        *world
	n        int
	cancel   context.CancelFunc
	dead     chan struct{} // closed by a kill
	ended    chan struct{} // closed when the gateway of the process has returned
	began    time.Time
	died     time.Time // guarded by world.mu
	stopping time.Time // start of a graceful stop; guarded by world.mu
	ghost    bool
	slot     int            // the number of the replica, or 0 without replicas; a new process takes over the slot of the old one
	id       chat.ReplicaID // guarded by world.mu
	renewed  time.Time      // time of the last lease renewal; guarded by world.mu
	lost     bool           // the process died because it lost its lease; guarded by world.mu
	gaveUp   bool           // the process gave up its lease; guarded by world.mu
	blocks   time.Time      // when the process last read the stored rate limits; guarded by world.mu
	ids      knowledge      // what the process knows about message ids; guarded by world.mu
}

// begin starts the next process in a slot.
func (w *world) begin(slot int) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{w: w, slot: slot, cancel: cancel, dead: make(chan struct{}), ended: make(chan struct{}), began: time.Now()}
	w.mu.Lock()
	l.n = len(w.lives)
	w.lives = append(w.lives, l)
	w.mu.Unlock()
	var runner gateway.Runner = script{l}
	if w.s.tools {
		runner = newHand(l)
	}
	button := gateway.ButtonOff
	if w.s.stopButton {
		button = gateway.ButtonOn
	}
	k := &keeper{l: l, store: w.store}
	var replicas gateway.Replicas
	if w.s.replicas > 0 {
		k.store = w.store.Another()
		replicas = k
	}
	g, err := gateway.New(gateway.Options{
		Endpoints: []gateway.Endpoint{{ID: endpoint, Platform: w.s.kind.build(&adapter{l}), Streaming: w.s.config, StopButton: button}},
		Runner:    runner, Store: k, Replicas: replicas,
		Access: access.Rules{Allow: []access.Rule{{Endpoint: endpoint, User: "ann"}, {Endpoint: endpoint, User: "ben"}}, Pair: w.s.pair, Admins: []access.Rule{{Endpoint: endpoint, User: admin}}},
		Limits: access.Limits{TurnsPerMinute: w.s.perMinute},
		Texts:  texts(), Busy: w.s.busy, MaxQueued: w.s.queue, MaxAge: w.s.maxAge, OnEdit: gateway.Restart, FollowThreads: w.s.follows, Grace: grace, ApprovalTimeout: w.s.approval,
		Log: slog.New(panicHandler{w}),
	})
	if err != nil {
		panic(err) // the schedule is invalid
	}
	go func() {
		defer close(l.ended)
		_ = g.Run(ctx, func() {})
	}()
}

const (
	endpoint chat.EndpointID = "bot"
	grace                    = 30 * time.Second
)

func (l *life) isDead() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// diedAt reports whether the process died at or before the given time. The caller holds world.mu.
func (l *life) diedAt(at time.Time) bool { return !l.died.IsZero() && !l.died.After(at) }

// die kills the process. After a call of die, nothing that the process does has an effect. After the duration k.down,
// another process starts in the same slot.
func (l *life) die(k *kill) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.dieLocked(k)
}

func (l *life) dieLocked(k *kill) {
	if l.isDead() {
		return
	}
	l.died, l.ghost = time.Now(), k.ghost
	close(l.dead)
	l.cancel()
	l.w.note("killed %s", k.where)
	l.w.counts.add("kill: "+k.where, 1)
	down := max(k.down, l.w.s.latency) // the next process must not start before calls that were already sent have arrived
	time.AfterFunc(down, func() { l.w.begin(l.slot) })
	l.w.downUntil = later(l.w.downUntil, time.Now().Add(down))
}

// The method stop stops the process gracefully and starts the next one.
func (w *world) stop(k *kill) {
	l := w.alive(k.slot)
	if l == nil {
		return
	}
	w.mu.Lock()
	l.stopping = time.Now()
	w.mu.Unlock()
	l.cancel()
	w.log("stopped")
	select {
	case <-l.ended:
	case <-l.dead:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.isDead() {
		return
	}
	if l.losesLease(); l.lost {
		w.note("ended without a lease")
	} else {
		w.note("ended in good order")
	}
	w.counts.add("kill: "+k.where, 1)
	w.downUntil = later(w.downUntil, time.Now().Add(k.down))
	time.AfterFunc(k.down, func() { w.begin(l.slot) })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// alive returns the running process in a slot, or nil.
func (w *world) alive(slot int) *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	var l *life
	for _, one := range w.lives {
		if one.slot == slot {
			l = one
		}
	}
	if l == nil || l.isDead() {
		return nil
	}
	select {
	case <-l.ended:
		return nil
	default:
		return l
	}
}

// killAt returns the kill that the schedule contains for the call or write with number n, at the moment that the
// parameter where names. If the schedule contains no such kill, killAt returns nil. killAt returns each kill only once.
func (w *world) killAt(n int, where string) *kill {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.killLocked(n, where)
}

func (w *world) killLocked(n int, where string) *kill {
	for i := range w.s.kills {
		if k := &w.s.kills[i]; k.where == where && k.n == n && !w.killed[i] {
			w.killed[i] = true
			return k
		}
	}
	return nil
}
