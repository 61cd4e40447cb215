package telegram

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"telex/standin/host"
)

// statusGone marks a call whose connection is dropped instead of answered.
const statusGone = 0

// request is one API call on its way through a method; s.mu is held meanwhile.
type request struct {
	params
	now  time.Time
	call *Call
}

// serveBot answers /bot<token>/<method>.
func (s *Server) serveBot(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if aerr := s.checkToken(token); aerr != nil {
		s.respond(w, aerr.answer())
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		s.respond(w, (&apiError{code: http.StatusNotFound, description: "Not Found"}).answer())
		return
	}
	p, err := readParams(r)
	call := &Call{At: time.Now(), Method: canonical(method), Chat: p.integer("chat_id"), MessageID: int(p.integer("message_id"))}
	if call.Method != "getUpdates" {
		call.Params = p.values
	}
	rule := s.record(call)

	var a answer
	if err != nil {
		aerr := badRequest("can't parse request: " + err.Error())
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			aerr = tooLarge()
			_, _ = io.Copy(io.Discard, r.Body) // else the client may lose the answer; its end is no news
		}
		a, rule = aerr.answer(), nil
	} else {
		a = s.perform(r.Context(), p, call, rule, cut)
	}
	s.finish(w, call, rule, a, cut)
}

// record counts a call and finds the fault that hits it.
func (s *Server) record(call *Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	s.stats.Calls++
	s.stats.ByMethod[call.Method]++
	return s.match(call)
}

// checkToken distinguishes, as the platform does, what can't be a token from
// what is none.
func (s *Server) checkToken(token string) *apiError {
	switch {
	case token == s.opts.Token:
		return nil
	case !strings.Contains(token, ":"):
		return &apiError{code: http.StatusNotFound, description: "Not Found"}
	}
	return &apiError{code: http.StatusUnauthorized, description: "Unauthorized"}
}

// perform waits, lets the call take effect, and shapes the answer, bent by the
// fault that hit it.
func (s *Server) perform(ctx context.Context, p params, call *Call, rule *Fault, cut <-chan struct{}) answer {
	half := s.opts.Latency / 2
	if !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	a, done := s.before(ctx, call, rule, cut)
	if !done {
		result, aerr := s.invoke(ctx, p, call, cut)
		switch {
		case aerr == nil:
			a = resultAnswer(result)
			s.mark(func() { call.Effect = true })
		case aerr.code == statusGone:
			return answer{status: statusGone}
		default:
			a = aerr.answer()
			s.mark(func() { call.Description = aerr.description })
		}
		a = s.after(call, rule, a, cut)
	}
	if a.status == statusGone || !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	return a
}

func (s *Server) mark(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// invoke runs the method. All but getUpdates run under s.mu.
func (s *Server) invoke(ctx context.Context, p params, call *Call, cut <-chan struct{}) (any, *apiError) {
	if call.Method == "getUpdates" {
		return s.getUpdates(ctx, p, cut)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &request{params: p, now: time.Now(), call: call}
	if call.download {
		return s.download(r)
	}
	return s.dispatch(r)
}

// finish writes the answer and the record of the call.
func (s *Server) finish(w http.ResponseWriter, call *Call, rule *Fault, a answer, cut <-chan struct{}) {
	s.mu.Lock()
	call.Done, call.Status, call.RetryAfter = time.Now(), a.status, a.retryAfter
	s.stats.ByStatus[a.status]++
	switch a.status {
	case http.StatusTooManyRequests:
		s.stats.TooManyRequests++
	case http.StatusConflict:
		s.stats.Conflicts++
	}
	s.publish(Event{Kind: "call", Chat: call.Chat, Call: call})
	s.mu.Unlock()
	s.log.Debug("call", slog.String("method", call.Method), slog.Int64("chat", call.Chat),
		slog.Int("status", a.status), slog.String("description", call.Description))
	s.respond(w, a)
	s.answered(call, rule, cut)
}

// respond writes the answer or drops the connection.
func (s *Server) respond(w http.ResponseWriter, a answer) {
	if a.status == statusGone {
		panic(http.ErrAbortHandler)
	}
	switch err := a.write(w); {
	case errors.Is(err, errBroken):
		panic(http.ErrAbortHandler)
	case err != nil:
		s.log.Debug("answer", slog.Any("error", err))
	}
}
