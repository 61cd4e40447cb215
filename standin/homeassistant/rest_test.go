package homeassistant_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/homeassistant"
)

func TestREST(t *testing.T) {
	t.Parallel()
	const notFound, notAllowed, bad = "404: Not Found", "405: Method Not Allowed", "400: Bad Request"
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string // the whole response, or "…" and a part of the response
		violation          string
	}{
		{"GET", "/api/", "", 200, `{"message":"API running."}`, ""},
		{"GET", "/api", "", 404, notFound, "unknown_path"},
		{"GET", "/api/states/", "", 404, notFound, "unknown_path"},
		{"GET", "/api/nothing", "", 404, notFound, "unknown_path"},
		{"GET", "/elsewhere", "", 404, notFound, "unknown_path"},
		{"POST", "/api/", "", 405, notAllowed, "unknown_path"},
		{"PUT", "/api/states/light.kitchen", "", 405, notAllowed, "unknown_path"},
		{"POST", "/api/websocket", "", 405, notAllowed, "unknown_path"},
		{"GET", "/api/websocket", "", 400, bad, ""},
		{"GET", "/api/config", "", 200, `…"location_name":"Home"`, ""},
		{"GET", "/api/components", "", 200, `…"persistent_notification"`, ""},
		{"GET", "/api/services", "", 200, `…{"domain":"light","services":{`, ""},
		{"GET", "/api/events", "", 200, `[]`, ""},
		{"GET", "/api/states", "", 200, `…"entity_id":"sun.sun"`, ""},
		{"GET", "/api/states/light.kitchen", "", 200, `…{"entity_id":"light.kitchen","state":"off","attributes":{"friendly_name":"Kitchen light"}`, ""},
		{"GET", "/api/states/light.attic", "", 404, `{"message":"Entity not found."}`, ""},
		{"POST", "/api/states/light.kitchen", `{"state":"on"}`, 200, `…"state":"on","attributes":{},`, ""},
		{"POST", "/api/states/sensor.mine", `{"state":5,"attributes":{"a":1}}`, 201, `…"state":"5","attributes":{"a":1}`, ""},
		{"POST", "/api/states/sensor.mine", `{`, 400, `{"message":"Invalid JSON specified."}`, "bad_format"},
		{"POST", "/api/states/sensor.mine", `{}`, 400, `{"message":"No state specified."}`, "bad_format"},
		{"POST", "/api/states/nonsense", `{"state":"x"}`, 400, `{"message":"Invalid entity ID specified."}`, "bad_format"},
		{"POST", "/api/states/sensor.mine", `{"state":"` + strings.Repeat("é", 256) + `"}`, 400, `{"message":"Invalid state specified."}`, "bad_format"},
		{"DELETE", "/api/states/light.kitchen", "", 200, `{"message":"Entity removed."}`, ""},
		{"DELETE", "/api/states/light.attic", "", 404, `{"message":"Entity not found."}`, ""},
		{"POST", "/api/events/mine", `{"a":1}`, 200, `{"message":"Event mine fired."}`, ""},
		{"POST", "/api/events/mine", ``, 200, `{"message":"Event mine fired."}`, ""},
		{"POST", "/api/events/mine", `{`, 400, `{"message":"Event data should be valid JSON."}`, "bad_format"},
		{"POST", "/api/events/mine", `[1]`, 400, `{"message":"Event data should be a JSON object"}`, "bad_format"},
		{"GET", "/api/services/light/turn_on", "", 405, notAllowed, "unknown_path"},
		{"POST", "/api/services/light/turn_on/", "", 404, notFound, "unknown_path"},
		{"POST", "/api/services/light/turn_on", `{`, 400, `{"message":"Data should be valid JSON."}`, "bad_format"},
		{"POST", "/api/services/light/turn_on", `[]`, 400, bad, "bad_format"},
		{"POST", "/api/services/light/turn_on", `{"entity_id":"light.kitchen"}`, 200, `…[{"entity_id":"light.kitchen","state":"on"`, ""},
		{"POST", "/api/services/light/turn_off", `{"entity_id":"light.kitchen"}`, 200, `[]`, ""}, // the light is off already
		{"POST", "/api/conversation/process", `{"text":"hello"}`, 200, `…"code":"no_intent_match"`, ""},
		{"POST", "/api/conversation/process", `{}`, 400, `{"message":"Message format incorrect: required key not provided @ data['text']"}`, "bad_format"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				r := c.call(tc.method, tc.path, tc.body)
				part, isPart := strings.CutPrefix(tc.want, "…")
				if r.Err != nil || r.Status != tc.status || (!isPart && r.Raw != tc.want) || !strings.Contains(r.Raw, part) {
					t.Errorf("%s: got %d %q (%v), want %d %q", tc.body, r.Status, r.Raw, r.Err, tc.status, tc.want)
				}
				if tc.violation != "" {
					c.violations(tc.violation)
				} else {
					c.violations()
				}
				if tc.status == 405 && r.Header.Get("Allow") == "" {
					t.Error("405 without Allow")
				}
			})
		})
	}
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{Token: "secret"})
		c.with("", "GET", "/api/", "").want(t, "no token", 401, "401: Unauthorized")
		c.with("wrong", "GET", "/api/states", "").want(t, "wrong token", 401, "401: Unauthorized")
		c.with("secret", "GET", "/api/", "").want(t, "token", 200, `{"message":"API running."}`)
		c.with("", "GET", "/api/nothing", "").want(t, "no token and no route", 404, "404: Not Found")
		c.violations("bad_auth", "bad_auth", "unknown_path")
		history := c.server.History("")
		if len(history) != 1 || history[0].ID != "http-login" || len(history[0].Versions) != 2 || history[0].FromBot {
			t.Errorf("a person saw %+v, want the notification of a failed login, twice", history)
		}
		for _, call := range c.server.Calls() {
			if strings.Contains(string(call.Data), "secret") {
				t.Errorf("a call holds the token: %+v", call)
			}
		}
	})
}

// TestStates checks which changes cause an event, and what the event contains.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		k.ok("subscribe_events", `,"event_type":"state_changed"`)
		first := time.Now()
		pause(time.Minute)
		set := func(fires bool, to homeassistant.Change) change {
			t.Helper()
			if got := c.server.SetState(to); got != fires {
				t.Errorf("%+v: fired %v, want %v", to, got, fires)
			}
			if !fires {
				return change{}
			}
			return k.next().Event.Change
		}
		named := map[string]any{"friendly_name": "Power"}
		got := set(true, homeassistant.Change{Entity: "sensor.power", State: "230", Attributes: named})
		if !got.New.Changed.Equal(first) || !got.New.Updated.Equal(time.Now()) || got.Old.State != got.New.State {
			t.Errorf("only attributes changed: got %+v %+v", got.Old, got.New)
		}
		set(false, homeassistant.Change{Entity: "sensor.power", State: "230", Attributes: named})
		set(false, homeassistant.Change{Entity: "sensor.power", State: "230"})
		got = set(true, homeassistant.Change{Entity: "sensor.power", State: "unavailable"})
		if got.New.State != "unavailable" || got.New.Attributes["friendly_name"] != "Power" || !got.New.Changed.Equal(time.Now()) {
			t.Errorf("unavailable: got %+v", got.New)
		}
		got = set(true, homeassistant.Change{Entity: "sensor.fresh", State: "1"})
		if got.Old != nil || got.New.State != "1" {
			t.Errorf("first seen: got %+v", got)
		}
		if !c.server.Remove("sensor.fresh") || c.server.Remove("sensor.fresh") {
			t.Error("remove: want true, then false")
		}
		if got := k.next().Event.Change; got.New != nil || got.Old.State != "1" || got.Entity != "sensor.fresh" {
			t.Errorf("removed: got %+v", got)
		}
		c.call("POST", "/api/states/sensor.power", `{"state":"unavailable","attributes":{"friendly_name":"Power"},"force_update":true}`)
		if got := k.next().Event.Change; got.New == nil || got.New.State != "unavailable" {
			t.Errorf("force_update: got %+v", got)
		}
		if n := c.server.Stats().StateChanges; n != 5 {
			t.Errorf("%d changes, want 5", n)
		}
		c.violations()
	})
}
