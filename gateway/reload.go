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

// A reload replaces all options at once. Each turn, each line with a fixed text and each call uses the options that are
// current when it begins, so that a reload interrupts nothing.
//
//	what has changed           what happens
//	options of replies         the next turn uses the new options
//	an endpoint's adapter      the old adapter stops receiving, and the new one begins at the stored resume cursor;
//	                           running replies make their next call through the new adapter, as after a restart
//	an endpoint is added       the gateway answers its stored messages, and receives new ones
//	an endpoint is removed     it stops receiving; messages that it has accepted are still answered
//
// The gateway keeps the budget and the rate-limit blocks of an endpoint, even if the endpoint is removed from the
// configuration and added again.

var (
	errNotRunning = errors.New("the gateway is not running")
	errOtherKind  = errors.New("its adapter is of another kind")
)

// prepared contains options that were checked. The method apply makes prepared options the current ones.
type prepared struct {
	configured
	accounts map[chat.EndpointID]*account
}

// prepare checks new options and creates what they need. prepare leaves the current options unchanged.
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

// kind returns the capabilities of an adapter that a reload can't change. In a single process, a reload may change
// OneReceiver, for example when a bot changes from polling to a webhook. With several replicas, a reload can't change
// OneReceiver, because the replicas reload one after the other. While one replica still polls as the only receiver,
// the store would refuse messages that other replicas receive by webhook.
func (g *Gateway) kind(p Platform) chat.Capabilities {
	c := p.Capabilities()
	c.OneReceiver = c.OneReceiver && g.shared != nil
	return c
}

// apply makes the prepared options the current ones.
func (g *Gateway) apply(next prepared) {
	for id, e := range next.endpoints {
		e.now.Store(next.accounts[id])
	}
	maps.Copy(g.known, next.endpoints)
	g.policy.SetRules(next.Access)
	g.meter.SetLimits(next.Limits)
	g.options.Store(&next.configured)
}

// Reload replaces the options, except Store, Log and Access.Operators. If an endpoint's Platform is the same value as
// before, the endpoint keeps its adapter. If Reload returns an error, it has changed nothing. Reload returns once the
// replaced and removed adapters have stopped receiving and the new adapters have begun to connect.
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
	// If the store is shared, Replicas.Take returns the unfinished work of added endpoints.
	left, err := g.leftovers(ctx, func(id chat.EndpointID) bool { return added[id] != nil && g.shared == nil })
	if err == nil {
		err = g.restoreBlocks(ctx, added)
	}
	if err != nil {
		return err
	}
	g.stopReceiving(func(e *endpoint) bool {
		a := next.accounts[e.ID]
		return a == nil || a.Platform != e.account().Platform || e.dead.Load() // the platform may accept the credentials now
	})
	g.apply(next)
	g.resumeAll(left)
	g.startReceiving() //nolint:contextcheck // the endpoints receive until Run ends, even if ctx ends before
	g.adviseMoves()
	return nil
}

// startReceiving starts receiving for every endpoint that does not receive yet. startReceiving returns once all
// endpoints have begun to connect. The caller holds the mutex reloading.
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
		if e.dead.Swap(false) { // the platform may accept the credentials now
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

// stopOne makes one endpoint stop receiving, and waits until the endpoint has stopped.
func (g *Gateway) stopOne(e *endpoint) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.stopReceiving(func(other *endpoint) bool { return other == e })
}

// stopReceiving stops receiving at all endpoints for which the parameter which returns true, at the same time.
// stopReceiving waits until these endpoints have stopped. The caller holds the mutex reloading.
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
