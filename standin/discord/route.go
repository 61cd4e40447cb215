package discord

import (
	"net/http"
	"slices"
	"strings"

	"telex/standin/rig"
)

// route is one method of the API.
type route struct {
	method, path string // {x} in the path is a parameter
	name         string
	bucket       string
	serve        func(*Server, *request) any
	// interaction marks calls that have an interaction's token in the path. The global limit does not count calls with
	// such a token.
	interaction bool
	public      bool // the call requires no bot token
}

// routes returns all routes. If two routes match a path, the first one applies.
func routes() []route {
	const (
		channel  = "/channels/{channel}"
		message  = channel + "/messages/{message}"
		own      = "/webhooks/{app}/{token}/messages/{message}"
		commands = "/applications/{app}/commands"
		local    = "/applications/{app}/guilds/{guild}/commands"
	)
	list := []route{
		{method: http.MethodGet, path: "/gateway", name: "getGateway", serve: (*Server).getGateway, public: true},
		{method: http.MethodGet, path: "/gateway/bot", name: "getGatewayBot", serve: (*Server).getGatewayBot},
		{method: http.MethodGet, path: "/users/@me", name: "getMe", bucket: bucketReads, serve: (*Server).getMe},
		{method: http.MethodGet, path: "/users/@me/guilds", name: "getGuilds", bucket: bucketReads, serve: (*Server).getGuilds},
		{method: http.MethodPost, path: "/users/@me/channels", name: "createDM", bucket: bucketOthers, serve: (*Server).createDM},
		{method: http.MethodGet, path: "/users/{user}", name: "getUser", bucket: bucketReads, serve: (*Server).getUser},
		{method: http.MethodGet, path: "/applications/@me", name: "getApplication", bucket: bucketReads, serve: (*Server).getApplication},
		{method: http.MethodGet, path: "/oauth2/applications/@me", name: "getApplication", bucket: bucketReads, serve: (*Server).getApplication},
		{method: http.MethodGet, path: "/guilds/{guild}", name: "getGuild", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getGuild)},
		{method: http.MethodGet, path: "/guilds/{guild}/channels", name: "getGuildChannels", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getGuildChannels)},
		{method: http.MethodGet, path: "/guilds/{guild}/threads/active", name: "getActiveThreads", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getActiveThreads)},

		{method: http.MethodGet, path: channel, name: "getChannel", bucket: bucketReads, serve: rig.On((*Server).channelOf, (*Server).getChannel)},
		{method: http.MethodPatch, path: channel, name: "editChannel", bucket: bucketOthers, serve: rig.On((*Server).channelOf, (*Server).editChannel)},
		{method: http.MethodPost, path: channel + "/typing", name: "typing", bucket: bucketTyping, serve: rig.On((*Server).writableChannel, (*Server).startTyping)},
		{method: http.MethodPost, path: channel + "/threads", name: "startThread", bucket: bucketOthers, serve: rig.On((*Server).threadParent, (*Server).startThread)},
		{method: http.MethodGet, path: channel + "/messages", name: "getMessages", bucket: bucketReads, serve: rig.On((*Server).channelOf, (*Server).getMessages)},
		{method: http.MethodPost, path: channel + "/messages", name: "createMessage", bucket: bucketMessages, serve: rig.On((*Server).writableChannel, (*Server).createMessage)},
		{method: http.MethodPost, path: channel + "/messages/bulk-delete", name: "deleteMessages", bucket: bucketDeletes, serve: rig.On((*Server).channelOf, (*Server).deleteMessages)},
		{method: http.MethodGet, path: message, name: "getMessage", bucket: bucketReads, serve: rig.OnBoth((*Server).target, (*Server).getMessage)},
		{method: http.MethodPatch, path: message, name: "editMessage", bucket: bucketMessages, serve: rig.OnBoth((*Server).target, (*Server).editMessage)},
		{method: http.MethodDelete, path: message, name: "deleteMessage", bucket: bucketDeletes, serve: rig.OnBoth((*Server).target, (*Server).deleteMessage)},
		{method: http.MethodPost, path: message + "/threads", name: "startThreadFrom", bucket: bucketOthers, serve: rig.On((*Server).threadParent, (*Server).startThreadFrom)},

		{method: http.MethodPost, path: "/interactions/{interaction}/{token}/callback", name: "callback", serve: (*Server).callback, interaction: true, public: true},
		{method: http.MethodPost, path: "/webhooks/{app}/{token}", name: "followUp", bucket: bucketWebhook, serve: rig.OnBoth((*Server).interactionByToken, (*Server).followUp), interaction: true, public: true},
		{method: http.MethodGet, path: own, name: "getOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).interactionMessage, (*Server).getOwn), interaction: true, public: true},
		{method: http.MethodPatch, path: own, name: "editOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).interactionMessage, (*Server).editOwn), interaction: true, public: true},
		{method: http.MethodDelete, path: own, name: "deleteOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).interactionMessage, (*Server).deleteOwn), interaction: true, public: true},
	}
	for _, base := range []string{commands, local} {
		list = append(
			list,
			route{method: http.MethodGet, path: base, name: "getCommands", bucket: bucketReads, serve: rig.On((*Server).commandGuild, (*Server).getCommands)},
			route{method: http.MethodPost, path: base, name: "createCommand", bucket: bucketOthers, serve: rig.On((*Server).commandGuild, (*Server).createCommand)},
			route{method: http.MethodPut, path: base, name: "overwriteCommands", bucket: bucketOthers, serve: rig.On((*Server).commandGuild, (*Server).overwriteCommands)},
			route{method: http.MethodGet, path: base + "/{command}", name: "getCommand", bucket: bucketReads, serve: rig.OnBoth((*Server).findCommand, (*Server).getCommand)},
			route{method: http.MethodPatch, path: base + "/{command}", name: "editCommand", bucket: bucketOthers, serve: rig.OnBoth((*Server).findCommand, (*Server).editCommand)},
			route{method: http.MethodDelete, path: base + "/{command}", name: "deleteCommand", bucket: bucketOthers, serve: rig.OnBoth((*Server).findCommand, (*Server).deleteCommand)},
		)
	}
	return list
}

// attachmentRoute returns the route of file downloads. The function routes does not return this route, because the
// route's path is not below /api.
func attachmentRoute() route {
	return route{
		method: http.MethodGet, path: "/attachments/{channel}/{attachment}/{name}", name: downloadMethod,
		serve: (*Server).download, interaction: true, public: true,
	}
}

// downloadMethod is the method name of file downloads.
const downloadMethod = "attachment"

// match reports whether a path matches the route, and returns the path's parameters.
func (t route) match(path []string) (map[string]string, bool) {
	pattern := strings.Split(strings.Trim(t.path, "/"), "/")
	if len(pattern) != len(path) {
		return nil, false
	}
	params := make(map[string]string)
	for i, part := range pattern {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params[strings.TrimSuffix(name, "}")] = path[i]
		} else if part != path[i] {
			return nil, false
		}
	}
	return params, true
}

// findRoute returns the route of a request, or an error if no route matches.
func (s *Server) findRoute(r *http.Request) (route, map[string]string, *apiError) {
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if path[0] == "attachments" {
		t := attachmentRoute()
		if params, ok := t.match(path); ok && r.Method == t.method {
			return t, params, nil
		}
	}
	if len(path) < 2 || path[0] != "api" {
		return route{}, nil, statusError(http.StatusNotFound)
	}
	if path[1] != "v10" && path[1] != "v9" { // https://docs.discord.com/developers/reference#api-versioning-api-versions
		return route{}, nil, fail(http.StatusBadRequest, codeAPIVersion, "Invalid API version provided")
	}
	path = path[2:]
	for i, part := range path {
		if part == "%40me" || part == "%40original" {
			path = slices.Clone(path)
			path[i] = "@" + part[3:]
		}
	}
	aerr := statusError(http.StatusNotFound)
	for _, t := range s.routes {
		params, ok := t.match(path)
		switch {
		case !ok:
		case t.method == r.Method:
			return t, params, nil
		default:
			aerr = statusError(http.StatusMethodNotAllowed)
		}
	}
	return route{}, nil, aerr
}
