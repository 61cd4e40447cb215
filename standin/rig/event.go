package rig

import (
	"context"
	"iter"
	"time"

	"telex/standin/fault"
)

// EventHead contains the fields of an event that all platforms have in common. The event type of each platform embeds
// this struct.
type EventHead[C any] struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Kind is call, paused, restart, outage or reset, or a kind that only this platform has.
	Kind   string           `json:"kind"`
	Call   *C               `json:"call,omitempty"`
	Paused *fault.Paused[C] `json:"paused,omitempty"`
}

// Publish sends an event to all watchers. The mutex must be held.
func (g *Rig[C, E]) Publish(kind string, e E) { g.publish(EventHead[C]{Kind: kind}, e) }

// tell publishes an event. c is the call that the event is about, or nil. held is the held call, or nil. The mutex must
// be held.
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

// publish gives an event the next number. publish also copies the values to which the event's pointers refer, so that a
// watcher shares no memory with the stand-in.
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

// Watch returns all events from now on, until ctx ends or the server closes. The sequence can be read only once. Each
// read from the sequence waits for the next event. Unread events stay in memory until ctx ends.
func (g *Rig[C, E]) Watch(ctx context.Context) iter.Seq[E] { return g.events.Watch(ctx) }
