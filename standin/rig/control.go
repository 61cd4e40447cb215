package rig

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"telex/standin/control"
	"telex/standin/fault"
	"telex/standin/host"
)

// Controls are the controls of a platform beside those that all have, by name. What they return becomes JSON.
type Controls struct {
	Get  map[string]func(query url.Values) (any, error)
	Post map[string]func(r *http.Request) (any, error)
	// File returns the type and the content of a file that people see.
	File func(query url.Values) (contentType string, data []byte, err error)
}

// Posted is a control whose body is a T.
func Posted[T any](do func(T) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var in T
		if err := control.Decode(r.Body, &in); err != nil {
			return nil, err
		}
		return do(in)
	}
}

// Done is Posted for what has no result.
func Done[T any](do func(T) error) func(*http.Request) (any, error) {
	return Posted(func(in T) (any, error) { return struct{}{}, do(in) })
}

// control answers the control API; see the package comment.
func (g *Rig[C, F, E]) control(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	control.API{
		Get:         g.controlGet,
		Post:        g.controlPost,
		File:        func(r *http.Request) (string, []byte, error) { return g.p.Control.File(r.URL.Query()) },
		Events:      func(w http.ResponseWriter, r *http.Request) { g.events.Serve(w, r, cut) },
		ClearFaults: g.ClearFaults,
		Paused:      func(ctx context.Context, most time.Duration) any { return g.holds.Wait(ctx, most, cut) },
		Release:     g.holds.Release,
		Reset:       func(r *http.Request) { g.resetBut(host.Conn(r)) },
		Restart:     func(r *http.Request, down time.Duration) { g.restartBut(down, host.Conn(r)) },
		Log:         g.p.Log,
	}.ServeHTTP(w, r)
}

func (g *Rig[C, F, E]) controlGet(r *http.Request, name string) (any, error) {
	query := r.URL.Query()
	if name == "calls" {
		return control.Last(g.Calls(), query.Get("last")), nil
	}
	if get, ok := g.p.Control.Get[name]; ok {
		return get(query)
	}
	return nil, control.ErrUnknown
}

func (g *Rig[C, F, E]) controlPost(r *http.Request, name string) (any, error) {
	switch name {
	case "fault":
		return Posted(func(f F) (any, error) {
			id, err := g.addFault(f)
			return map[string]int{"id": id}, err
		})(r)
	case "outage":
		return Done(func(o fault.Outage) error { return g.outageBut(o, host.Conn(r)) })(r)
	}
	if post, ok := g.p.Control.Post[name]; ok {
		return post(r)
	}
	return nil, control.ErrUnknown
}
