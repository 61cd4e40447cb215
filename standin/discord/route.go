package discord

import (
	"net/http"
	"slices"
	"strings"

	"telex/standin/rig"
)

// route is one call of the API.
type route struct {
	verb, path string // {x} in the path is a parameter.
	name       string
	bucket     string
	serve      func(*Server, *request) any
	// interaction calls are outside of the global limit, and their token is in the path.
	interaction bool
	public      bool // asks for no token.
}

// routes are all calls that exist; of two that fit a path the first one counts.
func routes() []route {
	const (
		channel  = "/channels/{channel}"
		message  = channel + "/messages/{message}"
		own      = "/webhooks/{app}/{token}/messages/{message}"
		commands = "/applications/{app}/commands"
		local    = "/applications/{app}/guilds/{guild}/commands"
	)
	list := []route{
		{verb: http.MethodGet, path: "/gateway", name: "getGateway", serve: (*Server).getGateway, public: true},
		{verb: http.MethodGet, path: "/gateway/bot", name: "getGatewayBot", serve: (*Server).getGatewayBot},
		{verb: http.MethodGet, path: "/users/@me", name: "getMe", bucket: bucketReads, serve: (*Server).getMe},
		{verb: http.MethodGet, path: "/users/@me/guilds", name: "getGuilds", bucket: bucketReads, serve: (*Server).getGuilds},
		{verb: http.MethodPost, path: "/users/@me/channels", name: "createDM", bucket: bucketOthers, serve: (*Server).createDM},
		{verb: http.MethodGet, path: "/users/{user}", name: "getUser", bucket: bucketReads, serve: (*Server).getUser},
		{verb: http.MethodGet, path: "/applications/@me", name: "getApplication", bucket: bucketReads, serve: (*Server).getApplication},
		{verb: http.MethodGet, path: "/oauth2/applications/@me", name: "getApplication", bucket: bucketReads, serve: (*Server).getApplication},
		{verb: http.MethodGet, path: "/guilds/{guild}", name: "getGuild", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getGuild)},
		{verb: http.MethodGet, path: "/guilds/{guild}/channels", name: "getGuildChannels", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getGuildChannels)},
		{verb: http.MethodGet, path: "/guilds/{guild}/threads/active", name: "getActiveThreads", bucket: bucketReads, serve: rig.On((*Server).guildOf, (*Server).getActiveThreads)},

		{verb: http.MethodGet, path: channel, name: "getChannel", bucket: bucketReads, serve: rig.On((*Server).addressed, (*Server).getChannel)},
		{verb: http.MethodPatch, path: channel, name: "editChannel", bucket: bucketOthers, serve: rig.On((*Server).addressed, (*Server).editChannel)},
		{verb: http.MethodPost, path: channel + "/typing", name: "typing", bucket: bucketTyping, serve: rig.On((*Server).open, (*Server).startTyping)},
		{verb: http.MethodPost, path: channel + "/threads", name: "startThread", bucket: bucketOthers, serve: rig.On((*Server).threadable, (*Server).startThread)},
		{verb: http.MethodGet, path: channel + "/messages", name: "getMessages", bucket: bucketReads, serve: rig.On((*Server).addressed, (*Server).getMessages)},
		{verb: http.MethodPost, path: channel + "/messages", name: "createMessage", bucket: bucketMessages, serve: rig.On((*Server).open, (*Server).createMessage)},
		{verb: http.MethodPost, path: channel + "/messages/bulk-delete", name: "deleteMessages", bucket: bucketDeletes, serve: rig.On((*Server).addressed, (*Server).deleteMessages)},
		{verb: http.MethodGet, path: message, name: "getMessage", bucket: bucketReads, serve: rig.OnBoth((*Server).target, (*Server).getMessage)},
		{verb: http.MethodPatch, path: message, name: "editMessage", bucket: bucketMessages, serve: rig.OnBoth((*Server).target, (*Server).editMessage)},
		{verb: http.MethodDelete, path: message, name: "deleteMessage", bucket: bucketDeletes, serve: rig.OnBoth((*Server).target, (*Server).deleteMessage)},
		{verb: http.MethodPost, path: message + "/threads", name: "startThreadFrom", bucket: bucketOthers, serve: rig.On((*Server).threadable, (*Server).startThreadFrom)},

		{verb: http.MethodPost, path: "/interactions/{interaction}/{token}/callback", name: "callback", serve: (*Server).callback, interaction: true, public: true},
		{verb: http.MethodPost, path: "/webhooks/{app}/{token}", name: "followUp", bucket: bucketWebhook, serve: rig.OnBoth((*Server).byToken, (*Server).followUp), interaction: true, public: true},
		{verb: http.MethodGet, path: own, name: "getOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).ownMessage, (*Server).getOwn), interaction: true, public: true},
		{verb: http.MethodPatch, path: own, name: "editOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).ownMessage, (*Server).editOwn), interaction: true, public: true},
		{verb: http.MethodDelete, path: own, name: "deleteOwn", bucket: bucketWebhook, serve: rig.OnBoth((*Server).ownMessage, (*Server).deleteOwn), interaction: true, public: true},
	}
	for _, base := range []string{commands, local} {
		list = append(
			list,
			route{verb: http.MethodGet, path: base, name: "getCommands", bucket: bucketReads, serve: rig.On((*Server).owner, (*Server).getCommands)},
			route{verb: http.MethodPost, path: base, name: "createCommand", bucket: bucketOthers, serve: rig.On((*Server).owner, (*Server).createCommand)},
			route{verb: http.MethodPut, path: base, name: "overwriteCommands", bucket: bucketOthers, serve: rig.On((*Server).owner, (*Server).overwriteCommands)},
			route{verb: http.MethodGet, path: base + "/{command}", name: "getCommand", bucket: bucketReads, serve: rig.OnBoth((*Server).findCommand, (*Server).getCommand)},
			route{verb: http.MethodPatch, path: base + "/{command}", name: "editCommand", bucket: bucketOthers, serve: rig.OnBoth((*Server).findCommand, (*Server).editCommand)},
			route{verb: http.MethodDelete, path: base + "/{command}", name: "deleteCommand", bucket: bucketOthers, serve: rig.OnBoth((*Server).findCommand, (*Server).deleteCommand)},
		)
	}
	return list
}

// attachmentRoute is that of a file, which is outside of the API.
func attachmentRoute() route {
	return route{
		verb: http.MethodGet, path: "/attachments/{channel}/{attachment}/{name}", name: downloadMethod,
		serve: (*Server).download, interaction: true, public: true,
	}
}

// downloadMethod is the name of the call that fetches a file.
const downloadMethod = "attachment"

// fits returns the parameters of a path that fits the route.
func (t route) fits(path []string) (map[string]string, bool) {
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

// find is the route of a request below /api; an error when there is none.
func (s *Server) find(r *http.Request) (route, map[string]string, *apiError) {
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if path[0] == "attachments" {
		t := attachmentRoute()
		if params, ok := t.fits(path); ok && r.Method == t.verb {
			return t, params, nil
		}
	}
	if len(path) < 2 || path[0] != "api" {
		return route{}, nil, plain(http.StatusNotFound)
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
	aerr := plain(http.StatusNotFound)
	for _, t := range s.routes {
		params, ok := t.fits(path)
		switch {
		case !ok:
		case t.verb == r.Method:
			return t, params, nil
		default:
			aerr = plain(http.StatusMethodNotAllowed)
		}
	}
	return route{}, nil, aerr
}
