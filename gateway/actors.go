package gateway

import (
	"log/slog"
	"time"

	"telex/gateway/queue"
	"telex/internal/chat"
)

// wake calls the parameter give, a function that passes work to a conversation's actor. If the conversation has no
// actor, the method wake starts one. While the gateway is stopping, the method wake starts no actor and returns false,
// because the next process handles the stored messages.
func (g *Gateway) wake(c chat.Conversation, give func(*actor)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.actors[c] // an existing actor finishes its work even if a reload has removed its endpoint
	if a == nil {
		if g.isStopping() {
			return false
		}
		e := g.current().endpoints[c.Endpoint]
		if e == nil {
			g.Log.Warn("conversation of an endpoint that does not run in this process", slog.String("conversation", c.String()))
			return false
		}
		a = newActor(g, e, c)
		g.actors[c] = a
		defer g.running.Go(a.run) // runs after give
	}
	give(a)
	a.started = true
	if a.given.IsZero() {
		a.given = time.Now()
	}
	a.poke()
	return true
}

// isActive reports whether a conversation has an actor. An actor exists only while it has something to do.
func (g *Gateway) isActive(c chat.Conversation) bool {
	c = g.now(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.actors[c] != nil
}

// The method take empties the inbox and the orders of an actor, and returns them.
func (g *Gateway) take(a *actor) ([]queue.Message, []func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in, orders := a.inbox, a.orders
	a.inbox, a.orders, a.given = nil, nil, time.Time{}
	return in, orders
}

// retire removes an actor that has nothing to do. If a message has arrived in the meantime, the method retire returns
// false, and the actor must handle this message.
func (g *Gateway) retire(a *actor) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(a.inbox)+len(a.orders) > 0 {
		return false
	}
	for _, c := range append(a.aliases, a.conversation) {
		delete(g.actors, c)
	}
	return true
}
