package replica_test

import (
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway/replica"
	"telex/internal/chat"
)

// holds checks whether the lease is valid, and whether the channel of Lost is closed.
func holds(t *testing.T, l *replica.Lease, want bool) {
	t.Helper()
	synctest.Wait()
	select {
	case <-l.Lost():
		if want {
			t.Errorf("it is lost at %v", time.Now())
		}
	default:
		if !want {
			t.Errorf("nobody is told of its end at %v", time.Now())
		}
	}
	if l.Holds() != want {
		t.Errorf("it holds: %t", !want)
	}
}

// A lease counts from the time when the process requested it, so it ends in the process before it ends in the store.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := time.Now()
		time.Sleep(time.Second) // the store takes a second to answer
		l := replica.NewLease(asked)
		for range 5 {
			time.Sleep(3 * time.Second)
			holds(t, l, true)
			l.Renewed(time.Now())
		}
		asked = time.Now()
		time.Sleep(2 * time.Second)
		l.Renewed(asked)
		time.Sleep(chat.LeaseTime - 3*time.Second)
		holds(t, l, true)
		time.Sleep(time.Second)
		holds(t, l, false)
		l.Renewed(time.Now()) // the store's answer comes too late
		holds(t, l, false)
	})
}

// After a process was suspended, its timers are late, so the process must not rely on a timer to notice the end of its lease.
func TestLeaseAfterASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := replica.NewLease(time.Now().Add(-time.Hour))
		if l.Holds() {
			t.Error("it holds")
		}
		late := replica.NewLease(time.Now().Add(-time.Hour))
		late.Renewed(time.Now()) // the lease is over, but nobody has noticed it yet
		holds(t, late, false)
		holds(t, l, false)
	})
}

func TestLoseALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := replica.NewLease(time.Now())
		l.Lose()
		l.Lose()
		holds(t, l, false)
	})
}
