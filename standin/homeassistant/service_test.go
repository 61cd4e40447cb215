package homeassistant_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/homeassistant"
)

// TestServices calls each service over REST and over a socket.
func TestServices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		service, data string
		entity, want  string // the expected state of the entity after the call
	}{
		{"light.turn_on", `{"entity_id":"light.kitchen"}`, "light.kitchen", "on"},
		{"light.turn_off", `{"entity_id":"light.kitchen, light.living_room"}`, "light.living_room", "off"},
		{"light.toggle", `{"entity_id":["light.kitchen"]}`, "light.kitchen", "on"},
		{"light.turn_on", `{"entity_id":"all"}`, "light.kitchen", "on"},
		{"light.turn_on", `{"entity_id":"none"}`, "light.kitchen", "off"},
		{"switch.turn_on", `{"entity_id":"switch.coffee"}`, "switch.coffee", "on"},
		{"homeassistant.turn_on", `{"entity_id":"switch.coffee"}`, "switch.coffee", "on"},
		{"input_boolean.toggle", `{"entity_id":"input_boolean.guests"}`, "input_boolean.guests", "on"},
		{"lock.unlock", `{"entity_id":"lock.front_door","code":1234}`, "lock.front_door", "unlocked"},
		{"cover.open_cover", `{"entity_id":"cover.garage"}`, "cover.garage", "open"},
		{"cover.set_cover_position", `{"entity_id":"cover.garage","position":0}`, "cover.garage", "closed"},
		{"alarm_control_panel.alarm_arm_away", `{"entity_id":"alarm_control_panel.home"}`, "alarm_control_panel.home", "armed_away"},
		{"climate.set_hvac_mode", `{"entity_id":"climate.hall","hvac_mode":"off"}`, "climate.hall", "off"},
		{"climate.set_temperature", `{"entity_id":"climate.hall","temperature":22.5,"hvac_mode":"cool"}`, "climate.hall", "cool"},
		{"climate.set_temperature", `{"entity_id":"climate.hall","target_temp_low":18,"target_temp_high":22}`, "climate.hall", "heat"},
	} {
		t.Run(tc.service, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				domain, name, _ := strings.Cut(tc.service, ".")
				byREST := start(t, homeassistant.Options{})
				if r := byREST.call("POST", "/api/services/"+domain+"/"+name, tc.data); r.Status != 200 {
					t.Errorf("by REST: got %+v", r)
				}
				bySocket := start(t, homeassistant.Options{})
				bySocket.socket().ok("call_service", `,"domain":"`+domain+`","service":"`+name+`","service_data":`+tc.data)
				for _, c := range []*client{byREST, bySocket} {
					if state, _ := c.server.State(tc.entity); state.State != tc.want {
						t.Errorf("%s is %q, want %q", tc.entity, state.State, tc.want)
					}
					calls := c.server.Calls()
					if last := calls[len(calls)-1]; last.Method != tc.service || !last.Effect || last.Error != "" || string(last.Data) == "" {
						t.Errorf("call: got %+v", last)
					}
					c.violations()
				}
			})
		})
	}
}

func TestServiceErrors(t *testing.T) {
	t.Parallel()
	const bad, broken = "400: Bad Request", "500 Internal Server Error\n\nServer got itself in trouble"
	for _, tc := range []struct {
		name, service, data string
		status              int
		body                string // expected over REST
		code, message, key  string // the error that is expected over a socket
		violation           string
	}{
		{
			"unknown service", "light.explode", `{}`, 400, bad,
			"not_found", "Service light.explode not found.", "service_not_found", "unknown_service",
		},
		{
			"no target", "light.turn_on", `{}`, 400, bad,
			"invalid_format", "must contain at least one of entity_id, device_id, area_id, floor_id, label_id.", "", "bad_format",
		},
		{
			"unknown field", "light.turn_on", `{"entity_id":"light.kitchen","message":"x"}`, 400, bad,
			"invalid_format", "extra keys not allowed @ data['message']", "", "bad_format",
		},
		{
			"wrong type", "light.turn_on", `{"entity_id":"light.kitchen","brightness":"x"}`, 400, bad,
			"invalid_format", "expected float for dictionary value @ data['brightness']", "", "bad_format",
		},
		{
			"entity id", "light.turn_on", `{"entity_id":"Kitchen Light"}`, 400, bad,
			"invalid_format", "Entity ID kitchen light is an invalid entity ID for dictionary value @ data['entity_id']", "", "bad_format",
		},
		{
			"no message", "persistent_notification.create", `{"title":"x"}`, 400, bad,
			"invalid_format", "required key not provided @ data['message']", "", "bad_format",
		},
		{
			"null message", "persistent_notification.create", `{"message":null}`, 400, bad,
			"invalid_format", "string value is None for dictionary value @ data['message']", "", "bad_format",
		},
		{
			"message is an object", "persistent_notification.create", `{"message":{}}`, 400, bad,
			"invalid_format", "value should be a string for dictionary value @ data['message']", "", "bad_format",
		},
		{
			"notification without target", "notify.send_message", `{"message":"x"}`, 400, bad,
			"invalid_format", "must contain at least one of entity_id, device_id, area_id, floor_id, label_id.", "", "bad_format",
		},
		{
			"message cannot be edited", "notify.send_message", `{"entity_id":"notify.phone","message":"x","notification_id":"a"}`, 400, bad,
			"invalid_format", "extra keys not allowed @ data['notification_id']", "", "bad_format",
		},
		{
			"response needed", "weather.get_forecasts", `{"entity_id":"weather.home","type":"daily"}`, 400,
			`{"message":"Service call requires responses but caller did not ask for responses. Add ?return_response to query parameters."}`,
			"service_validation_error", "Validation error: The action requires responses and must be called with return_response=True",
			"service_lacks_response_request", "bad_format",
		},
		{
			"impossible temperature", "climate.set_temperature", `{"entity_id":"climate.hall","temperature":99}`, 500, broken,
			"service_validation_error", "Validation error: Provided temperature 99 is not valid. Accepted range is 7 to 35", "temp_out_of_range", "",
		},
		{
			"impossible mode", "climate.set_hvac_mode", `{"entity_id":"climate.hall","hvac_mode":"x"}`, 500, broken,
			"service_validation_error", "Validation error: HVAC mode x is not valid. Valid HVAC modes are: [off heat cool]", "not_valid_hvac_mode", "",
		},
		{
			"no temperature", "climate.set_temperature", `{"entity_id":"climate.hall"}`, 400, bad,
			"invalid_format", "must contain at least one of temperature, target_temp_high, target_temp_low.", "", "bad_format",
		},
		{
			"impossible position", "cover.set_cover_position", `{"entity_id":"cover.garage","position":101}`, 400, bad,
			"invalid_format", "value must be at most 100 for dictionary value @ data['position']", "", "bad_format",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				domain, name, _ := strings.Cut(tc.service, ".")
				before, err := json.Marshal(c.server.States())
				c.call("POST", "/api/services/"+domain+"/"+name, tc.data).want(t, "by REST", tc.status, tc.body)
				e := c.socket().ask("call_service", `,"domain":"`+domain+`","service":"`+name+`","service_data":`+tc.data)
				if e.Success || e.Error.Code != tc.code || e.Error.Message != tc.message || e.Error.Key != tc.key {
					t.Errorf("socket: got %+v, want %s %q %q", e, tc.code, tc.message, tc.key)
				}
				after, err2 := json.Marshal(c.server.States())
				if err != nil || err2 != nil || string(before) != string(after) {
					t.Errorf("an error changed a state:\n%s\n%s", before, after)
				}
				if tc.violation == "" {
					c.violations()
				} else {
					c.violations(tc.violation, tc.violation)
				}
			})
		})
	}
}

// A service call must first cause the event call_service, and then the events about the changes that it makes. After
// these events, the call must return its result.
func TestServiceEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{Latency: time.Second})
		k := c.socket()
		k.ok("subscribe_events", "")
		k.send("call_service", `,"domain":"light","service":"turn_on","service_data":{"brightness_pct":50},"target":{"entity_id":"light.kitchen"}`)
		if e := k.next(); e.Event.Type != "call_service" || !strings.Contains(string(e.Event.Data), `"entity_id":"light.kitchen"`) {
			t.Errorf("first: got %+v", e)
		}
		e := k.next()
		if e.Event.Change.New == nil || e.Event.Change.New.State != "on" || e.Event.Change.New.Attributes["brightness"] != 127.0 || e.Event.Ctx.User != homeassistant.BotUser {
			t.Errorf("second: got %+v", e)
		}
		if e := k.next(); e.Type != "result" || !e.Success || strings.Contains(string(e.Result), "response") {
			t.Errorf("third: got %+v", e)
		}
		k.send("call_service", `,"domain":"light","service":"turn_off","service_data":{"entity_id":"light.kitchen"}`)
		k.next()
		if e := k.next(); e.Event.Change.New.Attributes["brightness"] != nil {
			t.Errorf("a light that is off has a brightness: %+v", e)
		}
	})
}

func TestResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		const forecast = `{"weather.home":{"forecast":[{"condition":"rainy","temperature":18.5,"templow":11}]}}`
		data := `{"entity_id":"weather.home","type":"daily"}`
		c.call("POST", "/api/services/weather/get_forecasts?return_response", data).
			want(t, "by REST", 200, `{"changed_states":[],"service_response":`+forecast+`}`)
		k := c.socket()
		e := k.ok("call_service", `,"domain":"weather","service":"get_forecasts","return_response":true,"service_data":`+data)
		if !strings.Contains(string(e.Result), `"response":`+forecast) {
			t.Errorf("socket: got %s", e.Result)
		}
		c.violations()
		c.call("POST", "/api/services/light/turn_on?return_response", `{"entity_id":"light.kitchen"}`).
			want(t, "no response", 400, `{"message":"Service does not support responses. Remove return_response from request."}`)
		if e := k.ask("call_service", `,"domain":"light","service":"turn_on","return_response":true`); e.Error.Key != "service_does_not_support_response" {
			t.Errorf("no response: got %+v", e)
		}
	})
}

// A service call must skip entities that do not exist, are unavailable or belong to another domain.
func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "unavailable"})
		k := c.socket()
		k.ok("call_service", `,"domain":"light","service":"turn_on","target":{"entity_id":["light.kitchen","light.attic","switch.coffee"]}`)
		k.ok("call_service", `,"domain":"light","service":"turn_on","target":{"area_id":"attic"}`)
		for entity, want := range map[string]string{"light.kitchen": "unavailable", "switch.coffee": "off"} {
			if state, _ := c.server.State(entity); state.State != want {
				t.Errorf("%s: got %s, want %s", entity, state.State, want)
			}
		}
		c.violations("unknown_entity", "unknown_entity")
	})
}

func TestConversation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ sentence, kind, speech, entity, state string }{
		{"Turn on the kitchen light!", "action_done", "Turned on Kitchen light", "light.kitchen", "on"},
		{"turn off Living room light", "action_done", "Turned off Living room light", "light.living_room", "off"},
		{"What is the outside temperature?", "query_answer", "Outside temperature is 21.3 °C", "sensor.outside", "21.3"},
		{"turn on the sun", "action_done", "Turned on Sun", "sun.sun", "on"},
		{"turn on the fridge", "error", "Sorry, I couldn't understand that", "sun.sun", "above_horizon"},
		{"hello", "error", "Sorry, I couldn't understand that", "sun.sun", "above_horizon"},
	} {
		t.Run(tc.sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				data, err := json.Marshal(map[string]string{"text": tc.sentence, "conversation_id": "c1"})
				if err != nil {
					t.Fatal(err)
				}
				byREST, bySocket := start(t, homeassistant.Options{}), start(t, homeassistant.Options{})
				answers := []string{
					byREST.call("POST", "/api/conversation/process", string(data)).Raw,
					string(bySocket.socket().ok("conversation/process", ","+strings.Trim(string(data), "{}")).Result),
				}
				for i, c := range []*client{byREST, bySocket} {
					var got struct {
						ID       string `json:"conversation_id"`
						Response struct {
							Kind   string `json:"response_type"`
							Speech struct {
								Plain struct {
									Speech string `json:"speech"`
								} `json:"plain"`
							} `json:"speech"`
						} `json:"response"`
					}
					err := json.Unmarshal([]byte(answers[i]), &got)
					if err != nil || got.ID != "c1" || got.Response.Kind != tc.kind || got.Response.Speech.Plain.Speech != tc.speech {
						t.Errorf("got %s (%v), want %s %q", answers[i], err, tc.kind, tc.speech)
					}
					if state, _ := c.server.State(tc.entity); state.State != tc.state {
						t.Errorf("%s: got %s, want %s", tc.entity, state.State, tc.state)
					}
					c.violations()
				}
			})
		})
	}
}
