package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"telex/internal/admin"
	"telex/internal/config"
)

// DaemonStatus is the state of a running daemon. Scripts read a DaemonStatus as JSON. DaemonStatus contains no texts of
// messages.
type DaemonStatus struct {
	PID           int                  `json:"pid"`
	Version       string               `json:"version"`
	Config        string               `json:"config"` // path of the daemon's configuration
	Started       time.Time            `json:"started"`
	Status        string               `json:"status"`             // from /readyz: ready, starting, stopping or failing
	Hangs         string               `json:"hangs,omitempty"`    // which parts hang, according to the watchdog's check
	Store         string               `json:"store,omitempty"`    // why the daemon can't store anything; empty: it can
	Replicas      *Replicas            `json:"replicas,omitempty"` // nil: the store can't be shared
	Endpoints     []EndpointStatus     `json:"endpoints"`
	Conversations []ConversationStatus `json:"conversations"` // conversations with a growing reply or with waiting messages
}

// EndpointStatus is the state of one endpoint.
type EndpointStatus struct {
	Name    string     `json:"name"`
	Network string     `json:"network"`
	State   string     `json:"state"`
	Since   *time.Time `json:"since,omitempty"`
	Error   string     `json:"error,omitempty"`
	Waiting int        `json:"waiting_calls"` // number of calls that wait for the platform's limits
}

// ConversationStatus is the state of one conversation.
type ConversationStatus struct {
	Conversation string     `json:"conversation"`
	Turn         string     `json:"turn,omitempty"`
	Began        *time.Time `json:"began,omitempty"`
	Written      int        `json:"written"` // number of characters that the model has written so far
	Visible      int        `json:"visible"` // number of characters that people see
	Waits        string     `json:"waits,omitempty"`
	Queued       int        `json:"queued"` // number of messages that wait for their turn
	Parked       int        `json:"parked"` // number of replies that are delivered in the background
}

// ErrNotWell means that a part of the daemon hangs, or that an endpoint has stopped permanently. ShowStatus writes the daemon's
// status before it returns ErrNotWell.
var ErrNotWell = errors.New("the daemon is not well")

// daemonStatus returns the response for the field status of control.
func (a *App) daemonStatus(ctx context.Context, page *statusPage, c *config.Config) DaemonStatus {
	s := statusOf(page.status(ctx))
	s.PID, s.Config = os.Getpid(), absolute(c.File())
	if r := a.replicas(); r.Shared {
		s.Replicas = &r
	}
	if err := a.alive(ctx); err != nil {
		s.Hangs = err.Error()
	}
	return s
}

// statusOf returns the data of the status page, but leaves out the texts that people and models have written.
func statusOf(s admin.Status) DaemonStatus {
	d := DaemonStatus{
		Version: s.Version, Started: s.Started, Status: s.Readiness.Status, Store: s.Readiness.Store,
		Endpoints: []EndpointStatus{}, Conversations: []ConversationStatus{},
	}
	for _, e := range s.Endpoints {
		d.Endpoints = append(d.Endpoints, EndpointStatus{
			Name: e.Name, Network: e.Network, State: e.State, Since: timeOrNil(e.Since), Error: e.Error, Waiting: e.Waiting,
		})
	}
	for _, r := range s.Replies {
		d.Conversations = append(d.Conversations, ConversationStatus{
			Conversation: r.Conversation, Turn: r.Turn, Began: timeOrNil(r.Began), Written: r.Length, Visible: r.Visible,
			Waits: r.Waits, Queued: r.Queued, Parked: r.Parked,
		})
	}
	return d
}

// timeOrNil returns a time, or nil for the zero time.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// errNoDaemon means that a command could not reach a daemon.
var errNoDaemon = errors.New("no daemon runs with this state directory as this user")

// ShowStatus asks the running daemon for its status, and writes it. ShowStatus fails if it can't reach the daemon.
func ShowStatus(ctx context.Context, env config.Env, o Output) error {
	dir, err := stateDir(env)
	if err != nil {
		return err
	}
	s, err := askStatus(ctx, env, dir)
	if errors.Is(err, errNoSocket) {
		return fmt.Errorf("%w: %s", errNoDaemon, dir)
	}
	if err != nil {
		return err
	}
	write := func() error { return writeStatus(o, s, time.Now()) }
	if o.JSON {
		write = func() error { return o.json(s) }
	}
	if err := write(); err != nil {
		return err
	}
	if s.Hangs != "" || s.Status == admin.Failing {
		return ErrNotWell
	}
	return nil
}

// askStatus asks the daemon whose state directory is dir for its status. askStatus fails with errNoSocket if it can't
// reach the daemon.
func askStatus(ctx context.Context, env config.Env, dir string) (DaemonStatus, error) {
	conn, err := dialDaemon(ctx, env, dir)
	if err != nil {
		return DaemonStatus{}, err
	}
	return ask[DaemonStatus](ctx, remote{conn}, http.MethodGet, pathStatus, nil)
}

func writeStatus(o Output, s DaemonStatus, now time.Time) error {
	if _, err := fmt.Fprintf(o.Results, "telex %s, running for %v: %s\nprocess %d, with %s\n", s.Version, now.Sub(s.Started).Round(time.Second), s.Status, s.PID, s.Config); err != nil {
		return err
	}
	if s.Hangs != "" {
		if _, err := fmt.Fprintf(o.Results, "hangs: %s\n", oneLine(s.Hangs)); err != nil {
			return err
		}
	}
	if s.Store != "" {
		if err := o.line("store: %s", oneLine(s.Store)); err != nil {
			return err
		}
	}
	if s.Replicas != nil {
		if err := o.line("replica %d; known replicas with a lease: %d (telex replicas shows them)", s.Replicas.Self, len(s.Replicas.Replicas)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(o.Results); err != nil {
		return err
	}
	rows := [][]string{{"ENDPOINT", "PLATFORM", "STATE", "SINCE", "WAITING CALLS", "ERROR"}}
	for _, e := range s.Endpoints {
		since := "-"
		if e.Since != nil {
			since = e.Since.Local().Format(time.DateTime) //nolint:gosmopolitan // shown in local time
		}
		rows = append(rows, []string{e.Name, e.Network, e.State, since, strconv.Itoa(e.Waiting), e.Error})
	}
	if err := o.table(rows...); err != nil {
		return err
	}
	if len(s.Conversations) == 0 {
		_, err := fmt.Fprintln(o.Remarks, "\nNo reply is under way, and no message waits.")
		return err
	}
	rows = [][]string{{"CONVERSATION", "REPLY", "FOR", "WRITTEN", "VISIBLE", "QUEUED", "PARKED", "WAITS"}}
	for _, c := range s.Conversations {
		since := "-"
		if c.Began != nil {
			since = now.Sub(*c.Began).Round(time.Second).String()
		}
		rows = append(rows, []string{
			c.Conversation, c.Turn, since, strconv.Itoa(c.Written), strconv.Itoa(c.Visible), strconv.Itoa(c.Queued), strconv.Itoa(c.Parked), c.Waits,
		})
	}
	if _, err := fmt.Fprintln(o.Results); err != nil {
		return err
	}
	return o.table(rows...)
}
