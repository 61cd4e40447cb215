package homeassistant_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"telex/standin/homeassistant"
)

// TestControl does over HTTP everything that Go code can do with the stand-in.
func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		for _, tc := range []struct {
			method, name, body string
			want               string // the whole response, or "…" and a part of the response
		}{
			{"GET", "info", "", `…"light.kitchen"`},
			{"POST", "set_state", `{"entity_id":"light.kitchen","state":"on"}`, `{"fired":true}`},
			{"POST", "set_state", `{"entity_id":"light.kitchen","state":"on"}`, `{"fired":false}`},
			{"POST", "set_state", `{"entity_id":"Light"}`, `…invalid entity_id`},
			{"POST", "set_state", `{"entity_id":"light.kitchen","state":"` + strings.Repeat("x", 256) + `"}`, `…longer than 255`},
			{"POST", "set_state", `{"entity":"light.kitchen"}`, `…unknown field`},
			{"POST", "burst", `{"changes":[{"entity_id":"light.kitchen","state":"off"},{"entity_id":"light.kitchen","state":"on"}]}`, `{"fired":2}`},
			{"GET", "states?entity_id=light.kitchen", "", `…"state":"on"`},
			{"GET", "states?entity_id=light.attic", "", `…no such entity`},
			{"GET", "states", "", `…"sun.sun"`},
			{"POST", "remove", `{"entity_id":"light.kitchen"}`, `{}`},
			{"POST", "remove", `{"entity_id":"light.kitchen"}`, `…no such entity`},
			{"POST", "fire", `{"event_type":"doorbell","data":{"a":1}}`, `{}`},
			{"POST", "fire", `{}`, `…1 to 64`},
			{"POST", "fault", `{"method":"` + create + `","nth":7,"action":"cut_after"}`, `{"id":1}`},
			{"POST", "dismiss", `{"notification_id":"a"}`, `{}`},
			{"POST", "dismiss", `{"notification_id":"a"}`, `…no such notification`},
			{"GET", "history?place=persistent_notification", "", `…"deleted_by":"person"`},
			{"GET", "text", "", `[]`},
			{"GET", "text?place=notify.notify", "", `…"text":"y"`},
			{"GET", "view", "", `…"text":"y"`},
			{"GET", "view?at=never", "", `…RFC 3339`},
			{"GET", "calls?last=1", "", `…"method":"notify.notify"`},
			{"GET", "stats", "", `…"sockets":1`},
			{"GET", "file?id=1", "", `…no files`},
			{"POST", "stall_sockets", `{}`, `{"sockets":1}`},
			{"POST", "cut_sockets", `{}`, `{"sockets":1}`},
			{"POST", "revoke", `{}`, `{}`},
			{"POST", "revoke", `{"off":true}`, `{}`},
			{"POST", "reset", `{}`, `{}`},
			{"GET", "nothing", "", `…no such control`},
		} {
			if tc.name == "dismiss" && tc.want == "{}" {
				c.call("POST", createPath, `{"notification_id":"a","message":"x"}`)
				c.call("POST", "/api/services/notify/notify", `{"message":"y"}`)
			}
			r := c.call(tc.method, "/control/"+tc.name, tc.body)
			part, isPart := strings.CutPrefix(tc.want, "…")
			if r.Err != nil || !isPart && r.Raw != tc.want || !strings.Contains(r.Raw, part) {
				t.Errorf("%s %s: got %+v, want %s", tc.name, tc.body, r, tc.want)
			}
		}
		if e := k.next(); e.err == nil {
			t.Errorf("the socket was cut: got %+v", e)
		}
	})
}

// TestWatch checks that a watcher receives all events.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		events := c.server.Watch(t.Context())
		k := c.socket()
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "on"})
		for _, text := range []string{"one", "two"} {
			k.ok("call_service", createSocket+`{"notification_id":"a","message":"`+text+`"}`)
		}
		c.server.Dismiss("a")
		k.ask("nope", "")
		var kinds []string
		for e := range events {
			kinds = append(kinds, e.Kind)
			switch {
			case e.Kind == "state" && (e.Old.State != "off" || e.New.State != "on" || e.Place != "light.kitchen"):
				t.Errorf("state: got %+v", e)
			case e.Kind == "edit" && e.Notification.Text() != "two":
				t.Errorf("edit: got %+v", e)
			case e.Kind == "violation" && e.Violation.Kind != "unknown_command":
				t.Errorf("violation: got %+v", e)
			}
			if e.Kind == "violation" {
				break
			}
		}
		if got, want := strings.Join(kinds, " "), "socket call state notification call edit call dismiss violation"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
