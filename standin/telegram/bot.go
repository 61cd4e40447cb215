package telegram

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"telex/standin/rig"
)

// request is the state of an API call while the server executes the call. The method that executes the call holds s.mu.
type request struct {
	params
	now  time.Time
	call *Call
}

// serveBot answers /bot<token>/<method>.
func (s *Server) serveBot(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if aerr := s.checkToken(token); aerr != nil {
		s.Respond(w, r, aerr.answer(), cut)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		s.Respond(w, r, noFile().answer(), cut)
		return
	}
	form, err := rig.ReadForm(r, maxBody)
	p := params{form}
	call := &Call{
		Call: rig.Call{At: time.Now(), Method: canonicalName(method)},
		Chat: p.integer("chat_id"), MessageID: int(p.integer("message_id")),
	}
	if call.Method != pollMethod {
		call.Params = p.Values
	}
	var refused *rig.Answer
	if err != nil {
		aerr := badRequest("can't parse request: " + err.Error())
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			aerr = tooLarge()
			_, _ = io.Copy(io.Discard, r.Body) // read the body to its end, because the client may lose the response otherwise
		}
		refused = new(aerr.answer())
	}
	s.Answer(w, r, call, cut, refused, func() rig.Answer { return s.invoke(r.Context(), p, call, cut) })
}

// checkToken returns an error if the token is wrong. Like Telegram, checkToken distinguishes an invalid token from an
// unknown one.
func (s *Server) checkToken(token string) *apiError {
	switch {
	case token == s.Token():
		return nil
	case !strings.Contains(token, ":"):
		return &apiError{code: http.StatusNotFound, description: "Not Found"}
	}
	return &apiError{code: http.StatusUnauthorized, description: "Unauthorized"}
}

// invoke runs a method of the API. invoke holds s.mu during all methods except getUpdates, which waits.
func (s *Server) invoke(ctx context.Context, p params, call *Call, cut <-chan struct{}) rig.Answer {
	if call.Method == pollMethod {
		result, refused := rig.Run[apiError](func() any { return s.getUpdates(ctx, p, cut) })
		s.mu.Lock()
		defer s.mu.Unlock()
		return call.answer(result, refused)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return call.answer(rig.Run[apiError](func() any { return s.dispatch(&request{params: p, now: time.Now(), call: call}) }))
}

// answer returns the response to a call and records its result. The caller holds s.mu.
func (c *Call) answer(result any, aerr *apiError) rig.Answer {
	if aerr != nil {
		c.Description = aerr.description
		return aerr.answer()
	}
	c.Effect = true
	return resultAnswer(result)
}

// finish counts a finished call, and returns attributes for the log.
func (s *Server) finish(call *Call, a rig.Answer) []slog.Attr {
	if a.Status == http.StatusConflict {
		s.stats.Conflicts++
	}
	return []slog.Attr{slog.Int64("chat", call.Chat), slog.String("description", call.Description)}
}
