package gateway

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// stuckAccept is how long one message may take to be stored, and stuckRetry how late a retry may begin.
	stuckAccept = 2 * time.Minute
	stuckRetry  = 2 * time.Minute
	// stuckActor is how long what an actor was given may lie there. The actor looks at it between two steps, and its
	// longest step waits for the store.
	stuckActor = 5 * time.Minute
)

// Alive returns what hangs: an endpoint whose receive loop does not turn, a message that is not stored, a conversation
// that does not look at what it was given; nil when everything moves. An outage that is retried is no hang.
func (g *Gateway) Alive() error {
	now := time.Now()
	var hangs []error
	for _, e := range g.endpoints {
		if err := e.vital.check(now, e.pulse); err != nil && !e.dead.Load() {
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

// vital is what an endpoint's receiving does at the moment.
type vital struct {
	mu      sync.Mutex
	running bool      // the adapter's Run has not returned
	since   time.Time // when Run was called, or is to be called next; zero: receiving has not begun
	last    int       // number of the newest accept
	accepts map[int]time.Time
}

// runs says that the adapter's Run is called now.
func (v *vital) runs() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.since = true, time.Now()
}

// retries says that Run is not under way, and is called again after a wait.
func (v *vital) retries(wait time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.since = false, time.Now().Add(wait)
}

// accepting says that a message is being accepted. The caller calls done at its end.
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

// check returns what hangs. pulse may be nil.
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
			return fmt.Errorf("receiving has not begun again for %v", late.Truncate(time.Second))
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
