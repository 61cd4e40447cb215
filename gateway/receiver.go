package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// yieldAfter is how long receiving may fail before another replica becomes the endpoint's receiver. A platform
	// that only restarts one of its servers recovers sooner. So a failing receiver delays answers by at most about
	// this time.
	yieldAfter = 10 * time.Second
	// restFor is how long a replica that stopped being a receiver leaves receiving to others. If no replica can
	// reach the platform, each of them tries once in this time, instead of after every failure.
	restFor = time.Minute
)

// elect tries to make this replica the receiver of every endpoint that allows only one. Where receiving fails here,
// it leaves receiving to another replica.
func (m *member) elect(ctx context.Context) error {
	for _, e := range m.g.current().endpoints {
		if !e.account().Platform.Capabilities().OneReceiver {
			continue
		}
		if err := m.stand(ctx, e); err != nil {
			return fmt.Errorf("elect the receiver: %w", err)
		}
	}
	return nil
}

// stand tries to become or stay the receiver of an endpoint. If receiving fails here and another replica could
// receive, this replica stops being the receiver.
func (m *member) stand(ctx context.Context, e *endpoint) error {
	is, others := m.isReceiver(e.ID), m.mayPass(e)
	switch {
	case is && others && (e.dead.Load() || e.away.Load() || m.fails(e)):
		return m.yield(ctx, e)
	case is && e.away.Load(): // yield failed, and no other replica can receive any more
		e.away.Store(false)
		m.g.receiveMore() //nolint:contextcheck // receiving outlives this election
		return nil
	case is, e.dead.Load(), e.away.Load() && others:
		return nil
	}
	is, err := m.store.Receive(ctx, e.ID)
	if err != nil || !is {
		return err
	}
	m.mu.Lock()
	m.receives[e.ID] = true
	m.mu.Unlock()
	m.g.Log.Info("this replica receives from now on", slog.String("endpoint", string(e.ID)))
	if rested := e.away.Swap(false); rested || e.account().Platform.Capabilities().ReceiverAnswers {
		m.renew(ctx) // the store gives chats of the endpoint to this replica from now on
	}
	m.g.receiveMore() //nolint:contextcheck // receiving outlives this election
	return nil
}

// fails reports whether the receiver of an endpoint has failed for so long that another replica should receive. If
// only the receiver can answer (Capabilities.ReceiverAnswers), nobody knows which other replica could reach the
// platform. Then the limit is restFor, so that each replica tries for as long as the one before it rests.
func (m *member) fails(e *endpoint) bool {
	if e.account().Platform.Capabilities().ReceiverAnswers {
		return e.vital.fails(time.Now()) >= restFor
	}
	return e.vital.fails(time.Now()) >= yieldAfter
}

// mayPass reports whether another replica could receive for an endpoint and answer its chats.
func (m *member) mayPass(e *endpoint) bool {
	peers := m.peers.Load()
	return peers != nil && slices.ContainsFunc(*peers, func(r chat.Replica) bool {
		return r.ID != m.id && !r.Leaving && time.Since(r.Renewed) < chat.LeaseTime &&
			(e.account().Platform.Capabilities().ReceiverAnswers || slices.Contains(r.Endpoints, e.ID))
	})
}

// yield ends that this replica is the receiver of an endpoint. It is called again until the store has recorded
// that.
func (m *member) yield(ctx context.Context, e *endpoint) error {
	if !e.dead.Load() {
		e.away.Store(true)
		m.g.stopOne(e)
	}
	if err := m.store.Yield(ctx, e.ID); err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.receives, e.ID)
	m.mu.Unlock()
	m.g.Log.Warn("this replica can't receive: another one does from now on", slog.String("endpoint", string(e.ID)), slog.Any("error", e.vital.failure()))
	m.renew(ctx)      // the store then gives the endpoint's chats to others, too
	m.g.receiveMore() //nolint:contextcheck // standing by outlives this election
	return nil
}

// isFit reports whether this process can answer the chats of an endpoint, as far as it knows.
func (e *endpoint) isFit() bool { return !e.dead.Load() && !e.away.Load() }

// tellFitness signals to the other replicas that isFit has changed.
func (g *Gateway) tellFitness(ctx context.Context) {
	if m := g.member.Load(); m != nil {
		m.renew(ctx)
		m.hear(chat.SignalWork)
	}
}

// isForeign reports whether another replica should own a chat, because this one can't answer there.
func (m *member) isForeign(c chat.Conversation) bool {
	e := m.g.current().endpoints[c.Endpoint]
	return e == nil || !e.isFit() && m.mayPass(e)
}

// mayReceive reports whether this process may receive for an endpoint.
func (g *Gateway) mayReceive(e *endpoint) bool {
	m := g.member.Load()
	if m == nil || !e.account().Platform.Capabilities().OneReceiver {
		return true
	}
	return m.isReceiver(e.ID) && !e.away.Load()
}

// isReceiver reports whether this replica was elected as the receiver of an endpoint.
func (m *member) isReceiver(e chat.EndpointID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.receives[e]
}

// standBy runs an adapter's work while another replica receives, and learns whether the adapter could receive.
func (g *Gateway) standBy(ctx context.Context, e *endpoint) {
	if e.away.Load() {
		pause(ctx, restFor)
	}
	var failing time.Time // since when the adapter can't reach the platform; zero: it can, or this is unknown
	works := func() {
		failing = time.Time{}
		if ctx.Err() == nil && e.away.Swap(false) {
			g.tellFitness(ctx)
		}
	}
	adapter, ok := e.account().Platform.(StandbyWorker)
	if !ok || e.account().Platform.Capabilities().ReceiverAnswers { // only receiving can show that the adapter works
		works()
	}
	if !ok {
		return
	}
	log := g.Log.With(slog.String("endpoint", string(e.ID)))
	for delay, refusals := firstRetry, 0; ctx.Err() == nil; delay = min(maxRetry, 2*delay) {
		var err error
		began := time.Now()
		if panicked := caught(func() { err = adapter.StandBy(ctx, works) }); panicked != nil {
			log.Error("panic in an adapter", slog.Any("error", panicked))
			err = panicked
		}
		if time.Since(began) > settled {
			delay = firstRetry
		}
		kind := chat.AsSendError(err).Kind
		if kind != chat.Auth {
			refusals = 0
		}
		switch {
		case ctx.Err() != nil:
			return
		case kind == chat.Auth:
			if refusals++; !e.away.Swap(true) { // until the platform accepts the credentials, other replicas get new chats
				g.tellFitness(ctx)
			}
		case kind != chat.Temporary && kind != chat.Uncertain: // the error shows that the platform can be reached
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) >= yieldAfter:
			g.leaveToOthers(ctx, e, err)
		}
		if refusals >= maxRefusals {
			log.Error("the platform refuses the credentials of this replica, which answers nobody there; correct them and reload", slog.Any("error", err))
			e.vital.retries(0, err)
			e.vital.rests()
			g.markDead(ctx, e)
			return
		}
		log.Debug("the platform is not known to work; asking again", slog.Any("error", err))
		pause(ctx, jitter(delay))
	}
}

// leaveToOthers lets other replicas answer the chats of an endpoint, if one can, until the adapter reports that it works.
func (g *Gateway) leaveToOthers(ctx context.Context, e *endpoint, err error) {
	if m := g.member.Load(); m != nil && !e.account().Platform.Capabilities().ReceiverAnswers && m.mayPass(e) && !e.away.Swap(true) {
		g.Log.Warn("this replica can't reach the platform: others answer there", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
		g.tellFitness(ctx)
	}
}

// adopt passes a message to the adapter of its endpoint before the answer. It returns the message with the adapter's
// additions.
func (g *Gateway) adopt(in chat.Inbound, of chat.EndpointID) chat.Inbound {
	e := g.current().endpoints[of]
	if e == nil || in.Kind == chat.Forgotten || in.Kind == chat.Erased {
		return in
	}
	adapter, ok := e.account().Platform.(Adopter)
	if !ok {
		return in
	}
	adopted := in
	if err := caught(func() { adopted = adapter.Adopt(in) }); err != nil {
		g.Log.Error("panic in an adapter", slog.String("endpoint", string(of)), slog.Any("error", err))
		return in
	}
	return adopted
}
