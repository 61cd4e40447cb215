package homeassistant

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"telex/platforms/internal/receiving"
)

// These are the types of WebSocket frames that the package reads or writes.
// https://developers.home-assistant.io/docs/api/websocket
const (
	typeAuthRequired = "auth_required"
	typeAuth         = "auth"
	typeAuthOK       = "auth_ok"
	typeAuthInvalid  = "auth_invalid"
	typeSubscribe    = "subscribe_events"
	typeUnsubscribe  = "unsubscribe_events"
	typePing         = "ping"
	typeResult       = "result"
	typeEvent        = "event"
	stateChanged     = "state_changed"
)

// frame is a WebSocket message from Home Assistant, with only those fields that this package uses.
type frame struct {
	ID      int64  `json:"id"`
	Type    string `json:"type"`
	Version string `json:"ha_version"` // in auth_ok
	Message string `json:"message"`    // in auth_invalid
	Success bool   `json:"success"`    // in result
	Error   struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Event struct {
		Type string `json:"event_type"`
		Data struct {
			Old *state `json:"old_state"`
			New *state `json:"new_state"`
		} `json:"data"`
	} `json:"event"`
}

// state is the state of an entity.
type state struct {
	EntityID   string `json:"entity_id"`
	State      string `json:"state"`
	Attributes struct {
		Name  lenientText `json:"friendly_name"`
		Unit  lenientText `json:"unit_of_measurement"`
		Class lenientText `json:"device_class"`
	} `json:"attributes"`
}

// lenientText is a string that becomes empty if the JSON value is not a string. An integration may store any JSON value
// in an attribute, and decoding must not fail because of a value that is not a string.
type lenientText string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (t *lenientText) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = lenientText(s)
	}
	return nil
}

// decodeFrame decodes a frame. The caller logs the errors of decodeFrame, so these errors do not contain the frame's
// content.
func decodeFrame(data []byte) (*frame, error) { return receiving.Decode[frame](data) }

// change returns the state change that a frame reports. change ignores frames that report the addition or removal of an
// entity, because a restart of Home Assistant removes and adds all entities.
func (f *frame) change() (from, to state, ok bool) {
	d := f.Event.Data
	if f.Type != typeEvent || f.Event.Type != stateChanged || d.Old == nil || d.New == nil || !entityID.MatchString(d.New.EntityID) {
		return state{}, state{}, false
	}
	from, to = d.Old.clean(), d.New.clean()
	return from, to, from.State != to.State
}

// entityID matches the id of an entity. https://www.home-assistant.io/docs/configuration/state_object/
var entityID = regexp.MustCompile(`^[a-z0-9_]{1,64}\.[a-z0-9_]{1,255}$`)

// These are the maximum lengths, in characters, of the names and states that the bot reports. Home Assistant limits a
// state to 255 characters.
// https://www.home-assistant.io/docs/configuration/state_object/
const (
	maxName  = 80
	maxState = 255
)

// clean returns a copy of the state in which each text is a single line of limited length. The watcher keeps only
// states that clean has returned.
func (s state) clean() state {
	s.State = oneLine(s.State, maxState)
	a := &s.Attributes
	a.Name, a.Unit, a.Class = lenientText(oneLine(string(a.Name), maxName)), lenientText(oneLine(string(a.Unit), maxName)), lenientText(oneLine(string(a.Class), maxName))
	return s
}

// oneLine returns a text in one line of at most limit characters, without invisible characters.
func oneLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
