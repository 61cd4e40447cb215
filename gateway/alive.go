package gateway

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"telex/internal/chat"
)

const (
	// An endpoint hangs if storing one message takes longer than stuckAccept, or if the next call of the adapter's Run is
	// late by more than stuckRetry.
	stuckAccept = 2 * time.Minute
	stuckRetry  = 2 * time.Minute
	// A conversation hangs if its actor does not read its inbox for longer than stuckActor. The actor reads its inbox
	// between two steps, and the longest step waits for the store.
	stuckActor = 5 * time.Minute
)

// Alive returns an error that lists everything that hangs: an endpoint whose receive loop is blocked, a message that is
// not stored, or a conversation that does not handle its input. Alive returns nil if nothing hangs. An endpoint that
// tries to connect again and again during an outage of its platform does not hang.
func (g *Gateway) Alive() error {
	now := time.Now()
	var hangs []error
	for _, e := range g.current().endpoints {
		if err := e.vital.check(now, e.account().pulse); err != nil && !e.dead.Load() {
			hangs = append(hangs, fmt.Errorf("endpoint %s: %w", e.ID, err))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, a := range g.actors {
		if !a.given.IsZero() && now.Sub(a.given) > stuckActor {
			hangs = append(hangs, fmt.Errorf("conversation %s has not looked at a message for %v", c, now.Sub(a.given).Truncate(time.Second)))
		}
	}
	return errors.Join(hangs...)
}

// vital records whether an endpoint's receive loop runs, waits for a retry or has stopped.
type vital struct {
	mu      sync.Mutex
	running bool      // the adapter's Run has not returned
	since   time.Time // time of the current or next call of Run; zero: Run was never called
	failed  error     // the error with which Run last returned; nil: none yet
	failing time.Time // when Run began to fail; a Run that lasts at least as long as settled ends the failure; zero: no failure
	last    int       // the last key that was added to the map accepts
	accepts map[int]time.Time
}

// runs records that the adapter's Run is called now.
func (v *vital) runs() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.since = true, time.Now()
}

// retries records that the adapter's Run will be called again after the duration wait. retries also records the error
// that Run returned, unless err is nil.
func (v *vital) retries(wait time.Duration, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if err != nil {
		if v.failing.IsZero() || v.running && now.Sub(v.since) >= settled {
			v.failing = now
		}
		v.failed = err
	}
	v.running, v.since = false, now.Add(wait)
}

// rests records that the adapter's Run will not be called again. rests keeps the last error of Run.
func (v *vital) rests() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.since, v.failing = false, time.Time{}, time.Time{}
}

// fails returns for how long the adapter's Run has failed, or 0 if Run may be working now. If the platform rejects the
// bot until an operator changes something, the method fails returns 0, because the platform would reject every other
// process too.
func (v *vital) fails(now time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failing.IsZero() || v.running || chat.AsSendError(v.failed).Kind == chat.Rejected {
		return 0
	}
	return now.Sub(v.failing)
}

// failure returns the last error of Run, or nil if Run has not failed yet.
func (v *vital) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// accepting records that the endpoint is storing a message. The caller calls the returned function done when the
// message is stored.
func (v *vital) accepting() (done func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.accepts == nil {
		v.accepts = make(map[int]time.Time)
	}
	v.last++
	n := v.last
	v.accepts[n] = time.Now()
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.accepts, n)
	}
}

// check returns an error if the endpoint hangs: a message is not stored, the next call of Run is late, or the receive
// loop is blocked. If the parameter pulse is nil, the method check does not check the receive loop.
func (v *vital) check(now time.Time, pulse Pulse) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, began := range v.accepts {
		if took := now.Sub(began); took > stuckAccept {
			return fmt.Errorf("a message has not been stored for %v", took.Truncate(time.Second))
		}
	}
	switch {
	case v.since.IsZero():
		return nil
	case !v.running:
		if late := now.Sub(v.since); late > stuckRetry {
			return fmt.Errorf("receiving has not been retried for %v", late.Truncate(time.Second))
		}
		return nil
	case pulse == nil:
		return nil
	}
	last, limit := pulse.Pulse()
	if last.Before(v.since) {
		last = v.since
	}
	if still := now.Sub(last); still > limit {
		return fmt.Errorf("its receive loop has stood still for %v", still.Truncate(time.Second))
	}
	return nil
}
