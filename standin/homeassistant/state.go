package homeassistant

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"telex/standin/rig"
)

// Limits of Home Assistant's core. Source: homeassistant/const.py.
const (
	maxState     = 255 // characters
	maxEventType = 64
)

// entityID matches the id of an entity. Source: homeassistant/core.py, valid_entity_id.
var entityID = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*\.[a-z0-9]+(_[a-z0-9]+)*$`)

// Time is a time in Home Assistant's format.
type Time struct{ time.Time }

// String returns the time in Python's isoformat, which omits zero microseconds.
func (t Time) String() string {
	if t.Nanosecond() < int(time.Microsecond) {
		return t.UTC().Format("2006-01-02T15:04:05-07:00")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000-07:00")
}

// MarshalJSON encodes the time as a string.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// Context identifies the action that caused a state or an event, and the user who was responsible for the action, if
// any.
type Context struct {
	ID     string  `json:"id"`
	Parent *string `json:"parent_id"`
	User   *string `json:"user_id"`
}

// State is the state of an entity.
type State struct {
	Entity       string         `json:"entity_id"`
	State        string         `json:"state"`
	Attributes   map[string]any `json:"attributes"`
	LastChanged  Time           `json:"last_changed"`
	LastReported Time           `json:"last_reported"`
	LastUpdated  Time           `json:"last_updated"`
	Context      Context        `json:"context"`
}

// newContext returns a new context for an action of a user. If user is empty, no user caused the action. The caller
// holds s.mu.
func (s *Server) newContext(user string) Context {
	s.serial++
	c := Context{ID: fmt.Sprintf("01STANDIN%017d", s.serial)}
	if user != "" {
		c.User = &user
	}
	return c
}

// set sets the state of an entity, and reports whether the change fired an event. If state and attributes are the same
// as before, set fires an event only if force is true. The caller holds s.mu.
func (s *Server) set(entity, state string, attributes map[string]any, ctx Context, force bool) bool {
	now := Time{time.Now()}
	attributes = withAttributes(attributes, nil)
	old, had := s.states[entity]
	same := had && old.State == state && !force
	if same && sameAttributes(old.Attributes, attributes) {
		old.LastReported = now
		s.states[entity] = old
		return false
	}
	next := State{
		Entity: entity, State: state, Attributes: attributes, LastChanged: now, LastReported: now,
		LastUpdated: now, Context: ctx,
	}
	if same {
		next.LastChanged = old.LastChanged
	}
	s.states[entity] = next
	var before *State
	if had {
		before = &old
	}
	s.stateChanged(entity, before, &next, ctx)
	return true
}

// sameAttributes reports whether a and b are equal as JSON. In JSON, a number from Go code equals the same number from
// a client.
func sameAttributes(a, b map[string]any) bool {
	return reflect.DeepEqual(a, b) || string(rig.Encode(a)) == string(rig.Encode(b))
}

// remove removes an entity, and reports whether the entity existed. The caller holds s.mu.
func (s *Server) remove(entity string, ctx Context) bool {
	old, ok := s.states[entity]
	if ok {
		delete(s.states, entity)
		s.stateChanged(entity, &old, nil, ctx)
	}
	return ok
}

func (s *Server) stateChanged(entity string, before, after *State, ctx Context) {
	s.stats.StateChanges++
	s.Publish("state", Event{Place: entity, Old: before, New: after})
	s.fire("state_changed", object{"entity_id": entity, "old_state": before, "new_state": after}, "LOCAL", ctx)
}

// fire sends an event to all sockets that are subscribed to it. The caller holds s.mu.
func (s *Server) fire(kind string, data any, origin string, ctx Context) {
	body := rig.Encode(object{
		"event_type": kind, "data": data, "origin": origin, "time_fired": Time{time.Now()}, "context": ctx,
	})
	s.stats.Events++
	for _, k := range s.sockets {
		for _, sub := range k.subscriptions {
			if sub.event == kind || sub.event == allEvents {
				k.put(rig.Encode(object{"id": sub.id, "type": "event", "event": json.RawMessage(body)}))
			}
		}
		s.checkPending(k)
	}
}

// sorted returns all states, sorted by entity. The caller holds s.mu.
func (s *Server) sorted() []State {
	list := make([]State, 0, len(s.states))
	for _, entity := range slices.Sorted(maps.Keys(s.states)) {
		list = append(list, s.states[entity])
	}
	return list
}

// States returns a copy of the states of all entities, sorted by entity.
func (s *Server) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sorted()
	for i := range list {
		list[i].Attributes = maps.Clone(list[i].Attributes)
	}
	return list
}

// State returns the state of an entity, and whether the entity exists.
func (s *Server) State(entity string) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.states[entity]
	state.Attributes = maps.Clone(state.Attributes)
	return state, ok
}
