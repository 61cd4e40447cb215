package homeassistant

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"telex/standin/rig"
)

// maxBody is the maximum size of a request body in bytes. Source: homeassistant/components/http/__init__.py.
const maxBody = 16 << 20

// restCall is the state of a REST call while the server executes the call. The server holds s.mu while it executes the
// REST call.
type restCall struct {
	http *http.Request
	args []string // the parts of the path that match "*" in the route
	body []byte
	call *Call
}

// route is a path and its HTTP methods. A part "*" of the path matches any text without a slash.
type route struct {
	path    string
	methods map[string]func(s *Server, r *restCall) any
}

// routes returns all routes. Source: https://developers.home-assistant.io/docs/api/rest
func routes() []route {
	type methods = map[string]func(*Server, *restCall) any
	return []route{
		{"/api/", methods{"GET": func(*Server, *restCall) any { return object{"message": "API running."} }}},
		{"/api/config", methods{"GET": func(s *Server, _ *restCall) any { return s.config() }}},
		{"/api/components", methods{"GET": func(s *Server, _ *restCall) any { return s.components() }}},
		{"/api/states", methods{"GET": func(s *Server, _ *restCall) any { return s.sorted() }}},
		{"/api/states/*", methods{"GET": (*Server).getState, "POST": (*Server).postState, "DELETE": (*Server).deleteState}},
		{"/api/events", methods{"GET": (*Server).listeners}},
		{"/api/events/*", methods{"POST": (*Server).postEvent}},
		{"/api/services", methods{"GET": (*Server).listServices}},
		{"/api/services/*/*", methods{"POST": (*Server).postService}},
		{"/api/conversation/process", methods{"POST": (*Server).postSentence}},
		{"/api/websocket", methods{"GET": nil}}, // serveSocket opens the socket
	}
}

// match returns the route that matches a path, and the arguments in the path.
func match(path string) (found route, args []string, ok bool) {
	parts := strings.Split(path, "/")
	for _, rt := range routes() {
		pattern := strings.Split(rt.path, "/")
		if len(pattern) != len(parts) {
			continue
		}
		args = nil
		fits := true
		for i, p := range pattern {
			switch {
			case p == "*" && parts[i] != "":
				args = append(args, parts[i])
			case p != parts[i]:
				fits = false
			}
		}
		if fits {
			return rt, args, true
		}
	}
	return route{}, nil, false
}

// serveREST answers a call of the REST API.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	rt, args, found := match(r.URL.Path)
	call := &Call{Call: rig.Call{At: time.Now(), Method: r.Method + " " + r.URL.Path}, Via: viaREST}
	if found {
		call.Method = r.Method + " " + rt.path
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if data, problem := decode(body); problem == nil {
		call.describe(asObject(data), nil)
	}
	if rt.path == "/api/services/*/*" {
		call.Method = strings.ToLower(args[0] + "." + args[1])
	} else if len(args) > 0 {
		call.Place = args[0]
	}
	var refused *rig.Answer
	if err != nil {
		refused = new(statusAnswer(http.StatusRequestEntityTooLarge))
	}
	s.Answer(w, r, call, cut, refused, func() rig.Answer {
		result, no := s.invoke(call, func() any {
			s.checkRequest(r, rt, found)
			return rt.methods[r.Method](s, &restCall{http: r, args: args, body: body, call: call})
		})
		if no != nil {
			a := no.rest()
			if no.status == http.StatusMethodNotAllowed {
				a.Header = http.Header{"Allow": {strings.Join(slices.Sorted(maps.Keys(rt.methods)), ",")}}
			}
			return a
		}
		if a, ok := result.(rig.Answer); ok {
			return a
		}
		return rig.JSON(http.StatusOK, result)
	})
}

// checkRequest refuses invalid requests. checkRequest checks the route before the token.
func (s *Server) checkRequest(r *http.Request, rt route, found bool) {
	refuse := func(status int) { panic(&refusal{code: codeNotFound, text: http.StatusText(status), status: status}) }
	if !found {
		s.recordViolation(UnknownPath, r.Method+" "+r.URL.Path, "no such path")
		refuse(http.StatusNotFound)
	}
	if rt.methods[r.Method] == nil {
		s.recordViolation(UnknownPath, r.Method+" "+r.URL.Path, "no such method")
		refuse(http.StatusMethodNotAllowed)
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind == "Bearer" && s.validToken(token) {
		return
	}
	if token != s.opts.Token {
		s.recordViolation(BadAuth, r.Method+" "+r.URL.Path, "no token, or a wrong one")
	}
	s.loginFailed()
	refuse(http.StatusUnauthorized)
}

func (s *Server) getState(r *restCall) any {
	state, ok := s.states[strings.ToLower(r.args[0])]
	if !ok {
		panic(restMessage(http.StatusNotFound, "Entity not found."))
	}
	return state
}

func (s *Server) postState(r *restCall) any {
	v, err := decode(r.body)
	data := asObject(v)
	state, given := data["state"]
	entity := strings.ToLower(r.args[0])
	wrong := ""
	switch {
	case err != nil || data == nil:
		wrong = "Invalid JSON specified."
	case !given || state == nil:
		wrong = "No state specified."
	case !entityID.MatchString(entity):
		wrong = "Invalid entity ID specified."
	case utf8.RuneCountInString(fmt.Sprint(state)) > maxState:
		wrong = "Invalid state specified."
	}
	if wrong != "" {
		s.recordViolation(BadFormat, r.call.Method, wrong)
		panic(restMessage(http.StatusBadRequest, wrong))
	}
	_, had := s.states[entity]
	force, _ := data["force_update"].(bool)
	s.set(entity, fmt.Sprint(state), asObject(data["attributes"]), s.newContext(BotUser), force)
	a := rig.JSON(map[bool]int{true: http.StatusOK, false: http.StatusCreated}[had], s.states[entity])
	a.Header = http.Header{"Location": {"/api/states/" + entity}}
	return a
}

func (s *Server) deleteState(r *restCall) any {
	if !s.remove(strings.ToLower(r.args[0]), s.newContext(BotUser)) {
		panic(restMessage(http.StatusNotFound, "Entity not found."))
	}
	return object{"message": "Entity removed."}
}

func (s *Server) listeners(*restCall) any {
	count := make(map[string]int)
	for _, k := range s.sockets {
		for _, sub := range k.subscriptions {
			count[sub.event]++
		}
	}
	list := []object{}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		list = append(list, object{"event": kind, "listener_count": count[kind]})
	}
	return list
}

func (s *Server) postEvent(r *restCall) any {
	data := map[string]any{}
	if len(r.body) > 0 {
		v, err := decode(r.body)
		wrong := ""
		switch {
		case err != nil:
			wrong = "Event data should be valid JSON."
		case v != nil && asObject(v) == nil:
			wrong = "Event data should be a JSON object"
		}
		if wrong != "" {
			s.recordViolation(BadFormat, r.call.Method, wrong)
			panic(restMessage(http.StatusBadRequest, wrong))
		}
		if v != nil {
			data = asObject(v)
		}
	}
	s.fire(r.args[0], data, "REMOTE", s.newContext(BotUser))
	return object{"message": fmt.Sprintf("Event %s fired.", r.args[0])}
}

func (s *Server) listServices(*restCall) any {
	all := s.descriptions()
	list := []object{}
	for _, domain := range slices.Sorted(maps.Keys(all)) {
		list = append(list, object{"domain": domain, "services": all[domain]})
	}
	return list
}

// postService calls a service and returns the states that the service changed. Source:
// homeassistant/components/api/__init__.py, APIDomainServicesView.
func (s *Server) postService(r *restCall) any {
	data := make(map[string]any)
	if len(r.body) > 0 {
		v, err := decode(r.body)
		if err != nil {
			s.recordViolation(BadFormat, r.call.Method, "Data should be valid JSON.")
			panic(restMessage(http.StatusBadRequest, "Data should be valid JSON."))
		}
		if v != nil && asObject(v) == nil {
			s.require(r.call.Method, "expected a dictionary")
		}
		maps.Copy(data, asObject(v))
	}
	wants := r.http.URL.Query().Has("return_response")
	domain, name, _ := strings.Cut(r.call.Method, ".")
	a := &action{domain: domain, name: name, data: data, ctx: s.newContext(BotUser)}
	response := s.callService(a, nil, wants, r.call)
	changed := []State{}
	for _, state := range s.sorted() {
		if state.Context.ID == a.ctx.ID {
			changed = append(changed, state)
		}
	}
	if wants {
		return object{"changed_states": changed, "service_response": response}
	}
	return changed
}

func (s *Server) postSentence(r *restCall) any {
	v, err := decode(r.body)
	wrong := ""
	switch {
	case err != nil:
		wrong = "Invalid JSON specified."
	case asObject(v) == nil:
		wrong = "Message format incorrect: expected a dictionary"
	default:
		if problem := conversationFields().check(asObject(v), ""); problem != "" {
			wrong = "Message format incorrect: " + problem
		}
	}
	if wrong != "" {
		s.recordViolation(BadFormat, r.call.Method, wrong)
		panic(restMessage(http.StatusBadRequest, wrong))
	}
	return s.processSentence(asObject(v), s.newContext(BotUser))
}
