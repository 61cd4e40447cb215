package slack

import (
	"net/http"
	"slices"
	"strings"

	"telex/standin/rig"
)

// Names of calls that are not methods.
const (
	uploadMethod   = "upload"
	downloadMethod = "file"
	respondMethod  = "respond"
	socketMethod   = "socket"

	uploadPath   = "/upload/"
	downloadPath = "/files-pri/"
	respondPath  = "/respond/"

	methodPost = "chat.postMessage"
)

// tier is a class of rate limits.
// Source: https://docs.slack.dev/apis/web-api/rate-limits and the methods' pages.
type tier int

const (
	untiered tier = iota
	tier1
	tier2
	tier3
	tier4
	tierPost
	tierStatus
)

// method describes a method of the Web API according to its page in Slack's documentation.
type method struct {
	tier tier
	// scopes lists the scopes of which the token needs at least one. If scopes is empty, the token needs no scope.
	scopes []string
	// app means that the method requires the app's token in place of the bot's token.
	app bool
	run func(s *Server, r *request) any
}

// methods returns all methods. Each page is https://docs.slack.dev/reference/methods/<name>.
func methods() map[string]method {
	write := []string{"chat:write"}
	pane := []string{"assistant:write"}
	status := []string{"assistant:write", "chat:write"}
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	read := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	manage := []string{"channels:manage", "groups:write", "im:write", "mpim:write"}
	return map[string]method{
		"auth.test": {run: (*Server).authTest},
		"api.test":  {tier: tier4, run: (*Server).apiTest},
		// Older pages of Slack's documentation assign this method to tier 1. A test can set the limit of tier 1 for this
		// method in Limits.Methods.
		"apps.connections.open": {tier: tier3, app: true, scopes: []string{"connections:write"}, run: (*Server).openConnection},

		methodPost:          {tier: tierPost, scopes: write, run: (*Server).postMessage},
		"chat.update":       {tier: tier3, scopes: write, run: rig.On((*Server).channelOf, (*Server).updateMessage)},
		"chat.delete":       {tier: tier3, scopes: write, run: rig.On((*Server).channelOf, (*Server).deleteMessage)},
		"chat.getPermalink": {run: rig.On((*Server).channelOf, (*Server).permalink)},
		"chat.startStream":  {tier: tier2, scopes: write, run: rig.On((*Server).postChannel, (*Server).startStream)},
		"chat.appendStream": {tier: tier4, scopes: write, run: rig.OnBoth((*Server).streamingMessage, (*Server).appendStream)},
		"chat.stopStream":   {tier: tier2, scopes: write, run: rig.OnBoth((*Server).streamingMessage, (*Server).stopStream)},

		"assistant.threads.setStatus":           {tier: tierStatus, scopes: status, run: rig.OnBoth((*Server).threadOf, (*Server).setStatus)},
		"assistant.threads.setTitle":            {tier: tier4, scopes: pane, run: rig.OnBoth((*Server).threadOf, (*Server).setTitle)},
		"assistant.threads.setSuggestedPrompts": {tier: tier4, scopes: pane, run: (*Server).setPrompts},

		"conversations.history": {tier: tier3, scopes: history, run: rig.On((*Server).readableChannel, (*Server).channelHistory)},
		"conversations.replies": {tier: tier3, scopes: history, run: rig.On((*Server).readableChannel, (*Server).threadReplies)},
		"conversations.info":    {tier: tier3, scopes: read, run: rig.On((*Server).channelOf, (*Server).channelInfo)},
		"conversations.open":    {tier: tier3, scopes: manage, run: (*Server).openChannel},

		"files.getUploadURLExternal":   {tier: tier4, scopes: []string{"files:write"}, run: (*Server).uploadURL},
		"files.completeUploadExternal": {tier: tier4, scopes: []string{"files:write"}, run: (*Server).completeUpload},
		"files.info":                   {tier: tier4, scopes: []string{"files:read"}, run: (*Server).fileInfo},
		"files.delete":                 {tier: tier3, scopes: []string{"files:write"}, run: (*Server).deleteFile},

		"users.info":          {tier: tier4, scopes: []string{"users:read"}, run: (*Server).userInfo},
		"users.conversations": {tier: tier3, scopes: read, run: (*Server).userChannels},
	}
}

// AllScopes returns all scopes that the stand-in supports, for the bot's token and for the app's token.
func AllScopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands",
		"connections:write", "files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read",
		"im:write", "mpim:history", "mpim:read", "mpim:write", "users:read",
	}
}

// dispatch runs a call. The caller holds s.mu.
func (s *Server) dispatch(r *request) any {
	switch r.call.Method {
	case uploadMethod:
		return s.receiveUpload(r)
	case downloadMethod:
		return s.download(r)
	case respondMethod:
		return s.useResponse(r)
	}
	m, ok := methods()[r.call.Method]
	rig.RefuseIf(!ok, &apiError{code: "unknown_method", extra: object{"req_method": r.call.Method}})
	if aerr := s.authorize(r, m); aerr != nil {
		panic(aerr)
	}
	s.charge(r.now, s.limiter.method(r.call.Method), r.call)
	return m.run(s, r)
}

// token returns the call's token. The header takes precedence over the argument "token".
func (r *request) token() string {
	if kind, token, ok := strings.Cut(r.http.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.text("token")
}

// authorize checks the token, its kind and its scopes in the same order as Slack.
func (s *Server) authorize(r *request, m method) *apiError {
	if r.call.Method == "api.test" {
		return nil
	}
	token := r.token()
	if m.app { // Slack accepts the app's token only in the header
		token = strings.TrimSpace(strings.TrimPrefix(r.http.Header.Get("Authorization"), "Bearer "))
	}
	switch {
	case token == "":
		return fail("not_authed")
	case token != s.opts.BotToken && token != s.opts.AppToken:
		return fail("invalid_auth")
	case s.revoked && token == s.opts.BotToken:
		return fail("account_inactive")
	case m.app != (token == s.opts.AppToken):
		return fail("not_allowed_token_type")
	}
	if len(m.scopes) == 0 || slices.ContainsFunc(m.scopes, s.granted) {
		return nil
	}
	return s.missingScope(m.scopes[0])
}

func (s *Server) granted(scope string) bool { return slices.Contains(s.opts.Scopes, scope) }

// missingScope returns the error for a missing scope.
func (s *Server) missingScope(needed string) *apiError {
	return &apiError{code: "missing_scope", extra: object{"needed": needed, "provided": strings.Join(s.opts.Scopes, ",")}}
}

// authTest returns the caller's identity. The scopes of the token are in a header of the response:
// https://docs.slack.dev/authentication/installing-with-oauth#scopes
func (s *Server) authTest(*request) any {
	a := reply(http.StatusOK, object{
		"ok": true, "url": "https://" + teamDomain + ".slack.com/", "team": teamName, "user": s.opts.BotName,
		"team_id": TeamID, "user_id": BotUser, "bot_id": BotID, "is_enterprise_install": false,
	})
	a.Header = http.Header{"X-Oauth-Scopes": {strings.Join(s.opts.Scopes, ",")}}
	return a
}

// apiTest returns the call's arguments. The argument "error" makes the call fail.
func (s *Server) apiTest(r *request) any {
	if code := r.text("error"); code != "" {
		panic(fail(code))
	}
	return object{"args": r.Values}
}
