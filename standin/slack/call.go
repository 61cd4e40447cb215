package slack

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"telex/standin/rig"
)

// Call is one call to the Web API, an upload, a download, or a use of a response URL. An upload has the method
// "upload", a download has "file", and a use of a response URL has "respond".
type Call struct {
	rig.Call
	Channel string `json:"channel,omitempty"`
	// TS is the ts of the message that the call created, or that its argument ts names.
	TS    string `json:"ts,omitempty"`
	Error string `json:"error,omitempty"` // error code of a response with ok=false
	// Params are the received arguments, without tokens and files.
	Params map[string]string `json:"params,omitempty"`

	delivery bool // the call is a delivery to the app
}

// request is the state of a call while the server executes the call. The caller holds s.mu.
type request struct {
	params
	now  time.Time
	call *Call
	http *http.Request
}

// serveCall answers all requests that are neither sockets nor controls.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, method string, cut <-chan struct{}) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		s.Respond(w, r, reply(http.StatusMethodNotAllowed, object{"ok": false}), cut)
		return
	}
	p, aerr := readParams(r)
	call := &Call{
		Call:    rig.Call{At: time.Now(), Method: method},
		Channel: cmp.Or(p.text("channel"), p.text("channel_id")), TS: p.text("ts"), Params: maps.Clone(p.Values),
	}
	delete(call.Params, "token")
	s.learnBase(r)
	var refused *rig.Answer
	if aerr != nil {
		_, _ = io.Copy(io.Discard, r.Body) // read the body to its end, because the client may lose the response otherwise
		call.Error = aerr.code
		refused = new(aerr.answer())
	}
	s.Answer(w, r, call, cut, refused, func() rig.Answer { return s.invoke(r, p, call) })
}

// learnBase records the base URL at which clients reach the server.
func (s *Server) learnBase(r *http.Request) {
	if s.opts.BaseURL == "" && strings.HasPrefix(r.URL.Path, "/api/") && r.Host != "" {
		s.Locked(func() { s.base = scheme(r, "http") + r.Host })
	}
}

// scheme returns the URL scheme for links to the server: plain, or plain with an s if r arrived over TLS.
func scheme(r *http.Request, plain string) string {
	if r.TLS != nil {
		return plain + "s://"
	}
	return plain + "://"
}

func (s *Server) invoke(r *http.Request, p params, call *Call) rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, aerr := rig.Run[apiError](func() any { return s.dispatch(&request{params: p, now: time.Now(), call: call, http: r}) })
	if aerr != nil {
		call.Error = aerr.code
		return aerr.answer()
	}
	call.Effect = call.Error == ""
	if body, ok := result.(object); ok && p.noCharset {
		body["warning"] = "missing_charset"
		body["response_metadata"] = object{"warnings": []string{"missing_charset"}}
	}
	return resultAnswer(result)
}

// finish counts a finished call, and returns attributes for the log.
func (s *Server) finish(call *Call, _ rig.Answer) []slog.Attr {
	if call.Error != "" {
		s.stats.ByError[call.Error]++
	}
	return []slog.Attr{slog.String("channel", call.Channel), slog.String("error", call.Error)}
}

// wait waits for d. wait returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
