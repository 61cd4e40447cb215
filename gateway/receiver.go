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
	// yieldAfter is how long receiving may fail before another replica becomes the endpoint's receiver. If a platform only
	// restarts one of its servers, receiving works again before yieldAfter has passed. A receiver that fails delays
	// answers by about yieldAfter at most.
	yieldAfter = 10 * time.Second
	// After a replica has stopped being a receiver, it lets other replicas receive for at least restFor. So if no replica can
	// reach the platform, each replica tries to receive only once in restFor, and not after every failure of another replica.
	restFor = time.Minute
)

// elect tries to make this replica the receiver of every endpoint that allows only one receiver. If this replica can't
// receive messages from an endpoint, the method elect lets another replica become the receiver.
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

// The method stand tries to make this replica the receiver of an endpoint, or to keep it the receiver. If this replica fails
// to receive and another replica could receive, the method stand calls the method yield, so that this replica stops being
// the receiver.
func (m *member) stand(ctx context.Context, e *endpoint) error {
	is, others := m.isReceiver(e.ID), m.mayPass(e)
	switch {
	case is && others && (e.dead.Load() || e.away.Load() || m.fails(e)):
		return m.yield(ctx, e)
	case is && e.away.Load(): // the store did not record the yield, and no other replica can receive now
		e.away.Store(false)
		m.g.receiveMore() //nolint:contextcheck // receiving lasts longer than ctx
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
		m.renew(ctx) // tell the store that this replica can own chats of the endpoint
	}
	m.g.receiveMore() //nolint:contextcheck // receiving lasts longer than ctx
	return nil
}

// The method fails reports whether this replica has failed to receive from an endpoint for so long that another replica
// should receive. Usually, another replica should receive after this replica has failed for yieldAfter. On some platforms,
// only the receiver can answer (Capabilities.ReceiverAnswers), so nobody knows which other replica can reach the platform.
// On a platform where only the receiver can answer, another replica should receive after this replica has failed for
// restFor. Each replica then tries to receive for as long as the replica before it rests.
func (m *member) fails(e *endpoint) bool {
	if e.account().Platform.Capabilities().ReceiverAnswers {
		return e.vital.fails(time.Now()) >= restFor
	}
	return e.vital.fails(time.Now()) >= yieldAfter
}

// mayPass reports whether another replica could receive from an endpoint and answer the messages there.
func (m *member) mayPass(e *endpoint) bool {
	peers := m.peers.Load()
	return peers != nil && slices.ContainsFunc(*peers, func(r chat.Replica) bool {
		return r.ID != m.id && !r.Leaving && time.Since(r.Renewed) < chat.LeaseTime &&
			(e.account().Platform.Capabilities().ReceiverAnswers || slices.Contains(r.Endpoints, e.ID))
	})
}

// yield makes this replica stop being the receiver of an endpoint. The next election calls the method yield again if the
// store could not record the change.
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
	m.renew(ctx)      // tell the store to give the endpoint's chats to other replicas
	m.g.receiveMore() //nolint:contextcheck // standing by lasts longer than ctx
	return nil
}

// isFit reports whether this process can probably answer messages at an endpoint. isFit returns true if the process has
// neither stopped the endpoint nor left the endpoint to other replicas.
func (e *endpoint) isFit() bool { return !e.dead.Load() && !e.away.Load() }

// tellFitness tells the other replicas that the result of isFit for an endpoint has changed.
func (g *Gateway) tellFitness(ctx context.Context) {
	if m := g.member.Load(); m != nil {
		m.renew(ctx)
		m.hear(chat.SignalWork)
	}
}

// isForeign reports whether another replica should own a chat, because this replica can't answer in the chat.
func (m *member) isForeign(c chat.Conversation) bool {
	e := m.g.current().endpoints[c.Endpoint]
	return e == nil || !e.isFit() && m.mayPass(e)
}

// mayReceive reports whether this process may receive messages from an endpoint.
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

// standBy runs the work that an adapter has to do while another replica receives. standBy also finds out whether this
// replica could receive too.
func (g *Gateway) standBy(ctx context.Context, e *endpoint) {
	if e.away.Load() {
		pause(ctx, restFor)
	}
	var failing time.Time // since when the adapter can't reach the platform; zero: it can, or nobody knows
	works := func() {
		failing = time.Time{}
		if ctx.Err() == nil && e.away.Swap(false) {
			g.tellFitness(ctx)
		}
	}
	adapter, ok := e.account().Platform.(StandbyWorker)
	if !ok || e.account().Platform.Capabilities().ReceiverAnswers { // StandBy can't show that the adapter works
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
			if refusals++; !e.away.Swap(true) { // other replicas get new chats until the platform accepts the credentials
				g.tellFitness(ctx)
			}
		case kind != chat.Temporary && kind != chat.Uncertain: // such an error shows that the adapter can reach the platform
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
		log.Debug("it is unknown whether the platform works; checking again", slog.Any("error", err))
		pause(ctx, jitter(delay))
	}
}

// leaveToOthers lets other replicas answer in the chats of an endpoint, until the adapter of this replica reports that
// it works. If no other replica can answer, leaveToOthers does nothing.
func (g *Gateway) leaveToOthers(ctx context.Context, e *endpoint, err error) {
	if m := g.member.Load(); m != nil && !e.account().Platform.Capabilities().ReceiverAnswers && m.mayPass(e) && !e.away.Swap(true) {
		g.Log.Warn("this replica can't reach the platform: others answer there", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
		g.tellFitness(ctx)
	}
}

// adopt passes a message that is about to be answered to the adapter of its endpoint, if the adapter implements
// Adopter. adopt returns the message with the adapter's additions.
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
