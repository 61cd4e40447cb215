package rig

import (
	"context"
	"net"
	"time"

	"telex/standin/fault"
)

// Fault adds a rule and returns its id. Fault panics if the rule is invalid.
func (g *Rig[C, E]) Fault(f fault.Fault[C]) int {
	id, err := g.addFault(f)
	if err != nil {
		panic(g.p.Name + " stand-in: " + err.Error())
	}
	return id
}

func (g *Rig[C, E]) addFault(f fault.Fault[C]) (int, error) {
	if err := g.p.Check(&f); err != nil {
		return 0, err
	}
	return g.faults.Add(f, f.When()), nil
}

// ClearFaults removes all rules, ends an outage, and lets held calls continue.
func (g *Rig[C, E]) ClearFaults() {
	g.faults.Clear()
	g.Host.Refuse(time.Time{})
	g.Resume(0)
}

// Paused returns the calls that are held by faults.
func (g *Rig[C, E]) Paused() []fault.Paused[C] { return g.holds.List() }

// Resume continues a held call, or all held calls if id is 0. Resume returns the number of calls that it resumed.
func (g *Rig[C, E]) Resume(id int) int { return g.holds.Release(id, true) }

// Drop ends a held call as if its connection had broken at that moment. A call that is held before its effect has no
// effect. id 0 means all held calls. Drop returns the number of calls that it ended.
func (g *Rig[C, E]) Drop(id int) int { return g.holds.Release(id, false) }

// Outage begins an outage. Outage cuts all connections and running calls. The outage hits every call and every new
// connection until it is over or ClearFaults ends it. Outage takes precedence over all faults, which do not count the
// calls that the outage hits. Outage panics if o is invalid.
func (g *Rig[C, E]) Outage(o fault.Outage) {
	if err := g.outageBut(o, nil); err != nil {
		panic(g.p.Name + " stand-in: " + err.Error())
	}
}

func (g *Rig[C, E]) outageBut(o fault.Outage, spare net.Conn) error {
	action, status, lasts, err := o.Effect()
	if err != nil {
		return err
	}
	g.drop(func() []net.Conn {
		until := time.Now().Add(lasts)
		g.faults.Shadow(fault.Fault[C]{Action: action, Status: status}, until)
		if o.Kind == fault.OutageRefuse {
			g.Host.Refuse(until)
		}
		g.tell("outage", nil, nil)
		return g.Host.Cut(spare)
	})
	return nil
}

// Match counts the call in every rule that selects it, and returns the first rule that hits it, or nil. The mutex must
// be held.
func (g *Rig[C, E]) Match(c *C) *fault.Fault[C] {
	common := g.p.Call(c)
	hit := g.faults.Match(common.At, func(f fault.Fault[C]) bool { return g.p.Chooses(&f, c) })
	if hit != nil {
		common.Fault = hit.Action
	}
	return hit
}

// before executes the part of a fault that comes before the call's effect. If before returns true, the call must not
// take effect, and a is its answer.
func (g *Rig[C, E]) before(ctx context.Context, c *C, f *fault.Fault[C], cut <-chan struct{}) (a Answer, done bool) {
	if f == nil {
		return Answer{}, false
	}
	if f.AnswersLate() {
		return Answer{}, false
	}
	if a, done = g.p.Act(f, c); done {
		return a, true
	}
	hold := func() bool { return g.hold(c, f, fault.Before, cut) }
	return Answer{}, !fault.Step{Action: f.Action, Delay: fault.Lasts(f.Delay, f.DelayMS), Cut: cut, Hold: hold}.GoesOn(ctx)
}

// after executes the part of a fault that comes between the call's effect and its answer.
func (g *Rig[C, E]) after(c *C, f *fault.Fault[C], a Answer, cut <-chan struct{}) Answer {
	if f == nil {
		return a
	}
	if f.AnswersLate() {
		if instead, ok := g.p.Act(f, c); ok {
			return instead
		}
	}
	switch f.Action {
	case fault.CutAfter:
		return Answer{}
	case fault.Malformed:
		a.Body = a.Body[:len(a.Body)/2]
	case fault.CutMiddle:
		a.cutMiddle = true
	case fault.Drip:
		a.rate = f.Rate
	case fault.PauseAfter:
		if !g.hold(c, f, fault.After, cut) {
			return Answer{}
		}
	}
	if g.p.Bend != nil {
		a = g.p.Bend(f, a)
	}
	return a
}

// hold holds a call until Resume, Drop, Restart or Close. hold returns false if the call must not continue.
func (g *Rig[C, E]) hold(c *C, f *fault.Fault[C], stage string, cut <-chan struct{}) bool {
	var held C
	g.Locked(func() { held = *c })
	if f.Do != nil {
		f.Do(held)
		return true
	}
	return g.holds.Hold(held, stage, cut, func(p *fault.Paused[C]) {
		g.Locked(func() { g.tell("paused", &held, p) })
	})
}
