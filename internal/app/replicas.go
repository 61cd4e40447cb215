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

// Several daemons, on one machine or on several machines, may share a database. Each daemon that shares the database is
// a replica.

// Replicas is a daemon's view of all daemons that share its store.
type Replicas struct {
	Self     int64     `json:"self"`            // replica id of this daemon; 0: store not shared, or not joined yet
	Trouble  string    `json:"error,omitempty"` // why this daemon can't renew its lease
	Lost     int64     `json:"leases_lost"`     // number of leases that this daemon has lost since its start
	Shared   bool      `json:"shared"`          // the store can be shared
	Replicas []Replica `json:"replicas"`        // oldest first; empty: the store can't be shared, or the daemon has no lease
}

// Replica is one of the daemons that share a store.
type Replica struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Version   string    `json:"version"`
	Since     time.Time `json:"since"`       // when the replica joined
	Lag       float64   `json:"lag_seconds"` // seconds since the replica last renewed its lease
	Leaving   bool      `json:"leaving"`     // the replica is stopping and hands over its chats
	Endpoints []string  `json:"endpoints"`   // endpoints that the replica runs
	Receives  []string  `json:"receives"`    // endpoints from which the replica receives messages
	Chats     int       `json:"chats"`       // number of chats that the replica owns
}

// reserve locks a state directory, so that no other daemon uses the same one. If the directory can't be used, reserve only logs
// a warning: in this case the store is in a database, so the daemon also works without the directory.
func (a *App) reserve(dir string) error {
	release, err := store.Reserve(dir)
	switch {
	case errors.Is(err, store.ErrLocked):
		return err
	case err != nil:
		a.log.Warn("the state directory can't be used: commands such as telex status can't reach this daemon", slog.Any("error", err))
		return nil
	}
	a.down.add("state directory", release)
	return nil
}

// If the store can be shared, share prepares this daemon for using the store together with other daemons.
func (a *App) share(kept keptStore, dir string) error {
	shared, ok := kept.(gateway.Replicas)
	if !ok {
		return nil
	}
	name, err := socketName(dir)
	if err != nil {
		return err
	}
	// A terminal talks to the daemon on its own machine. So each daemon has its own endpoint for terminals, and the name of this
	// endpoint stays the same after a restart.
	a.shared, a.cli = shared, chat.EndpointID(fmt.Sprintf("%s@%s-%.6s", terminal.Endpoint, hostName(), name))
	return nil
}

// hostName returns the name of this machine, with a hyphen in place of each character that an endpoint's name may not
// contain.
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

// self describes this daemon to the other replicas.
func (a *App) self() chat.Replica {
	return chat.Replica{Name: fmt.Sprintf("%s pid %d", hostName(), os.Getpid()), Version: a.options.version()}
}

// operators returns the endpoint of conversations in terminals. Everybody who uses this endpoint is an operator. If there is no
// endpoint for terminals, operators returns "".
func (a *App) operators() chat.EndpointID {
	if a.options.Terminal == nil {
		return ""
	}
	return a.cli
}

var errNoLease = errors.New("this daemon has lost its lease on the store, and is joining the other daemons again")

// storeTrouble returns the reason why the daemon can't store or answer anything now, or "" if it can. replica is nil
// if the store can't be shared.
func (a *App) storeTrouble(replica *gateway.ReplicaState) string {
	var err error
	switch {
	case replica != nil && replica.Err != nil:
		err = replica.Err
	case replica != nil && replica.ID != 0 && !replica.Holds:
		err = errNoLease
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "the database can't be reached in time: " + err.Error()
	}
	return err.Error()
}

// replicas is the function for the field replicas of control.
func (a *App) replicas() Replicas {
	r := a.gateway.Overview().Replica
	out := Replicas{Replicas: []Replica{}}
	if r == nil {
		return out
	}
	out.Shared = true
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

// replicaNow returns the current metrics of this replica. replicaNow returns nil if the store can't be shared.
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

// adminWithoutDaemon returns the operations for a command that has opened the store itself. If the store can be shared, daemons
// may be using it, so the returned operations also make these daemons stop the affected turns. If the store can't be shared, no
// daemon is using it, because this process has locked it.
func adminWithoutDaemon(s keptStore, policy *access.Policy) *localAdmin {
	l := &localAdmin{store: s, policy: policy}
	shared, ok := s.(gateway.Replicas)
	l.forget = func(ctx context.Context, c chat.Conversation) error {
		if ok { // the replica that owns the chat stops the turns, and deletes what they have stored meanwhile
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

// names returns the names of endpoints in sorted order, without the endpoints for terminals.
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
