package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/metrics"
	"telex/internal/store"
	"telex/platforms/terminal"
)

// Several daemons, on one machine or on many, may share a database. Each of them is a replica.

// Replicas are the daemons that share a store, as the running daemon sees them.
type Replicas struct {
	Self     int64     `json:"self"`            // id of the daemon that answers; 0: it shares its store with nobody, or has not joined yet
	Trouble  string    `json:"error,omitempty"` // why it can't keep its place among them
	Lost     int64     `json:"leases_lost"`     // by this daemon since its start
	Replicas []Replica `json:"replicas"`        // oldest first; none if the store can't be shared
	shared   bool
}

// Replica is one of the daemons that share a store.
type Replica struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Version   string    `json:"version"`
	Since     time.Time `json:"since"`       // when it joined
	Lag       float64   `json:"lag_seconds"` // age of its lease: since it was renewed last
	Leaving   bool      `json:"leaving"`     // it stops, and hands over what it has
	Endpoints []string  `json:"endpoints"`   // that it runs
	Receives  []string  `json:"receives"`    // those of them from which it receives messages
	Chats     int       `json:"chats"`       // that it owns: it answers there
}

// reserve keeps other daemons from a state directory whose store is a database. A daemon without a directory works, too.
func (a *App) reserve(dir string) error {
	release, err := store.Reserve(dir)
	switch {
	case errors.Is(err, store.ErrLocked):
		return err
	case err != nil:
		a.log.Warn("the state directory can't be used: commands can't look into this daemon", slog.Any("error", err))
		return nil
	}
	a.down.add("state directory", release)
	return nil
}

// share lets other processes use the store too, if it can be shared.
func (a *App) share(kept keptStore, dir string) error {
	shared, ok := kept.(gateway.Replicas)
	if !ok {
		return nil
	}
	name, err := socketName(dir)
	if err != nil {
		return err
	}
	// A terminal talks to the daemon of its machine, so each daemon has an endpoint of its own: the same one after each start.
	a.shared, a.cli = shared, chat.EndpointID(fmt.Sprintf("%s@%s-%.6s", terminal.Endpoint, hostName(), name))
	return nil
}

// hostName returns the name of this machine in letters that an endpoint's name may have.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(":*@/\\", r) || r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, name)
}

// self describes this process for the other replicas.
func (a *App) self() chat.Replica {
	return chat.Replica{Name: fmt.Sprintf("%s pid %d", hostName(), os.Getpid()), Version: a.options.version()}
}

// operators returns the endpoint at which everybody is an operator; empty: there is none.
func (a *App) operators() chat.EndpointID {
	if a.options.Terminal == nil {
		return ""
	}
	return a.cli
}

var errNoLease = errors.New("this daemon has lost its lease on the store, and is joining the other daemons again")

// storeTrouble returns why nothing can be stored or answered now; empty: it can. replica is nil for a store that is not shared.
func (a *App) storeTrouble(replica *gateway.ReplicaState) string {
	var err error
	switch {
	case replica != nil && replica.Err != nil:
		err = replica.Err
	case replica != nil && replica.ID != 0 && !replica.Holds:
		err = errNoLease
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// replicas implements control.replicas.
func (a *App) replicas() Replicas {
	r := a.gateway.Overview().Replica
	out := Replicas{Replicas: []Replica{}}
	if r == nil {
		return out
	}
	out.shared = true
	out.Self, out.Lost, out.Trouble = int64(r.ID), r.Lost, a.storeTrouble(r)
	now := time.Now()
	for _, p := range r.Peers {
		out.Replicas = append(out.Replicas, Replica{
			ID: int64(p.ID), Name: p.Name, Version: p.Version, Since: p.Began, Lag: max(0, now.Sub(p.Renewed)).Seconds(), Leaving: p.Leaving,
			Endpoints: names(p.Endpoints), Receives: names(p.Receives), Chats: p.Chats,
		})
	}
	return out
}

// replicaNow is what the metrics tell of a replica; nil for a store that is not shared.
func (a *App) replicaNow(o gateway.Overview) *metrics.ReplicaNow {
	r := o.Replica
	if r == nil {
		return nil
	}
	now := &metrics.ReplicaNow{
		Holds: r.Holds, Alive: len(r.Peers), Chats: r.Chats, Forwarded: r.Forwarded, Lost: r.Lost, Receives: make(map[string]bool),
	}
	if !r.Renewed.IsZero() {
		now.LeaseAge = time.Since(r.Renewed)
	}
	for _, e := range o.Endpoints {
		if e.ID != a.cli {
			now.Receives[string(e.ID)] = e.State == gateway.Connected || e.State == gateway.Retrying
		}
	}
	return now
}

// adminBeside returns what carries out operators' orders in a process that is no daemon. No daemon has the store, unless it can be
// shared: then those that do get the orders about what runs.
func adminBeside(s keptStore, policy *access.Policy) *localAdmin {
	l := &localAdmin{store: s, policy: policy}
	shared, ok := s.(gateway.Replicas)
	l.forget = func(ctx context.Context, c chat.Conversation) error {
		if ok { // the owner ends what runs, and deletes what that has stored meanwhile
			if _, err := shared.Forward(ctx, c, chat.Inbound{Kind: chat.Forgotten}); err != nil {
				return err
			}
		}
		if err := s.Forget(ctx, c); err != nil {
			return err
		}
		return s.Choose(ctx, c, "")
	}
	if ok {
		l.erase = func(ctx context.Context, p chat.Person) (int, error) {
			return gateway.EraseAtOwners(ctx, s, s, shared.Forward, p)
		}
	}
	return l
}

// names returns the names of endpoints, sorted, but for those of terminals.
func names(list []chat.EndpointID) []string {
	names := []string{}
	for _, e := range list {
		if !strings.HasPrefix(string(e), string(terminal.Endpoint)+"@") {
			names = append(names, string(e))
		}
	}
	slices.Sort(names)
	return names
}
