package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Readiness says whether the daemon can do its work.
type Readiness struct {
	Status    string     `json:"status"`          // ready, starting, stopping or failing
	Store     string     `json:"store,omitempty"` // why the daemon can't store anything
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

const (
	// Ready is the status of a daemon whose endpoints are all connected or still connecting.
	Ready = "ready"
	// Failing is the status of a daemon with an endpoint that has stopped permanently.
	Failing = "failing"
)

// Endpoint is the state of a configured endpoint.
type Endpoint struct {
	Name  string `json:"name"`
	State string `json:"state"`           // starting, connected, retrying, on standby, or stopped permanently
	Error string `json:"error,omitempty"` // why the endpoint retries or stopped
}

const (
	// aliveTime is the maximum duration of a check for hanging parts. The result of a check is used again for the time
	// aliveFor, because each check writes to the disk, and anybody may request a check.
	aliveTime = 5 * time.Second
	aliveFor  = time.Second
)

// checks checks whether a part of the daemon hangs, and keeps the result of the last check.
type checks struct {
	alive func(context.Context) error
	busy  chan struct{} // capacity 1; contains an element while a check runs; guards the fields at and last
	at    time.Time
	last  error
}

func newChecks(alive func(context.Context) error) checks {
	return checks{alive: alive, busy: make(chan struct{}, 1)}
}

var errNoCheck = errors.New("an earlier check has not returned")

// check returns an error if a part of the daemon hangs.
func (c *checks) check(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	select {
	case c.busy <- struct{}{}:
	case <-waiting.Done():
		return errNoCheck
	}
	defer func() { <-c.busy }()
	if time.Since(c.at) < aliveFor {
		return c.last
	}
	// Other clients get the result of this check too, so the check must not fail when this client disconnects.
	checking, cancel := context.WithTimeout(context.WithoutCancel(ctx), aliveTime)
	defer cancel()
	c.last = c.alive(checking)
	c.at = time.Now()
	return c.last
}

// health answers /healthz: it reports whether a part of the daemon hangs. The systemd watchdog depends on the same
// check as /healthz.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	err := s.checks.check(r.Context())
	switch {
	case err == nil:
		text(w, http.StatusOK, "ok\n")
	case s.allows(r):
		text(w, http.StatusServiceUnavailable, err.Error()+"\n")
	default:
		text(w, http.StatusServiceUnavailable, "something hangs\n")
	}
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may have disconnected
}

// ready answers /readyz: it reports whether every endpoint is connected or still connecting.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	is := s.Ready()
	status := http.StatusOK
	if is.Status != Ready {
		status = http.StatusServiceUnavailable
	}
	if !s.allows(r) {
		is.Endpoints = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(is) // the client may have disconnected
}
