package rig

import (
	"context"
	"iter"
	"time"

	"telex/standin/fault"
)

// EventHead is what the events of all platforms have. A platform's own embeds it.
type EventHead[C any] struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Kind is call, paused, restart, outage or reset, or one of the platform's.
	Kind   string           `json:"kind"`
	Call   *C               `json:"call,omitempty"`
	Paused *fault.Paused[C] `json:"paused,omitempty"`
}

// Publish tells all watchers; the mutex is held.
func (g *Rig[C, E]) Publish(kind string, e E) { g.publish(EventHead[C]{Kind: kind}, e) }

// tell tells of a call, of one that is held, or that something happened; the mutex is held.
func (g *Rig[C, E]) tell(kind string, c *C, held *fault.Paused[C]) {
	var e E
	head := EventHead[C]{Kind: kind, Paused: held}
	if c != nil {
		g.p.Place(&e, c)
	}
	if held == nil {
		head.Call = c
	}
	g.publish(head, e)
}

// publish numbers an event and copies what its pointers lead to, so that a watcher never shares memory with the stand-in.
func (g *Rig[C, E]) publish(head EventHead[C], e E) {
	g.events.Publish(func(seq int64) E {
		head.Seq, head.At = seq, time.Now()
		if head.Call != nil {
			head.Call = new(*head.Call)
		}
		*g.p.Head(&e) = head
		g.p.Isolate(&e)
		return e
	})
}

// Watch returns everything that happens from this call on, until ctx ends or the server closes. The sequence can be
// read once; reading blocks. Events that are not read are kept in memory until ctx ends.
func (g *Rig[C, E]) Watch(ctx context.Context) iter.Seq[E] { return g.events.Watch(ctx) }
