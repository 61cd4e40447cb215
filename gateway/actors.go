package gateway

import (
	"log/slog"
	"time"

	"telex/gateway/queue"
	"telex/internal/chat"
)

// wake passes work to a conversation's actor and starts the actor if needed. While the gateway is stopping it
// starts none and returns false: the next process handles stored messages.
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

// isActive reports whether something waits or runs in a conversation.
func (g *Gateway) isActive(c chat.Conversation) bool {
	c = g.now(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.actors[c] != nil
}

// take empties the actor's inbox and orders, and returns them.
func (g *Gateway) take(a *actor) ([]queue.Message, []func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in, orders := a.inbox, a.orders
	a.inbox, a.orders, a.given = nil, nil, time.Time{}
	return in, orders
}

// retire removes an actor that has nothing to do. It returns false if a message arrived in the meantime, so that
// no message is lost between two actors.
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
