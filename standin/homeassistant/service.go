package homeassistant

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"telex/standin/rig"
)

// Answers that a service gives beside changing states.
const (
	noResponse    = ""
	maybeResponse = "optional"
	onlyResponse  = "only"
)

// service is what a service takes and does.
type service struct {
	fields schema
	// entity: it acts on entities, and a target is required.
	entity   bool
	response string
	run      func(s *Server, a *action) any
}

// action is one call of a service.
type action struct {
	domain, name string
	data         map[string]any
	entities     []State // of the target; only those that are there, and available.
	ctx          Context
}

// method is the name of the call.
func (a *action) method() string { return a.domain + "." + a.name }

// targetFields select entities.
func targetFields() []string {
	return []string{"area_id", "device_id", "entity_id", "floor_id", "label_id"}
}

// needsTarget is the error of an entity service without a target. Source: homeassistant/helpers/config_validation.py.
const needsTarget = "must contain at least one of entity_id, device_id, area_id, floor_id, label_id."

// callService runs a service in the order of the platform's checks: does it exist, has it a response, are its
// arguments right. target may be nil. s.mu is held.
// Source: homeassistant/core.py, ServiceRegistry.async_call.
func (s *Server) callService(a *action, target map[string]any, wantsResponse bool, call *Call) any {
	sv, ok := s.services[a.method()]
	if !ok {
		s.violate(UnknownService, a.method(), "there is no service "+a.method())
		panic(&refusal{
			code: codeNotFound, key: "service_not_found", status: http.StatusBadRequest,
			text: fmt.Sprintf("Service %s not found.", a.method()),
		})
	}
	s.checkResponse(sv, a, wantsResponse, call.Via)
	maps.Copy(a.data, target)
	s.require(a.method(), s.checkData(sv, a))
	if sv.entity {
		a.entities = s.selected(a)
	}
	s.fire("call_service", object{"domain": a.domain, "service": a.name, "service_data": a.data}, "LOCAL", a.ctx)
	response := sv.run(s, a)
	if !wantsResponse {
		return nil
	}
	return response
}

// checkResponse refuses a call that does not fit the service's kind of response.
func (s *Server) checkResponse(sv service, a *action, wanted bool, via string) {
	key, socket, rest := "", "", ""
	switch {
	case wanted && sv.response == noResponse:
		key = "service_does_not_support_response"
		socket = "An action which does not return responses can't be called with return_response=True"
		rest = "Service does not support responses. Remove return_response from request."
	case !wanted && sv.response == onlyResponse:
		key = "service_lacks_response_request"
		socket = "The action requires responses and must be called with return_response=True"
		rest = "Service call requires responses but caller did not ask for responses. Add ?return_response to query parameters."
	default:
		return
	}
	s.violate(BadFormat, a.method(), socket)
	if via == viaREST {
		panic(message(http.StatusBadRequest, rest))
	}
	panic(validation(key, socket))
}

// require refuses a call with wrong arguments.
func (s *Server) require(method, wrong string) {
	if wrong != "" {
		s.violate(BadFormat, method, wrong)
		panic(invalid(wrong))
	}
}

// checkData says what is wrong with the data of a service.
func (s *Server) checkData(sv service, a *action) string {
	fields := maps.Clone(sv.fields)
	if fields == nil {
		fields = schema{}
	}
	has := false
	if sv.entity {
		for _, name := range targetFields() {
			fields[name] = may(anyField)
			_, ok := a.data[name]
			has = has || ok
		}
	}
	if wrong := fields.check(a.data, ""); wrong != "" {
		return wrong
	}
	if sv.entity && !has {
		return needsTarget
	}
	for _, id := range entityIDs(a.data) {
		if sv.entity && id != "all" && id != "none" && !entityID.MatchString(id) {
			return fmt.Sprintf("Entity ID %s is an invalid entity ID for dictionary value @ data['entity_id']", id)
		}
	}
	return ""
}

// entityIDs are the entities that data name: one, several with commas, or a list.
func entityIDs(data map[string]any) []string {
	var ids []string
	switch v := data["entity_id"].(type) {
	case string:
		ids = strings.Split(v, ",")
	case []any:
		for _, one := range v {
			ids = append(ids, fmt.Sprint(one))
		}
	case nil:
		return nil
	default:
		ids = []string{fmt.Sprint(v)}
	}
	for i, id := range ids {
		ids[i] = strings.ToLower(strings.TrimSpace(id))
	}
	return ids
}

// selected are the entities on which an action acts. One that is missing, or of another domain, only leaves a
// warning in Home Assistant's log: it is a violation. One that is unavailable is passed over. s.mu is held.
func (s *Server) selected(a *action) []State {
	var list []State
	ids := entityIDs(a.data)
	if slices.Contains(ids, "all") {
		ids = nil
		for _, state := range s.sorted() {
			if strings.HasPrefix(state.Entity, a.domain+".") {
				ids = append(ids, state.Entity)
			}
		}
	}
	for _, id := range ids {
		state, ok := s.states[id]
		switch {
		case id == "none" || ok && state.State == unavailable:
		case !ok || a.domain != coreDomain && !strings.HasPrefix(id, a.domain+"."):
			s.violate(UnknownEntity, a.method(), "entity "+id+" is missing, or not of the domain "+a.domain)
		default:
			list = append(list, state)
		}
	}
	return list
}

// States that every entity may have.
const (
	unavailable = "unavailable"
	coreDomain  = "homeassistant"
)

// describe notes what the data and the target of a service say of its call. Either may be nil.
func (c *Call) describe(data, target map[string]any) {
	c.Data = rig.Encode(data)
	c.Text = text(data, "message")
	c.Place = text(data, "notification_id")
	if ids := append(entityIDs(data), entityIDs(target)...); c.Place == "" && len(ids) > 0 {
		c.Place = ids[0]
	}
}

// descriptions are what get_services tells of all services, by domain.
func (s *Server) descriptions() map[string]map[string]object {
	out := make(map[string]map[string]object)
	for name, sv := range s.services {
		domain, short, _ := strings.Cut(name, ".")
		if out[domain] == nil {
			out[domain] = make(map[string]object)
		}
		fields := make(map[string]object)
		for f, kind := range sv.fields {
			fields[f] = object{"required": kind.required, "selector": object{string(kind.kind): nil}}
		}
		one := object{"name": short, "description": "", "fields": fields}
		if sv.entity {
			one["target"] = object{"entity": []object{{"domain": []string{domain}}}}
		}
		if sv.response != noResponse {
			one["response"] = object{"optional": sv.response == maybeResponse}
		}
		out[domain][short] = one
	}
	return out
}

// asObject is data as an object; nil for none.
func asObject(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// floatOf is a number in an attribute, 0 for anything else. Go code and clients write different types.
func floatOf(v any) float64 {
	n, err := json.Number(fmt.Sprint(v)).Float64()
	if err != nil {
		return 0
	}
	return n
}
