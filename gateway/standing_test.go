package gateway_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// measured is a branch with a Pulse: while its receive loop runs, the loop reports that it works.
type measured struct{ *branch }

func (m measured) Pulse() (time.Time, time.Duration) {
	if m.receives() {
		return time.Now(), time.Minute
	}
	return time.Time{}, time.Minute
}

// states returns the state of the endpoint at each replica, and whether the replica holds its lease.
func states(r []*fellow) (list []string) {
	for _, one := range r {
		o := one.gateway.Overview()
		list = append(list, fmt.Sprintf("%s %t", o.Endpoints[0].State, o.Replica.Holds))
	}
	return list
}

// A replica must report whether it may answer, and for which endpoints it receives. A replica that has stopped
// receiving must not count as hanging.
func TestReplicaState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, func(o *gateway.Options) {
			o.Endpoints[0].Platform = measured{o.Endpoints[0].Platform.(*branch)}
			o.Self = chat.Replica{Name: "host", Version: "1.2"}
		})
		later(5 * time.Second)
		equal(t, "states", states(r), []string{"connected true", "standby true"})
		for i := range 6 {
			r[0].say(t, in(chat.ChatID(fmt.Sprint("c", i)), ask("a")))
		}
		later(5 * time.Second)
		for i, want := range []int64{0, 3} {
			s := r[i].gateway.Overview().Replica
			if s.Forwarded != want || s.Chats != 3 || s.Lost != 0 || s.Err != nil || time.Since(s.Renewed) > time.Second {
				t.Errorf("replica %d: got %+v", i, s)
			}
			if len(s.Peers) != 2 || s.Peers[0].Name != "host" || s.Peers[0].Version != "1.2" || !slices.Equal(s.Peers[0].Receives, []chat.EndpointID{"tg"}) || len(s.Peers[1].Receives) != 0 {
				t.Errorf("replica %d: got peers %+v", i, s.Peers)
			}
		}
		r[0].store.sever(true)
		later(2 * time.Second)
		if s := r[0].gateway.Overview().Replica; s.Err == nil || !s.Holds {
			t.Errorf("while it can't renew: got %+v", s)
		}
		later(10 * time.Minute)
		if s := r[0].gateway.Overview().Replica; s.Holds || len(s.Peers) != 0 {
			t.Errorf("without a lease: got %+v", s)
		}
		equal(t, "states", states(r), []string{"standby false", "connected true"})
		for i, one := range r {
			if err := one.gateway.Alive(); err != nil {
				t.Errorf("replica %d hangs: %v", i, err)
			}
		}
		r[0].store.sever(false)
		later(5 * time.Second)
		equal(t, "states", states(r), []string{"standby true", "connected true"})
		if s := r[0].gateway.Overview().Replica; s.Lost != 1 || s.Err != nil || s.ID != 3 {
			t.Errorf("after it joined again: got %+v", s)
		}
	})
}

// If the platform allows several receivers, each replica must receive.
func TestReplicasThatAllReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, false, nil)
		later(5 * time.Second)
		equal(t, "states", states(r), []string{"connected true", "connected true"})
		for _, p := range r[0].gateway.Overview().Replica.Peers {
			if !slices.Equal(p.Receives, []chat.EndpointID{"tg"}) {
				t.Errorf("got %+v", p)
			}
		}
	})
}

// Only some of the replicas have an endpoint in their configuration. The endpoint's chats must go to one of the replicas
// that have the endpoint.
func TestReplicaWithoutTheEndpointPassesItsChatsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var options []gateway.Options
		r := fleet(t, 2, false, func(o *gateway.Options) {
			o.Endpoints = append(o.Endpoints, gateway.Endpoint{ID: "other", Platform: newPlatform()})
			options = append(options, *o)
		})
		r[0].say(t, ask("a"))
		later(5 * time.Second)
		owner, other := 0, 1
		if r[0].last().IsZero() {
			owner, other = 1, 0
		}
		less := options[owner]
		less.Endpoints = less.Endpoints[1:]
		if err := r[owner].gateway.Reload(t.Context(), less); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Second)
		r[other].say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "people see", r[0].sees(), []string{"re: a", "re: b"})
		if r[other].last().IsZero() {
			t.Error("the replica with the endpoint did not answer")
		}
	})
}

// If no other process shares the store, the overview must not contain the state of a replica.
func TestNoReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openWith(t, house{platform: newPlatform(), script: newScript()}, func(o *gateway.Options) { o.Store = memory.New() })
		if r := h.gateway.Overview().Replica; r != nil {
			t.Errorf("got %+v", r)
		}
		if err := h.gateway.Alive(); err != nil {
			t.Error(err)
		}
	})
}
