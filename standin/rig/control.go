package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
)

const (
	// maxOrder is the maximum size of a request to the control API, in bytes.
	maxOrder = 1 << 20
	// maxSay is the maximum size in bytes of a "say" request, which may contain files in base64.
	maxSay = 128 << 20
)

// errUnknown means that a control does not exist.
var errUnknown = errors.New("no such control")

// Controls are the HTTP controls that only one platform has, by name. The rig encodes the results of these controls as
// JSON.
type Controls struct {
	Get  map[string]func(query url.Values) (any, error)
	Post map[string]func(r *http.Request) (any, error)
	// File returns the content type and the content of a file that people see.
	File func(query url.Values) (contentType string, data []byte, err error)
}

// Posted returns a control that decodes its body into a T and passes the T to the function do. The body of a request to
// such a control is JSON or empty.
func Posted[T any](do func(T) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var in T
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("decode request: %w", err)
		}
		return do(in)
	}
}

// Done is like Posted, for controls without a result.
func Done[T any](do func(T) error) func(*http.Request) (any, error) {
	return Posted(func(in T) (any, error) { return struct{}{}, do(in) })
}

// Limits returns the control that sets a stand-in's limits. off is the value that switches all limits off.
func Limits[L any](off L, set func(published, hidden L)) func(*http.Request) (any, error) {
	return Done(func(in struct {
		Published L    `json:"published"`
		Hidden    L    `json:"hidden"`
		Off       bool `json:"off"`
	},
	) error {
		if in.Off {
			in.Published = off
		}
		set(in.Published, in.Hidden)
		return nil
	})
}

// Found returns nil if ok is true. If ok is false, Found returns an error that names what was not found.
func Found(what string, ok bool) error {
	if !ok {
		return errors.New("no such " + what)
	}
	return nil
}

// restart is the result of the control that restarts the stand-in. The rig restarts only after it has sent the answer.
type restart struct {
	DownMS int `json:"down_ms"`
}

// control answers a request to /control/<name>; see the package comment.
func (g *Rig[C, E]) control(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		g.tellResult(w, r, http.StatusForbidden, nil, err)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/control/")
	switch {
	case r.Method == http.MethodGet && name == "events":
		g.events.Serve(w, r, cut)
		return
	case r.Method == http.MethodGet && name == "file":
		g.serveFile(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, map[bool]int64{false: maxOrder, true: maxSay}[name == "say"])
	result, err := g.order(r, name, cut)
	switch {
	case errors.Is(err, errUnknown):
		g.tellResult(w, r, http.StatusNotFound, nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	case err != nil:
		g.tellResult(w, r, http.StatusBadRequest, nil, err)
	default:
		g.tellResult(w, r, http.StatusOK, result, nil)
	}
	if to, ok := result.(restart); ok && err == nil {
		g.restartBut(time.Duration(to.DownMS)*time.Millisecond, host.Conn(r))
	}
}

// order executes a control: a common one itself, and any other through the platform's Controls.
func (g *Rig[C, E]) order(r *http.Request, name string, cut <-chan struct{}) (any, error) {
	query := r.URL.Query()
	switch r.Method + " " + name {
	case "GET paused":
		most, err := Seconds(query.Get("wait"))
		if err != nil {
			return nil, err
		}
		return g.holds.Wait(r.Context(), most, cut), nil
	case "GET calls":
		return Last(g.Calls(), query.Get("last")), nil
	case "DELETE fault":
		g.ClearFaults()
		return struct{}{}, nil
	case "POST fault":
		return Posted(func(f fault.Fault[C]) (any, error) {
			id, err := g.addFault(f)
			return map[string]int{"id": id}, err
		})(r)
	case "POST outage":
		return Done(func(o fault.Outage) error { return g.outageBut(o, host.Conn(r)) })(r)
	case "POST resume":
		return Posted(func(in struct {
			ID   int  `json:"id"`
			Drop bool `json:"drop"`
		},
		) (any, error) {
			return map[string]int{"resumed": g.holds.Release(in.ID, !in.Drop)}, nil
		})(r)
	case "POST restart":
		return Posted(func(to restart) (any, error) { return to, nil })(r)
	case "POST reset":
		return Done(func(struct{}) error { g.resetBut(host.Conn(r)); return nil })(r)
	}
	if get, ok := g.p.Control.Get[name]; ok && r.Method == http.MethodGet {
		return get(query)
	}
	if post, ok := g.p.Control.Post[name]; ok && r.Method == http.MethodPost {
		return post(r)
	}
	return nil, errUnknown
}

// tellResult answers with a result or an error.
func (g *Rig[C, E]) tellResult(w http.ResponseWriter, r *http.Request, status int, result any, err error) {
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	data, failed := json.Marshal(result)
	if failed != nil {
		status, data = http.StatusInternalServerError, fmt.Appendf(nil, `{"error":%q}`, failed.Error())
	}
	g.send(w, r, Answer{Status: status, ContentType: "application/json", Body: data})
}

// serveFile answers with a file as a download. A browser must not display the file, because its content comes from the
// tested program.
func (g *Rig[C, E]) serveFile(w http.ResponseWriter, r *http.Request) {
	contentType, data, err := g.p.Control.File(r.URL.Query())
	if err != nil {
		g.tellResult(w, r, http.StatusBadRequest, nil, err)
		return
	}
	g.send(w, r, Answer{Status: http.StatusOK, ContentType: contentType, Body: data, Header: http.Header{
		"Content-Disposition": {"attachment"}, "X-Content-Type-Options": {"nosniff"},
	}})
}

// send writes a whole answer before it returns. Therefore, a restart after send can't cut off the answer.
func (g *Rig[C, E]) send(w http.ResponseWriter, r *http.Request, a Answer) {
	if err := a.write(r.Context(), w, nil); err != nil {
		g.p.Log.Debug("answer", slog.Any("error", err))
	}
}

// Time parses a time in RFC 3339 or in milliseconds since 1970. "" means now.
func Time(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("at: RFC 3339 or milliseconds expected: %w", err)
	}
	return at, nil
}

// Seconds parses a number of seconds. "" means 0.
func Seconds(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("wait: seconds expected, got %q", text)
	}
	return time.Duration(n) * time.Second, nil
}

// Last returns the last elements of a list. limit is the number of elements as text. If limit is not a valid number,
// Last returns all elements.
func Last[T any](list []T, limit string) []T {
	if n, err := strconv.Atoi(limit); err == nil && n >= 0 {
		return list[max(0, len(list)-n):]
	}
	return list
}
