package slack

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"telex/standin/host"
)

// Call is one call to the Web API, an upload, a download or a use of a response URL.
type Call struct {
	At time.Time `json:"at"` // arrival of the request.
	// Done is when the answer was written, or the connection cut; zero before.
	Done    time.Time `json:"done,omitzero"`
	Method  string    `json:"method"` // "file", "upload" or "respond" for what is no method.
	Channel string    `json:"channel,omitempty"`
	// TS is the message that was made or addressed.
	TS string `json:"ts,omitempty"`
	// Status is the HTTP status of the answer, 0 when the connection was cut.
	Status     int    `json:"status"`
	Error      string `json:"error,omitempty"`       // of an answer with ok=false.
	RetryAfter int    `json:"retry_after,omitempty"` // seconds, in a 429.
	// Effect tells whether the call took effect, whatever the client was told.
	Effect bool `json:"effect"`
	// Fault is the action of the fault that hit the call.
	Fault string `json:"fault,omitempty"`
	// Params are the arguments as they arrived, without tokens and files.
	Params map[string]string `json:"params,omitempty"`
}

// request is one call on its way through a method; s.mu is held meanwhile.
type request struct {
	params
	now  time.Time
	call *Call
	http *http.Request
}

// serveCall answers what is no socket and no control.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, method string, cut <-chan struct{}) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		s.respond(w, answer{status: http.StatusMethodNotAllowed, contentType: jsonType, body: encode(object{"ok": false})})
		return
	}
	p, aerr := readParams(r)
	call := &Call{At: time.Now(), Method: method, Channel: orElse(p.text("channel"), p.text("channel_id")), TS: p.text("ts")}
	call.Params = maps.Clone(p.values)
	delete(call.Params, "token")
	rule := s.record(call, r)

	var a answer
	if aerr != nil {
		discard(r.Body)
		s.mark(func() { call.Error = aerr.code })
		a, rule = aerr.answer(), nil
	} else {
		a = s.perform(r, p, call, rule, cut)
	}
	s.finish(w, call, rule, a, cut)
}

// record counts a call and finds the fault that hits it.
func (s *Server) record(call *Call, r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.BaseURL == "" && strings.HasPrefix(r.URL.Path, "/api/") && r.Host != "" {
		s.base = scheme(r, "http") + r.Host
	}
	s.calls = append(s.calls, call)
	s.stats.Calls++
	s.stats.ByMethod[call.Method]++
	return s.match(call, false)
}

// scheme is the beginning of a URL that reaches the server as r did.
func scheme(r *http.Request, plain string) string {
	if r.TLS != nil {
		return plain + "s://"
	}
	return plain + "://"
}

// perform waits, lets the call take effect, and shapes the answer, bent by the
// fault that hit it.
func (s *Server) perform(r *http.Request, p params, call *Call, rule *Fault, cut <-chan struct{}) answer {
	half := s.opts.Latency / 2
	if !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	a, done := s.before(r.Context(), call, rule, cut)
	if !done {
		a = s.invoke(r, p, call) //nolint:contextcheck // what it causes to be delivered outlives it
		a = s.after(call, rule, a, cut)
	}
	if a.status == statusGone || !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	return a
}

func (s *Server) invoke(r *http.Request, p params, call *Call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, aerr := s.dispatch(&request{params: p, now: time.Now(), call: call, http: r})
	if aerr != nil {
		call.Error = aerr.code
		return aerr.answer()
	}
	call.Effect = call.Error == ""
	if body, ok := result.(object); ok && p.bare {
		body["warning"] = "missing_charset"
		body["response_metadata"] = object{"warnings": []string{"missing_charset"}}
	}
	return resultAnswer(result)
}

func (s *Server) mark(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// finish writes the answer and the record of the call.
func (s *Server) finish(w http.ResponseWriter, call *Call, rule *Fault, a answer, cut <-chan struct{}) {
	s.mu.Lock()
	call.Done, call.Status, call.RetryAfter = time.Now(), a.status, a.retryAfter
	s.stats.ByStatus[a.status]++
	if call.Error != "" {
		s.stats.ByError[call.Error]++
	}
	if a.status == http.StatusTooManyRequests {
		s.stats.TooManyRequests++
	}
	s.publish(Event{Kind: "call", Channel: call.Channel, Call: call})
	failed := call.Error
	s.mu.Unlock()
	s.log.Debug("call", slog.String("method", call.Method), slog.String("channel", call.Channel),
		slog.Int("status", a.status), slog.String("error", failed))
	s.respond(w, a)
	s.answered(call, rule, cut)
}

// respond writes the answer or drops the connection.
func (s *Server) respond(w http.ResponseWriter, a answer) {
	if a.status == statusGone {
		panic(http.ErrAbortHandler)
	}
	if err := a.write(w); err != nil {
		s.log.Debug("answer", slog.Any("error", err))
	}
	if a.broken {
		panic(http.ErrAbortHandler)
	}
}

// Calls returns every call so far, in the order of arrival. It is a copy.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Call, len(s.calls))
	for i, c := range s.calls {
		list[i] = *c
	}
	return list
}

// wait pauses unless ctx ends first.
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
