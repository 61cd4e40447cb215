package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/admin"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store/memory"
	"telex/platforms/terminal"
)

// farStore is a store that a test can make unreachable.
type farStore struct {
	*memory.Store
	away atomic.Bool
}

var errFar = errors.New("the database can't be reached")

// Register implements gateway.Membership.
func (s *farStore) Register(ctx context.Context, self chat.Replica) (chat.ReplicaID, error) {
	if s.away.Load() {
		return 0, errFar
	}
	return s.Store.Register(ctx, self)
}

// Renew implements gateway.Membership.
func (s *farStore) Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error) {
	if s.away.Load() {
		return nil, errFar
	}
	return s.Store.Renew(ctx, self)
}

// replicaApp returns a daemon that has no endpoints, but can share its store with other daemons.
func replicaApp(t *testing.T, s *farStore, version string) *App {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	a := &App{log: log, store: s, shared: s, cli: "cli@host", options: Options{Version: version}}
	var err error
	a.gateway, err = gateway.New(gateway.Options{Store: s, Replicas: a.shared, Self: a.self(), Grace: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	a.down.log = log
	a.parts.Store(&parts{config: &config.Config{}, answerer: &answerer{}})
	return a
}

// The store becomes unreachable and reachable again. The daemon must report that it is ready only while it can renew its lease.
// The check for hanging parts must succeed even while the store is unreachable.
func TestReadyWithALease(t *testing.T) {
	states := heard(t)
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New()
		s := &farStore{Store: shared.Another()}
		s.away.Store(true)
		a := replicaApp(t, s, "1.0")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		wants := func(status, trouble string) {
			t.Helper()
			synctest.Wait()
			if r := a.readiness(); r.Status != status || r.Store != trouble && (trouble == "" || !strings.Contains(r.Store, trouble)) {
				t.Errorf("got %+v, want %q with %q", r, status, trouble)
			}
			if err := a.alive(t.Context()); err != nil {
				t.Errorf("it hangs: %v", err)
			}
		}
		time.Sleep(55 * time.Second)
		wants(admin.Failing, errFar.Error())
		s.away.Store(false)
		time.Sleep(2 * time.Second)
		wants(admin.Ready, "")
		for range 5 { // while the daemon waits, it sends one message every ten seconds
			if got := <-states; got != "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=joining the other daemons" {
				t.Errorf("without a lease it told %q", got)
			}
		}
		if got, then := <-states, <-states; got != "STATUS=" || then != "READY=1" {
			t.Errorf("with a lease it told %q and %q", got, then)
		}
		now := a.now().Replica
		if now == nil || !now.Holds || now.Alive != 1 || now.Lost != 0 || now.LeaseAge > time.Second {
			t.Errorf("metrics: got %+v", now)
		}
		s.away.Store(true)
		time.Sleep(2 * time.Second)
		wants(admin.Failing, errFar.Error())
		time.Sleep(10 * time.Minute)
		wants(admin.Failing, errFar.Error())
		if now := a.now().Replica; now.Holds || now.Lost != 1 || now.LeaseAge < 10*time.Minute {
			t.Errorf("metrics without a lease: got %+v", now)
		}
		s.away.Store(false)
		time.Sleep(2 * time.Second)
		wants(admin.Ready, "")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Daemons of two versions share a store. Each of the two daemons must list both daemons, with their versions.
func TestReplicasOfTwoVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New()
		old := replicaApp(t, &farStore{Store: shared.Another()}, "1.0")
		newer := replicaApp(t, &farStore{Store: shared.Another()}, "1.1")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for _, a := range []*App{old, newer} {
			go func() { ended <- a.Run(ctx) }()
			time.Sleep(2 * time.Second)
		}
		time.Sleep(2 * time.Second)
		for i, a := range []*App{old, newer} {
			r := a.replicas()
			if r.Self != int64(i+1) || r.Trouble != "" || len(r.Replicas) != 2 || r.Replicas[0].Version != "1.0" || r.Replicas[1].Version != "1.1" {
				t.Errorf("got %+v", r)
			}
			out := &strings.Builder{}
			if err := writeReplicas(Output{Results: out}, r); err != nil || strings.Count(out.String(), "this daemon") != 1 || strings.Contains(out.String(), "runs") {
				t.Errorf("got %q, %v", out, err)
			}
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// The list of replicas must show which daemons are stopping, and which daemons run other endpoints than the other daemons.
func TestReplicasThatDiffer(t *testing.T) {
	t.Parallel()
	out := &strings.Builder{}
	r := Replicas{Self: 2, Trouble: "the database\nis away", Replicas: []Replica{
		{ID: 1, Name: "a pid 1", Version: "1", Endpoints: []string{"tg"}, Receives: []string{"tg"}, Lag: 0.52, Chats: 7},
		{ID: 2, Name: "b pid 2", Version: "2", Endpoints: []string{"dc", "tg"}},
		{ID: 3, Name: "c pid 3", Version: "2", Leaving: true},
	}}
	if err := writeReplicas(Output{Results: out}, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"trouble: the database is away\n", "  0.5s  7      tg        runs tg\n", "this daemon, runs dc, tg\n", "stops\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out.Reset()
	if err := writeReplicas(Output{Results: out}, Replicas{}); err != nil || !strings.Contains(out.String(), "store is a file") {
		t.Errorf("got %q, %v", out, err)
	}
	out.Reset()
	if err := writeReplicas(Output{Results: out}, Replicas{Shared: true}); err != nil || !strings.Contains(out.String(), "is joining the daemons") {
		t.Errorf("got %q, %v", out, err)
	}
}

// The store refuses a tool's call because the daemon's lease has ended. The tool must not return a result to the model before
// the turn has ended, and the daemon must register for a new lease.
func TestFactsWithoutALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &farStore{Store: memory.New().Another()}
		a := replicaApp(t, s, "1.0")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(2 * time.Second)
		var log strings.Builder
		f := facts{store: lostFacts{s}, log: slog.New(slog.NewTextHandler(&log, nil)), checkLease: a.gateway.CheckLease}
		turn, endTurn := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, endTurn) // endTurn ends the turn, as the gateway would
		if _, err := f.Add(turn, "tg:user:1", "likes tides"); !errors.Is(err, context.Canceled) || log.Len() > 0 {
			t.Errorf("got %v, and the log %q", err, &log)
		}
		time.Sleep(2 * time.Second)
		if r := a.gateway.Overview().Replica; r.Lost != 1 || r.ID != 2 {
			t.Errorf("got %+v, want a new lease", r)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// lostFacts is a store whose method Remember reports that the lease has ended. The daemon has not noticed before that its lease
// has ended.
type lostFacts struct{ *farStore }

func (lostFacts) Remember(context.Context, chat.Person, string, int) (chat.Remembered, error) {
	return chat.Remembered{}, chat.ErrLost
}

// A daemon's endpoint for terminals must keep its name after a restart. Two daemons must have different names for their
// endpoints for terminals.
func TestEndpointOfATerminal(t *testing.T) {
	t.Parallel()
	name := func(dir string) chat.EndpointID {
		a := &App{cli: terminal.Endpoint}
		if err := a.share(sharedStore{}, dir); err != nil {
			t.Fatal(err)
		}
		return a.cli
	}
	one := name("/state/one")
	if one != name("/state/one") || one == name("/state/two") || !strings.HasPrefix(string(one), "cli@"+hostName()+"-") {
		t.Errorf("got %q and %q", one, name("/state/two"))
	}
	if got := names([]chat.EndpointID{"tg", one, "dc"}); strings.Join(got, " ") != "dc tg" {
		t.Errorf("got %q", got)
	}
	a := &App{cli: terminal.Endpoint}
	if err := a.share(struct{ keptStore }{}, "/state/one"); err != nil || a.cli != terminal.Endpoint || a.shared != nil {
		t.Errorf("a store that can't be shared: got %q, %v", a.cli, err)
	}
}

// sharedStore has the interfaces of a persistent store that can be shared.
type sharedStore struct {
	keptStore
	gateway.Replicas
}
