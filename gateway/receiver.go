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
	// yieldAfter is how long the receiver of an endpoint may fail before another replica gets its role. A platform that
	// only restarts one of its servers recovers sooner. People wait at most that long for an answer.
	yieldAfter = 10 * time.Second
	// restFor is how long a replica that gave up a role leaves it to others. If none of them can reach the platform,
	// the role passes to each of them once in this time, not with each failure.
	restFor = time.Minute
)

// elect tries to become the receiver of endpoints that have only one, and gives up those that don't work here.
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

// stand tries to become or stay the receiver of an endpoint. If this replica failed, it leaves the role to another one
// that can take it.
func (m *member) stand(ctx context.Context, e *endpoint) error {
	is, others := m.isReceiver(e.ID), m.mayPass(e)
	switch {
	case is && others && (e.dead.Load() || e.away.Load() || m.fails(e)):
		return m.yield(ctx, e)
	case is && e.away.Load(): // the role could not be given up in time
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

// fails reports whether the receiver of an endpoint has failed for so long that another replica should receive. If the
// receiver also answers, nobody knows which other replica could do it, so each of them tries for as long as the last
// one rests.
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

// yield gives up being the receiver of an endpoint. Until the store knows it, this is tried again.
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
	m.renew(ctx)      // its chats go to others, too
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

// isForeign reports whether a chat should be another replica's: this one can't answer there.
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
	var failing time.Time // since when the adapter can't reach the platform; zero: it can, or is not known to
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
			if refusals++; !e.away.Swap(true) { // until the platform knows the bot, new chats go to others
				g.tellFitness(ctx)
			}
		case kind != chat.Temporary && kind != chat.Uncertain: // the platform answers
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
