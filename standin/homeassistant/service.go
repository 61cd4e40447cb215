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

// Kinds of responses of services.
const (
	noResponse    = ""
	maybeResponse = "optional"
	onlyResponse  = "only"
)

// service describes a service: its fields, its response, and the function that runs it.
type service struct {
	fields schema
	// entity means that the service acts on entities, so a call needs a target.
	entity   bool
	response string
	run      func(s *Server, a *action) any
}

// action is one call of a service.
type action struct {
	domain, name string
	data         map[string]any
	entities     []State // the target entities that exist and are available
	ctx          Context
}

// method returns the name of the call.
func (a *action) method() string { return a.domain + "." + a.name }

// targetFields returns the fields that select entities.
func targetFields() []string {
	return []string{"area_id", "device_id", "entity_id", "floor_id", "label_id"}
}

// needsTarget is the error for a call of an entity service without a target. Source:
// homeassistant/helpers/config_validation.py.
const needsTarget = "must contain at least one of entity_id, device_id, area_id, floor_id, label_id."

// callService runs a service. In the same order as Home Assistant, callService checks whether the service exists,
// whether the call requests a response that the service can give, and whether the arguments are valid. target may be
// nil. The caller holds s.mu. Source: homeassistant/core.py, ServiceRegistry.async_call.
func (s *Server) callService(a *action, target map[string]any, wantsResponse bool, call *Call) any {
	sv, ok := s.services[a.method()]
	if !ok {
		s.recordViolation(UnknownService, a.method(), "there is no service "+a.method())
		panic(&refusal{
			code: codeNotFound, key: "service_not_found", status: http.StatusBadRequest,
			text: fmt.Sprintf("Service %s not found.", a.method()),
		})
	}
	s.checkResponse(sv, a, wantsResponse, call.Via)
	maps.Copy(a.data, target)
	s.require(a.method(), s.checkData(sv, a))
	if sv.entity {
		a.entities = s.selectEntities(a)
	}
	s.fire("call_service", object{"domain": a.domain, "service": a.name, "service_data": a.data}, "LOCAL", a.ctx)
	response := sv.run(s, a)
	if !wantsResponse {
		return nil
	}
	return response
}

// checkResponse refuses a call that requests a response from a service without one. checkResponse also refuses a call
// that requests no response, if the service can be called only with a response.
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
	s.recordViolation(BadFormat, a.method(), socket)
	if via == viaREST {
		panic(restMessage(http.StatusBadRequest, rest))
	}
	panic(validationError(key, socket))
}

// require refuses a call and records a violation if wrong is not empty. wrong is the error text about the arguments.
func (s *Server) require(method, wrong string) {
	if wrong != "" {
		s.recordViolation(BadFormat, method, wrong)
		panic(invalidFormat(wrong))
	}
}

// checkData validates the data for a service. checkData returns an error text, or "" if the data is valid.
func (s *Server) checkData(sv service, a *action) string {
	fields := maps.Clone(sv.fields)
	if fields == nil {
		fields = schema{}
	}
	has := false
	if sv.entity {
		for _, name := range targetFields() {
			fields[name] = optionalField(anyField)
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

// entityIDs returns the ids in the field entity_id: a single id, several ids with commas between them, or a list.
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

// selectEntities returns the entities on which an action acts. If an entity does not exist or belongs to another
// domain, the stand-in records a violation; Home Assistant only logs a warning. selectEntities skips unavailable
// entities. The caller holds s.mu.
func (s *Server) selectEntities(a *action) []State {
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
			s.recordViolation(UnknownEntity, a.method(), "entity "+id+" is missing, or not of the domain "+a.domain)
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

// describe records the data and the target of a call. data and target may be nil.
func (c *Call) describe(data, target map[string]any) {
	c.Data = rig.Encode(data)
	c.Text = text(data, "message")
	c.Place = text(data, "notification_id")
	if ids := append(entityIDs(data), entityIDs(target)...); c.Place == "" && len(ids) > 0 {
		c.Place = ids[0]
	}
}

// descriptions returns the result of the command get_services, grouped by domain.
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

// asObject returns v if it is a JSON object, or nil.
func asObject(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// floatOf returns the number in an attribute, or 0. The number may have several types, because Go code and clients
// store numbers as different types.
func floatOf(v any) float64 {
	n, err := json.Number(fmt.Sprint(v)).Float64()
	if err != nil {
		return 0
	}
	return n
}
