package gateway

import (
	"context"
	"time"

	"telex/internal/chat"
)

// What operators can do with a running gateway.

// Forget ends what runs in a conversation and deletes its history, like /new, but without a reply. It returns
// when that is done or ctx ends.
func (g *Gateway) Forget(ctx context.Context, c chat.Conversation) error {
	if g.current().endpoints[c.Endpoint] == nil && !g.isActive(c) { // the endpoint is not configured any more, so nothing runs there
		return g.store.histories.Forget(ctx, c)
	}
	return g.order(ctx, c, func(a *actor) error {
		a.clear(time.Now())
		a.cutParked(anyTurn)
		a.void()
		return g.store.histories.Forget(ctx, c)
	})
}

// Erase deletes what a person asked in running conversations. It ends the person's turns and drops their
// messages there. The caller deletes the rest from the store. Erase returns the number of deleted history
// entries, also on error.
func (g *Gateway) Erase(ctx context.Context, p chat.Person) (int, error) {
	g.mu.Lock()
	var here []chat.Conversation
	for c := range g.actors {
		if c.Endpoint == p.Endpoint {
			here = append(here, c)
		}
	}
	g.mu.Unlock()
	n := 0
	for _, c := range here {
		erased := make(chan int, 1)
		if err := g.order(ctx, c, func(a *actor) error {
			went, err := a.erase(p.User)
			erased <- went
			return err
		}); err != nil {
			return n, err
		}
		n += <-erased
	}
	return n, nil
}

// order runs a function in an actor between two messages.
func (g *Gateway) order(ctx context.Context, c chat.Conversation, do func(*actor) error) error {
	done := make(chan error, 1)
	if !g.wake(c, func(a *actor) {
		a.orders = append(a.orders, func() {
			err := errPanic
			defer func() { done <- err }()
			err = do(a)
		})
	}) {
		return errShutdown
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
