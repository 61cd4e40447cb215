package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/config"
	"telex/internal/store/postgres"
)

// ErrNoPlace means that the running daemon has no lease. ShowReplicas writes the list of replicas before it returns ErrNoPlace.
var ErrNoPlace = errors.New("the daemon has no lease on the store")

const notShared = "This daemon's store is a file, which no other daemon can use. With a PostgreSQL database,\n" +
	"several daemons can share the work; docs/scale.md says how."

// ShowReplicas asks the running daemon for the replicas, and writes them. ShowReplicas fails if it can't reach the
// daemon.
func ShowReplicas(ctx context.Context, env config.Env, o Output) error {
	conn, err := dialRunning(ctx, env)
	if err != nil {
		return err
	}
	r, err := ask[Replicas](ctx, remote{conn}, http.MethodGet, pathReplicas, nil)
	if err != nil {
		return err
	}
	if o.JSON {
		err = o.json(r)
	} else {
		err = writeReplicas(o, r)
	}
	if err == nil && r.Trouble != "" {
		err = ErrNoPlace
	}
	return err
}

func writeReplicas(o Output, r Replicas) error {
	if r.Trouble != "" {
		if err := o.line("trouble: %s", oneLine(r.Trouble)); err != nil {
			return err
		}
	}
	if len(r.Replicas) == 0 {
		switch {
		case r.Trouble != "":
			return nil
		case r.Shared:
			return o.line("This daemon is joining the daemons that share its database. Ask again in a second.")
		}
		return o.line(notShared)
	}
	rows := [][]string{{"REPLICA", "NAME", "VERSION", "SINCE", "LAG", "CHATS", "RECEIVES", ""}}
	for _, one := range r.Replicas {
		receives := "-"
		if len(one.Receives) > 0 {
			receives = strings.Join(one.Receives, ", ")
		}
		rows = append(rows, []string{
			strconv.FormatInt(one.ID, 10), one.Name, one.Version, one.Since.Local().Format(time.DateTime), //nolint:gosmopolitan // shown in local time
			fmt.Sprintf("%.1fs", one.Lag), strconv.Itoa(one.Chats), receives, strings.Join(r.remarks(one), ", "),
		})
	}
	return o.table(rows...)
}

// remarks returns what else an operator should know about a replica, for example that this replica runs other endpoints than
// another one.
func (r Replicas) remarks(one Replica) (list []string) {
	if one.ID == r.Self {
		list = append(list, "this daemon")
	}
	if one.Leaving {
		list = append(list, "stops")
	}
	for _, other := range r.Replicas {
		if !one.Leaving && !other.Leaving && !slices.Equal(one.Endpoints, other.Endpoints) {
			return append(list, "runs "+strings.Join(one.Endpoints, ", ")) // the replicas have different configurations
		}
	}
	return list
}

// ownerRow says which replica answers in a chat. Scripts read an ownerRow as JSON.
type ownerRow struct {
	Replica int64  `json:"replica"`
	Name    string `json:"name"`
	Chat    string `json:"chat"`
}

// ListOwners writes which replica answers in which chat. ListOwners reads the store itself, so no daemon needs to run.
func ListOwners(ctx context.Context, env config.Env, o Output) (err error) {
	at, err := locate(env)
	if err != nil {
		return err
	}
	list := []ownerRow{}
	if !at.dsn.IsSQLite() {
		s, err := postgres.Open(ctx, postgres.Options{DSN: at.dsn.Reveal()})
		if err != nil {
			return err
		}
		owned, err := s.Owned(ctx)
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		for _, c := range owned {
			list = append(list, ownerRow{int64(c.Replica), c.Name, c.Chat.String()})
		}
	}
	switch {
	case o.JSON:
		return o.json(list)
	case at.dsn.IsSQLite():
		return o.line(notShared)
	}
	rows := [][]string{{"REPLICA", "NAME", "CHAT"}}
	for _, row := range list {
		rows = append(rows, []string{strconv.FormatInt(row.Replica, 10), row.Name, row.Chat})
	}
	return o.table(rows...)
}
