package gateway

import (
	"context"
	"fmt"
	"log/slog"
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
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.receives[e.ID]
}
