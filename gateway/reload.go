package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"telex/internal/chat"
)

// A reload replaces the options as a whole. Each turn, line and call takes the current options when it begins, so
// that a reload interrupts nothing.
//
//	what has changed           what happens
//	options of replies         the next turn has them
//	an endpoint's adapter      the old one stops receiving, and the new one begins at the stored resume cursor;
//	                           replies that run make their next call through the new one, as they do after a restart
//	an endpoint is added       it takes up its stored messages, and receives
//	an endpoint is removed     it stops receiving; what it has accepted is answered
//
// An endpoint keeps its budget and its blocks, even while it is removed from the configuration.

var (
	errNotRunning = errors.New("the gateway is not running")
	errOtherKind  = errors.New("its adapter is of another kind")
)

// prepared are options that are checked, and may become the current ones.
type prepared struct {
	configured
	accounts map[chat.EndpointID]*account
}

// prepare checks options. It changes nothing.
func (g *Gateway) prepare(o Options) (prepared, error) {
	if o.Texts == nil {
		o.Texts = DefaultTexts()
	}
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, DefaultApprovalTimeout)
	o.Store, o.Replicas, o.Log = nil, nil, nil // the gateway keeps these in its own fields, which a reload does not change
	next := prepared{configured{o, make(map[chat.EndpointID]*endpoint)}, make(map[chat.EndpointID]*account)}
	for _, one := range o.Endpoints {
		if next.endpoints[one.ID] != nil {
			return next, fmt.Errorf("endpoint %s is configured twice", one.ID)
		}
		e := g.known[one.ID]
		if e == nil {
			e = newEndpoint(one.ID)
		}
		a, err := g.resolve(e, one)
		if err != nil {
			return next, err
		}
		if before := e.account(); before != nil && g.kind(before.Platform) != g.kind(one.Platform) {
			return next, fmt.Errorf("endpoint %s: %w", one.ID, errOtherKind)
		}
		next.endpoints[one.ID], next.accounts[one.ID] = e, a
	}
	return next, nil
}

// kind returns the capabilities that can't change in a reload. Without replicas, OneReceiver may change: a bot may
// go from polling to a webhook. With replicas it may not, because they reload one after the other. As long as one
// of them polls as the only receiver, messages that others receive by webhook would be refused.
func (g *Gateway) kind(p Platform) chat.Capabilities {
	c := p.Capabilities()
	c.OneReceiver = c.OneReceiver && g.shared != nil
	return c
}

// apply makes prepared options the current ones.
func (g *Gateway) apply(next prepared) {
	for id, e := range next.endpoints {
		e.now.Store(next.accounts[id])
	}
	maps.Copy(g.known, next.endpoints)
	g.policy.SetRules(next.Access)
	g.meter.SetLimits(next.Limits)
	g.options.Store(&next.configured)
}

// Reload replaces the options, except Store, Log and Access.Operators. An endpoint keeps its adapter if its
// Platform is the same value. After an error, nothing has changed. Reload returns once the replaced and removed
// adapters have stopped receiving and the others have begun to connect.
func (g *Gateway) Reload(ctx context.Context, o Options) error {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	switch {
	case g.receiving == nil:
		return errNotRunning
	case g.receiving.Err() != nil:
		return errShutdown
	}
	next, err := g.prepare(o)
	if err != nil {
		return err
	}
	added := maps.Clone(next.endpoints)
	maps.DeleteFunc(added, func(id chat.EndpointID, _ *endpoint) bool { return g.known[id] != nil })
	left, err := g.leftovers(ctx, func(id chat.EndpointID) bool { return added[id] != nil && g.shared == nil }) // with a shared store, Take returns them
	if err == nil {
		err = g.restoreBlocks(ctx, added)
	}
	if err != nil {
		return err
	}
	g.stopReceiving(func(e *endpoint) bool {
		a := next.accounts[e.ID]
		return a == nil || a.Platform != e.account().Platform || e.dead.Load() // the reason why it stopped may be gone
	})
	g.apply(next)
	g.resumeAll(left)
	g.startReceiving() //nolint:contextcheck // they receive until Run ends, and not until ctx does
	g.adviseMoves()
	return nil
}

// startReceiving starts receiving for every endpoint that does not receive yet. It returns once all have begun to
// connect. The caller holds reloading.
func (g *Gateway) startReceiving() {
	var begun sync.WaitGroup
	for _, e := range g.current().endpoints {
		g.divide(e)
		e.offerMenu()
		may := g.mayReceive(e)
		if e.stop != nil && e.standsBy && may {
			e.stop()
			e.stop = nil
		}
		if e.stop != nil {
			continue
		}
		if e.dead.Swap(false) { // the reason why it stopped may be gone
			e.away.Store(false)
		}
		ctx, cancel := context.WithCancel(g.receiving)
		var running sync.WaitGroup
		e.stop, e.standsBy = func() { cancel(); running.Wait() }, !may
		if !may {
			running.Go(func() { g.standBy(ctx, e) })
			g.receivers.Go(running.Wait)
			continue
		}
		begun.Add(1)
		began := sync.OnceFunc(begun.Done)
		running.Go(func() { g.supervise(ctx, e, began) })
		if e.account().menu != nil {
			running.Go(func() { g.offer(ctx, e) })
		}
		g.receivers.Go(running.Wait)
	}
	begun.Wait()
}

// stopOne lets one endpoint stop receiving.
func (g *Gateway) stopOne(e *endpoint) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.stopReceiving(func(other *endpoint) bool { return other == e })
}

// stopReceiving lets some endpoints stop receiving, all at once, and waits for them. The caller holds reloading.
func (g *Gateway) stopReceiving(which func(*endpoint) bool) {
	var stopped sync.WaitGroup
	for _, e := range g.known {
		if e.stop != nil && which(e) {
			stopped.Go(e.stop)
			e.stop = nil
		}
	}
	stopped.Wait()
}
