package gateway

import (
	"context"
	"fmt"
	"log/slog"

	"telex/internal/chat"
)

// elect tries to become the receiver of endpoints that have only one.
func (m *member) elect(ctx context.Context) error {
	for id, e := range m.g.current().endpoints {
		if m.g.mayReceive(e) {
			continue
		}
		is, err := m.store.Receive(ctx, id)
		if err != nil {
			return fmt.Errorf("elect the receiver: %w", err)
		}
		if is {
			m.mu.Lock()
			m.receives[id] = true
			m.mu.Unlock()
			m.g.Log.Info("this replica receives from now on", slog.String("endpoint", string(id)))
			if e.account().Platform.Capabilities().ReceiverAnswers {
				m.renew(ctx) // the store gives the endpoint's chats to this replica from now on
			}
			m.g.receiveMore() //nolint:contextcheck // receiving outlives this election
		}
	}
	return nil
}

// mayReceive reports whether this process may receive for an endpoint.
func (g *Gateway) mayReceive(e *endpoint) bool {
	m := g.member.Load()
	if m == nil || !e.account().Platform.Capabilities().OneReceiver {
		return true
	}
	return m.isReceiver(e.ID)
}

// isReceiver reports whether this replica was elected as the receiver of an endpoint.
func (m *member) isReceiver(e chat.EndpointID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.receives[e]
}

// standBy lets an adapter do what it has to do while another replica receives.
func (g *Gateway) standBy(ctx context.Context, e *endpoint) {
	adapter, ok := e.account().Platform.(StandbyWorker)
	if !ok {
		return
	}
	if err := caught(func() { adapter.StandBy(ctx) }); err != nil {
		g.Log.Error("panic in an adapter", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
	}
}

// adopt passes a message to the adapter of its endpoint before it is answered, and returns it with what the adapter adds.
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
