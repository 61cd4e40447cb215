package discord

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// request is the state of an API call while the server executes the call. The caller holds s.mu.
type request struct {
	route   route
	params  map[string]string
	query   url.Values
	payload json.RawMessage
	files   map[int]rig.Upload
	now     time.Time
	call    *Call
	bucket  *quota.Scope // nil if no bucket counts the call
}

// param returns a parameter of the path, or "" if the route has no parameter of this name.
func (r *request) param(name string) string { return r.params[name] }

// form returns the JSON object of the request.
func (r *request) form() form { return readForm(r.payload, &formErrors{}) }

// serveAPI answers the calls of the REST API and the downloads of files.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	t, params, aerr := s.findRoute(r)
	call := &Call{
		Call:    rig.Call{At: time.Now(), Method: t.name},
		Request: r.Method + " " + withoutTokens(r.URL.Path), Channel: params["channel"], Message: params["message"],
	}
	req := &request{route: t, params: params, query: r.URL.Query(), call: call}
	if aerr == nil && !t.public && r.Header.Get("Authorization") != "Bot "+s.opts.Token {
		aerr = statusError(http.StatusUnauthorized)
	}
	if aerr == nil {
		req.payload, req.files, aerr = readBody(r)
		call.Body = req.payload
	}
	s.Answer(w, r, call, cut, s.checkAccess(req, aerr), func() rig.Answer { return s.invoke(req) })
}

// checkAccess returns the response to a call that is refused before its method runs, because the call is invalid or the
// client's address is banned. If the path contains an interaction's token, checkAccess finds the interaction's channel,
// so that faults can select the call by channel.
func (s *Server) checkAccess(r *request, aerr *apiError) *rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, token := r.call, r.param("token")
	call.bucket, call.resource = r.route.bucket, cmp.Or(r.param("channel"), r.param("guild"), token)
	for _, i := range s.interactionList {
		if i.Token != token {
			continue
		}
		call.Channel, call.resource = i.Channel, i.ID
		if call.Message == "@original" {
			call.Message = i.Original
		}
	}
	if banned := s.banned(time.Now()); banned != nil {
		return banned
	}
	if aerr == nil {
		return nil
	}
	return new(call.refusedAnswer(aerr))
}

// withoutTokens removes the secret tokens of interactions from a path.
func withoutTokens(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) > 32 && !strings.HasPrefix(path, "/attachments/") {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
}

// invoke counts the call and runs its method under s.mu.
func (s *Server) invoke(r *request) rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.now, r.bucket = time.Now(), s.bucket(r.call)
	result, aerr := rig.Run[apiError](func() any {
		s.charge(r)
		return r.route.serve(s, r)
	})
	var a rig.Answer
	if aerr != nil {
		a = r.call.refusedAnswer(aerr)
	} else {
		r.call.Effect = true
		a = resultAnswer(result)
	}
	if a.Header == nil {
		a.Header = make(http.Header)
	}
	if r.bucket != nil && a.Header.Get("X-RateLimit-Scope") != scopeGlobal {
		headers(r.now, r.bucket, a.Header)
	}
	return a
}

// refusedAnswer returns the response to a refused call, and records it. The caller holds s.mu.
func (c *Call) refusedAnswer(aerr *apiError) rig.Answer {
	c.Code, c.Description = aerr.code, aerr.message
	return aerr.answer()
}

// bucket returns the bucket for a call's kind and the channel, guild or token in its path. bucket returns nil if the
// call has no bucket.
func (s *Server) bucket(call *Call) *quota.Scope {
	if call.bucket == bucketNone {
		return nil
	}
	return s.limiter.scope(call.bucket, call.resource)
}

// finish counts a finished call, and returns attributes for the log.
func (s *Server) finish(call *Call, a rig.Answer) []slog.Attr {
	s.countInvalid(call.Done, a)
	return []slog.Attr{slog.String("channel", call.Channel), slog.String("description", call.Description)}
}

// getMe answers GET /users/@me.
func (s *Server) getMe(*request) any {
	return struct {
		User
		Verified bool `json:"verified"`
		Flags    int  `json:"flags"`
	}{s.me, true, 0}
}

func (s *Server) getUser(r *request) any {
	u, ok := s.users[r.param("user")]
	rig.RefuseIf(!ok, notFound(codeUnknownUser, "User"))
	return u
}

// getApplication answers GET /applications/@me.
func (s *Server) getApplication(*request) any {
	const limitedContent = 1 << 19 // application flag: the message content intent is enabled, and the bot is in few guilds
	flags := 0
	if s.opts.MessageContent {
		flags = limitedContent
	}
	return map[string]any{
		"id": s.me.ID, "name": s.me.Username, "icon": nil, "description": "", "bot_public": true,
		"bot_require_code_grant": false, "verify_key": bucketHash(s.me.ID) + bucketHash("key"), "flags": flags, "bot": s.me,
	}
}
