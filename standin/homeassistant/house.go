package homeassistant

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// Change is a new state of an entity that a test sets, in the role of the house or of a person in it.
type Change struct {
	Entity string `json:"entity_id"`
	State  string `json:"state"`
	// Attributes replace all attributes of the entity. nil keeps the old attributes.
	Attributes map[string]any `json:"attributes"`
	// User is the id of the person who caused the change, or "".
	User string `json:"user_id"`
}

// House returns the entities that a house has if Options.Entities is nil.
func House() []Change {
	entity := func(id, state, name string, more ...string) Change {
		attributes := map[string]any{"friendly_name": name}
		for i := 0; i+1 < len(more); i += 2 {
			attributes[more[i]] = more[i+1]
		}
		return Change{Entity: id, State: state, Attributes: attributes}
	}
	list := []Change{
		entity("light.kitchen", "off", "Kitchen light"),
		entity("light.living_room", "on", "Living room light"),
		entity("switch.coffee", "off", "Coffee machine", "device_class", "outlet"),
		entity("input_boolean.guests", "off", "Guests"),
		entity("lock.front_door", "locked", "Front door lock"),
		entity("cover.garage", "closed", "Garage door", "device_class", "garage"),
		entity("alarm_control_panel.home", "disarmed", "Alarm"),
		entity("sensor.outside", "21.3", "Outside temperature", "device_class", "temperature", "unit_of_measurement", "°C"),
		entity("sensor.power", "230", "Power", "device_class", "power", "unit_of_measurement", "W"),
		entity("binary_sensor.front_door", "off", "Front door", "device_class", "door"),
		entity("binary_sensor.hall_motion", "off", "Hall motion", "device_class", "motion"),
		entity("person.ann", "home", "Ann"),
		entity("sun.sun", "above_horizon", "Sun"),
		entity("weather.home", "sunny", "Weather"),
		entity("conversation.home_assistant", "unknown", "Home Assistant"),
		entity("notify.phone", "unknown", "Phone"),
	}
	list[len(list)-1].Attributes["supported_features"] = 1 // this entity supports titles
	return append(list, Change{Entity: "climate.hall", State: "heat", Attributes: map[string]any{
		"friendly_name": "Hall", "current_temperature": 19.5, "temperature": 20, "min_temp": 7, "max_temp": 35,
		"hvac_modes": []any{"off", "heat", "cool"},
	}})
}

// validate returns an error if Home Assistant would not allow the change.
func (c Change) validate() error {
	switch {
	case !entityID.MatchString(c.Entity):
		return fmt.Errorf("invalid entity_id %q", c.Entity)
	case utf8.RuneCountInString(c.State) > maxState:
		return fmt.Errorf("state is longer than %d characters", maxState)
	}
	return nil
}

// SetState changes the state of an entity. SetState creates the entity if necessary. SetState reports whether the
// change fired an event: the same state with the same attributes fires none. SetState panics if the change is invalid.
func (s *Server) SetState(c Change) bool { return s.Burst(c) == 1 }

// Burst makes several changes at the same moment, and returns the number of changes that fired an event. Burst panics
// if a change is invalid.
func (s *Server) Burst(changes ...Change) int {
	fired, err := s.apply(changes)
	if err != nil {
		panic("homeassistant stand-in: " + err.Error())
	}
	return fired
}

func (s *Server) apply(changes []Change) (fired int, err error) {
	for _, c := range changes {
		if err := c.validate(); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		attributes := c.Attributes
		if attributes == nil {
			attributes = s.states[c.Entity].Attributes
		}
		if s.set(c.Entity, c.State, attributes, s.newContext(c.User), false) {
			fired++
		}
	}
	return fired, nil
}

// Remove removes an entity. The entity's last event has no new_state.
func (s *Server) Remove(entity string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(entity, s.newContext(""))
}

// FireEvent fires an event of the house, such as the press of a doorbell.
func (s *Server) FireEvent(kind string, data map[string]any) error {
	if kind == "" || len(kind) > maxEventType {
		return errors.New("event_type has 1 to 64 characters")
	}
	if data == nil {
		data = map[string]any{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fire(kind, data, "LOCAL", s.newContext(""))
	return nil
}

// entityByName returns the entity with a friendly name. The caller holds s.mu.
func (s *Server) entityByName(name string) (State, bool) {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "the ")
	for _, state := range s.sorted() {
		if friendly, _ := state.Attributes["friendly_name"].(string); strings.ToLower(friendly) == name {
			return state, true
		}
	}
	return State{}, false
}

// withAttributes returns a copy of attributes with the changes applied. The copy is never nil.
func withAttributes(attributes map[string]any, changes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	if out == nil {
		out = make(map[string]any)
	}
	maps.Copy(out, changes)
	return out
}
