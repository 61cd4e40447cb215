package discord

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
)

// request is one API call on its way through a method; s.mu is held meanwhile.
type request struct {
	route   route
	params  map[string]string
	query   url.Values
	payload json.RawMessage
	files   map[int]upload
	now     time.Time
	call    *Call
	bucket  *scope // nil for a call without a bucket.
}

// param is a parameter of the path; "" when the route has none of that name.
func (r *request) param(name string) string { return r.params[name] }

// form is the JSON object of the request.
func (r *request) form() form { return readForm(r.payload, &formErrors{}) }

// serveAPI answers the calls of the API, and fetches files.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	call := &Call{At: time.Now(), Request: r.Method + " " + withoutTokens(r.URL.Path)}
	t, params, aerr := s.find(r)
	req := &request{route: t, params: params, query: r.URL.Query(), call: call}
	call.Method, call.Channel, call.Message = t.name, params["channel"], params["message"]
	if aerr == nil && !t.public && r.Header.Get("Authorization") != "Bot "+s.opts.Token {
		aerr = plain(http.StatusUnauthorized)
	}
	if aerr == nil {
		req.payload, req.files, aerr = readBody(r)
		call.Body = req.payload
	}
	s.locate(req)
	rule := s.record(call)
	var a answer
	switch banned := s.gate(); {
	case banned != nil:
		a, rule = *banned, nil
	case aerr != nil:
		a, rule = aerr.answer(), nil
		call.Description = aerr.message
	default:
		a = s.perform(r.Context(), req, rule, cut)
	}
	s.finish(w, call, rule, a, cut)
}

// locate finds where an interaction's token leads, so that faults can choose such calls by channel too.
func (s *Server) locate(r *request) {
	if r.param("token") == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactionList {
		if i.Token != r.param("token") {
			continue
		}
		r.call.Channel = i.Channel
		if r.call.Message == "@original" {
			r.call.Message = i.Original
		}
	}
}

// gate is the answer to an address that nobody lets in any more; nil for all others.
func (s *Server) gate() *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.banned(time.Now())
}

// withoutTokens hides the tokens of interactions in a path.
func withoutTokens(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) > 32 && !strings.HasPrefix(path, "/attachments/") {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
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

// perform waits, lets the call take effect, and shapes the answer, bent by the fault that hit it.
func (s *Server) perform(ctx context.Context, r *request, rule *Fault, cut <-chan struct{}) answer {
	half := s.opts.Latency / 2
	if !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	a, done := s.before(ctx, r, rule, cut)
	if !done {
		a = s.after(r.call, rule, s.invoke(r), cut)
	}
	if a.status == statusGone || !host.Pause(half, cut) {
		return answer{status: statusGone}
	}
	return a
}

// invoke counts the call and runs its method under s.mu.
func (s *Server) invoke(r *request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.now = time.Now()
	s.findBucket(r)
	aerr := s.charge(r)
	var result any
	if aerr == nil {
		result, aerr = r.route.serve(s, r)
	}
	var a answer
	if aerr != nil {
		r.call.Description = aerr.message
		a = aerr.answer()
	} else {
		r.call.Effect = true
		a = resultAnswer(result)
	}
	if r.bucket != nil && a.header.Get("X-RateLimit-Scope") != scopeGlobal {
		r.bucket.headers(r.now, a.header)
	}
	return a
}

// findBucket finds the bucket of a call: that of its kind for the channel, guild or token in the path.
func (s *Server) findBucket(r *request) {
	if r.route.bucket == bucketNone {
		return
	}
	resource := orElse(r.param("channel"), r.param("guild"))
	if r.route.bucket == bucketWebhook {
		resource = r.param("token")
		for _, i := range s.interactionList {
			if i.Token == resource {
				resource = i.ID
			}
		}
	}
	r.bucket = s.limiter.scope(r.route.bucket, resource)
}

// finish writes the answer and the record of the call.
func (s *Server) finish(w http.ResponseWriter, call *Call, rule *Fault, a answer, cut <-chan struct{}) {
	s.mu.Lock()
	call.Done, call.Status, call.Code, call.RetryAfter = time.Now(), a.status, a.code, a.retryAfter
	s.stats.ByStatus[a.status]++
	if a.status == http.StatusTooManyRequests {
		s.stats.TooManyRequests++
	}
	s.countInvalid(call.Done, a)
	s.publish(Event{Kind: "call", Channel: call.Channel, Call: call})
	s.mu.Unlock()
	s.log.Debug("call", slog.String("method", call.Method), slog.String("channel", call.Channel),
		slog.Int("status", a.status), slog.String("description", call.Description))
	s.deliver(w, a)
	if rule != nil && rule.Action == ActPauseAnswered {
		s.hold(call, rule, fault.Answered, cut)
	}
}

// deliver writes the answer or drops the connection.
func (s *Server) deliver(w http.ResponseWriter, a answer) {
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

// mark runs f with s.mu held.
func (s *Server) mark(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// getMe answers GET /users/@me.
func (s *Server) getMe(*request) (any, *apiError) {
	return struct {
		User
		Verified bool `json:"verified"`
		Flags    int  `json:"flags"`
	}{s.me, true, 0}, nil
}

func (s *Server) getUser(r *request) (any, *apiError) {
	if u, ok := s.users[r.param("user")]; ok {
		return u, nil
	}
	return nil, notFound(codeUnknownUser, "User")
}

// getApplication answers GET /applications/@me.
func (s *Server) getApplication(*request) (any, *apiError) {
	const limitedContent = 1 << 19 // the intent is switched on for an application in few guilds.
	flags := 0
	if s.opts.MessageContent {
		flags = limitedContent
	}
	return map[string]any{
		"id": s.me.ID, "name": s.me.Username, "icon": nil, "description": "", "bot_public": true,
		"bot_require_code_grant": false, "verify_key": bucketHash(s.me.ID) + bucketHash("key"), "flags": flags, "bot": s.me,
	}, nil
}
