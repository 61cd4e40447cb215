package homeassistant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

// commandKind describes a kind of command: its fields, and the function that runs it.
type commandKind struct {
	fields schema
	// task means that Home Assistant runs the command in parallel with later commands.
	task bool
	run  func(s *Server, r *request) any
}

// request is the state of a command while the server executes the command. The server holds s.mu while it executes the
// command.
type request struct {
	command
	socket *socket
	call   *Call
}

// pong is the response to a ping.
type pong struct{}

// commands returns all commands. Source: https://developers.home-assistant.io/docs/api/websocket
func commands() map[string]commandKind {
	return map[string]commandKind{
		"supported_features": {fields: schema{"features": requiredField(objectField)}, run: (*Server).features},
		"subscribe_events":   {fields: schema{"event_type": optionalField(strictField)}, run: (*Server).subscribe},
		"unsubscribe_events": {fields: schema{"subscription": requiredField(intField)}, run: (*Server).unsubscribe},
		"fire_event": {
			fields: schema{"event_type": requiredField(strictField), "event_data": optionalField(objectField)}, run: (*Server).fireEvent,
		},
		"call_service": {task: true, run: (*Server).callAction, fields: schema{
			"domain": requiredField(strictField), "service": requiredField(strictField), "target": optionalField(objectField), "service_data": optionalField(objectField),
			"return_response": optionalField(boolField),
		}},
		"get_states":   {run: func(s *Server, _ *request) any { return s.sorted() }},
		"get_services": {task: true, run: func(s *Server, _ *request) any { return s.descriptions() }},
		"get_config":   {run: func(s *Server, _ *request) any { return s.config() }},
		"ping":         {run: func(*Server, *request) any { return pong{} }},
		"conversation/process": {task: true, fields: conversationFields(), run: func(s *Server, r *request) any {
			return s.processSentence(r.fields, s.newContext(BotUser))
		}},
		"auth/current_user": {task: true, run: func(*Server, *request) any {
			return object{"id": BotUser, "name": "telex", "is_owner": false, "is_admin": true, "credentials": []any{}, "mfa_modules": []any{}}
		}},
		"persistent_notification/get": {run: func(s *Server, _ *request) any { return s.panel() }},
	}
}

// preparedCommand is a command that is ready to run.
type preparedCommand struct {
	call    *Call
	task    bool
	refused *rig.Answer // the response if the command must not run
	do      func() rig.Answer
}

// prepare checks whether the socket accepts a command at this moment, and whether the command's kind is known. Source:
// homeassistant/components/websocket_api/connection.py, async_handle.
func (s *Server) prepare(k *socket, c command, arrived time.Time) preparedCommand {
	call := &Call{Call: rig.Call{At: arrived, Method: methodOf(c)}, Via: viaSocket, id: c.echo}
	if c.kind == "call_service" {
		call.describe(asObject(c.fields["service_data"]), asObject(c.fields["target"]))
	} else {
		call.Data = rig.Encode(c.fields)
	}
	p := preparedCommand{call: call}
	refuse := func(kind, code, text string) preparedCommand {
		call.Error = code
		s.Locked(func() { s.recordViolation(kind, call.Method, fmt.Sprintf("%s (id %s after %d)", text, c.echo, k.last)) })
		p.refused = new((&refusal{code: code, text: text}).result(c.echo))
		return p
	}
	kind, known := commands()[c.kind]
	switch {
	case c.id == 0:
		return refuse(BadFormat, codeFormat, "Message incorrectly formatted.")
	case c.id <= k.last:
		return refuse(IDReuse, codeIDReuse, "Identifier values have to increase.")
	case !known:
		return refuse(UnknownCommand, codeUnknown, "Unknown command.")
	}
	k.last = c.id
	k.commands++
	if c.kind == "supported_features" && k.commands > 1 {
		s.Locked(func() { s.recordViolation(LateFeatures, c.kind, "it is not the first command") })
	}
	p.task = kind.task
	p.do = func() rig.Answer { return s.perform(kind, &request{command: c, socket: k, call: call}) }
	return p
}

// methodOf returns the name of a command in records: the called service, or the command's type if it calls no service.
func methodOf(c command) string {
	domain, _ := c.fields["domain"].(string)
	name, _ := c.fields["service"].(string)
	if c.kind == "call_service" && domain != "" && name != "" {
		return strings.ToLower(domain + "." + name)
	}
	return c.kind
}

// perform runs a command and returns its response.
func (s *Server) perform(kind commandKind, r *request) rig.Answer {
	result, refused := s.invoke(r.call, func() any {
		s.require(r.call.Method, kind.fields.check(r.fields, ""))
		return kind.run(s, r)
	})
	if refused != nil {
		return refused.result(r.echo)
	}
	if _, ok := result.(pong); ok {
		return frame(object{"id": r.echo, "type": "pong"})
	}
	return frame(object{"id": r.echo, "type": "result", "success": true, "result": result})
}

func (s *Server) features(r *request) any {
	features := asObject(r.fields["features"])
	for name, v := range features {
		if wrong := intField.check(v); wrong != "" {
			s.require(r.kind, fmt.Sprintf("%s @ data['features']['%s']", wrong, name))
		}
	}
	n, _ := number(features, "coalesce_messages")
	r.socket.coalesce = n >= 1
	return nil
}

func (s *Server) subscribe(r *request) any {
	sub := subscription{id: r.id, event: allEvents}
	if kind := text(r.fields, "event_type"); kind != "" {
		sub.event = kind
	}
	if slices.ContainsFunc(r.socket.subscriptions, func(other subscription) bool { return other.event == sub.event }) {
		s.recordViolation(DoubleSubscription, r.kind, sub.event)
	}
	r.call.subscribes = &sub
	return nil
}

func (s *Server) unsubscribe(r *request) any {
	n, _ := number(r.fields, "subscription")
	before := len(r.socket.subscriptions)
	r.socket.subscriptions = slices.DeleteFunc(r.socket.subscriptions, func(sub subscription) bool { return sub.id == int64(n) })
	if len(r.socket.subscriptions) == before {
		s.recordViolation(UnknownSubscription, r.kind, fmt.Sprint(n))
		panic(&refusal{code: codeNotFound, text: "Subscription not found."})
	}
	return nil
}

func (s *Server) fireEvent(r *request) any {
	ctx := s.newContext(BotUser)
	data := asObject(r.fields["event_data"])
	if data == nil {
		data = map[string]any{}
	}
	s.fire(text(r.fields, "event_type"), data, "LOCAL", ctx)
	return object{"context": ctx}
}

// callAction calls a service. Source: homeassistant/components/websocket_api/commands.py, handle_call_service.
func (s *Server) callAction(r *request) any {
	target := asObject(r.fields["target"])
	fields := schema{}
	for _, name := range targetFields() {
		fields[name] = optionalField(anyField)
	}
	s.require(r.call.Method, fields.check(target, "['target']"))
	data := maps.Clone(asObject(r.fields["service_data"]))
	if data == nil {
		data = make(map[string]any)
	}
	wants, _ := r.fields["return_response"].(bool)
	domain, name, _ := strings.Cut(r.call.Method, ".")
	a := &action{domain: domain, name: name, data: data, ctx: s.newContext(BotUser)}
	response := s.callService(a, target, wants, r.call)
	result := object{"context": a.ctx}
	if wants {
		result["response"] = response
	}
	return result
}

// panel returns the notifications in the panel in the form in which the command persistent_notification/get returns
// them. The caller holds s.mu.
func (s *Server) panel() []object {
	list := []object{}
	for _, n := range s.notifications {
		if s.current[n.ID] != n {
			continue
		}
		v := n.Last()
		one := object{"notification_id": n.ID, "message": v.Text, "title": nil, "created_at": Time{v.At}}
		if v.Title != "" {
			one["title"] = v.Title
		}
		list = append(list, one)
	}
	return list
}

// config returns the result of get_config and /api/config. The caller holds s.mu.
func (s *Server) config() object {
	return object{
		"components": s.components(), "config_dir": "/config", "currency": "EUR", "elevation": 120, "language": "en",
		"latitude": 52.37, "longitude": 4.89, "location_name": "Home", "time_zone": "Europe/Amsterdam", "state": "RUNNING",
		"unit_system": object{"length": "km", "mass": "g", "temperature": "°C", "volume": "L"}, "version": Version,
		"allowlist_external_dirs": []string{}, "config_source": "storage", "recovery_mode": false, "safe_mode": false,
	}
}

// components returns the loaded integrations.
func (s *Server) components() []string {
	domains := map[string]bool{"api": true, "http": true, "websocket_api": true, "frontend": true}
	for name := range s.services {
		domain, _, _ := strings.Cut(name, ".")
		domains[domain] = true
	}
	return slices.Sorted(maps.Keys(domains))
}
