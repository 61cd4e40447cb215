package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
)

// asking is a Runner that asks people to approve a tool call, until the test ends the turn.
type asking struct {
	end     chan struct{} // ends the turn
	verdict agent.Verdict
	err     error
	done    chan struct{}
}

func (r *asking) Run(ctx context.Context, t agent.Turn, _ func(agent.Event)) (agent.Result, error) {
	defer close(r.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // this goroutine ends when the test ends the turn, or when the turn has ended
		select {
		case <-r.end:
			cancel()
		case <-r.done:
		}
	}()
	r.verdict, r.err = t.Approver.Approve(ctx, agent.Proposal{Call: agent.ToolCall{ID: "c"}, Tool: "x", Text: "x", Whole: "x", Version: "1"})
	return agent.Result{Text: "ok", Stop: agent.StopDone}, nil
}

// A turn ends while the store is still storing a person's decision. The turn must end at once.
func TestATurnThatEndsWaitsForNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		r := &asking{end: make(chan struct{}), done: make(chan struct{})}
		store := &moody{}
		l.open(t, func(o *gateway.Options) { store.Store, o.Store, o.Runner = o.Store, store, r })
		l.say(t, ask("light"))
		later(119 * time.Second) // the time limit for a decision is 2 minutes
		store.set(func(m *moody) { m.decides = time.Hour })
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		close(r.end)
		later(time.Second)
		select {
		case <-r.done:
			if r.verdict != agent.Denied || !errors.Is(r.err, context.Canceled) {
				t.Errorf("got %v, %v", r.verdict, r.err)
			}
		default:
			t.Error("the turn still waits")
		}
		later(2 * time.Hour)
	})
}
