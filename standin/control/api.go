package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxBody is the largest request, in bytes.
	maxBody = 1 << 20
	// maxSay is the largest of those that carry files, which are called "say", in bytes of base64.
	maxSay = 128 << 20
)

const jsonType = "application/json"

// ErrUnknown is the error of a name that does not exist.
var ErrUnknown = errors.New("no such control")

// API is what a stand-in does about the requests. Fields must not be nil.
type API struct {
	// Get and Post return the result of a name, which becomes JSON. The body of a Post is bounded.
	Get, Post func(r *http.Request, name string) (any, error)
	// File returns the type and the content of the file that GET /control/file asks for.
	File func(r *http.Request) (contentType string, data []byte, err error)
	// Events answers GET /control/events by itself.
	Events http.HandlerFunc
	// ClearFaults is DELETE /control/fault.
	ClearFaults func()
	// Paused is GET /control/paused: the calls that faults hold, once there is one or so much time is over.
	Paused func(ctx context.Context, most time.Duration) any
	// Release is POST /control/resume: a held call goes on, or ends where it is; id 0 means all. It returns how many.
	Release func(id int, on bool) int
	// Reset is POST /control/reset.
	Reset func(r *http.Request)
	// Restart is POST /control/restart, called after its answer.
	Restart func(r *http.Request, down time.Duration)
	Log     *slog.Logger
}

// order is the body of what all stand-ins do alike.
type order struct {
	ID     int  `json:"id"`
	Drop   bool `json:"drop"`
	DownMS int  `json:"down_ms"`
}

// restart is the result of a Post that restarts the stand-in.
type restart struct {
	DownMS int `json:"down_ms"`
}

// ServeHTTP answers a request to /control/<name>.
func (a API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		a.refuse(w, http.StatusForbidden, err)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/control/")
	switch {
	case name == "events" && r.Method == http.MethodGet:
		a.Events(w, r)
		return
	case name == "file" && r.Method == http.MethodGet:
		a.serveFile(w, r)
		return
	}
	result, err := a.do(w, r, name)
	switch {
	case errors.Is(err, ErrUnknown):
		a.refuse(w, http.StatusNotFound, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	case err != nil:
		a.refuse(w, http.StatusBadRequest, err)
	default:
		a.answer(w, http.StatusOK, result)
	}
	if to, ok := result.(restart); ok && err == nil {
		a.Restart(r, time.Duration(to.DownMS)*time.Millisecond)
	}
}

func (a API) do(w http.ResponseWriter, r *http.Request, name string) (any, error) {
	switch {
	case r.Method == http.MethodGet && name == "paused":
		most, err := Wait(r.URL.Query().Get("wait"))
		if err != nil {
			return nil, err
		}
		return a.Paused(r.Context(), most), nil
	case r.Method == http.MethodGet:
		return a.Get(r, name)
	case r.Method == http.MethodPost:
		most := int64(maxBody)
		if name == "say" {
			most = maxSay
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		return a.post(r, name)
	case r.Method == http.MethodDelete && name == "fault":
		a.ClearFaults()
		return struct{}{}, nil
	}
	return nil, ErrUnknown
}

// post answers what all stand-ins do alike, and leaves the rest to Post.
func (a API) post(r *http.Request, name string) (any, error) {
	switch name {
	case "resume", "reset", "restart":
	default:
		return a.Post(r, name)
	}
	var o order
	if err := Decode(r.Body, &o); err != nil {
		return nil, err
	}
	switch name {
	case "resume":
		return map[string]int{"resumed": a.Release(o.ID, !o.Drop)}, nil
	case "restart":
		return restart{DownMS: o.DownMS}, nil
	}
	a.Reset(r)
	return struct{}{}, nil
}

func (a API) refuse(w http.ResponseWriter, status int, err error) {
	a.answer(w, status, map[string]string{"error": err.Error()})
}

func (a API) answer(w http.ResponseWriter, status int, result any) {
	data, err := json.Marshal(result)
	if err != nil {
		status, data = http.StatusInternalServerError, fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	a.write(w, status, jsonType, data)
}

// serveFile answers with a file. Whatever that says about its type, a browser keeps it and does not show it: it comes
// from who is being tested.
func (a API) serveFile(w http.ResponseWriter, r *http.Request) {
	contentType, data, err := a.File(r)
	if err != nil {
		a.refuse(w, http.StatusBadRequest, err)
		return
	}
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	a.write(w, http.StatusOK, contentType, data)
}

// write sends the whole answer, so that the client has it when write returns: a restart follows some.
func (a API) write(w http.ResponseWriter, status int, contentType string, data []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, err := w.Write(data)
	if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
		a.Log.Debug("answer", slog.Any("error", err))
	}
}

// Decode reads one JSON object strictly; no body is an empty object.
func Decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("decode request: %w", err)
	}
	return nil
}
