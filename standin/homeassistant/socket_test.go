package homeassistant_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"telex/standin/homeassistant"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, frame string
		message     string // the message of auth_invalid; "": the socket is closed without auth_invalid
		violation   string
		failed      int
	}{
		{"wrong token", `{"type":"auth","access_token":"x"}`, "Invalid access token or password", "bad_auth", 1},
		{"no token", `{"type":"auth"}`, "Invalid access token or password", "bad_auth", 1},
		{"a command first", `{"id":1,"type":"get_states"}`, "Auth message incorrectly formatted: not a valid value for dictionary value @ data['type']", "bad_auth", 0},
		{"unknown field", `{"type":"auth","access_token":"x","id":1}`, "Auth message incorrectly formatted: extra keys not allowed @ data['id']", "bad_auth", 0},
		{"array", `[]`, "Auth message incorrectly formatted: expected a dictionary", "bad_auth", 0},
		{"no JSON", `{`, "", "bad_auth", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				k := c.dial()
				k.next()
				k.write(tc.frame)
				e := k.next()
				if tc.message != "" {
					if e.Type != "auth_invalid" || e.Message != tc.message {
						t.Errorf("got %+v, want auth_invalid %q", e, tc.message)
					}
					e = k.next()
				}
				if websocket.CloseStatus(e.err) != websocket.StatusNormalClosure {
					t.Errorf("got %+v, want a normal closure", e)
				}
				c.violations(tc.violation)
				synctest.Wait()
				if st := c.server.Stats(); st.FailedLogins != tc.failed || st.Sockets != 0 || st.Notifications != tc.failed {
					t.Errorf("stats: got %+v, want %d failed logins and no socket", st, tc.failed)
				}
			})
		})
	}
}

// The client opens a socket and sends nothing. The server must disconnect the client after ten seconds.
func TestSilentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.dial()
		k.next()
		began := time.Now()
		if e := k.next(); e.err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("got %+v after %v, want the end after 10s", e, time.Since(began))
		}
	})
}

func TestRevokedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		c.server.Revoke(true)
		if e := k.next(); websocket.CloseStatus(e.err) != websocket.StatusNormalClosure {
			t.Errorf("open socket: got %+v, want a normal closure", e)
		}
		c.call("GET", "/api/", "").want(t, "REST", 401, "401: Unauthorized")
		k = c.dial()
		k.next()
		k.write(`{"type":"auth","access_token":"` + c.server.Token() + `"}`)
		if e := k.next(); e.Type != "auth_invalid" {
			t.Errorf("new socket: got %+v, want auth_invalid", e)
		}
		c.violations() // no violation: the client could not know that its token was revoked
		if got := c.shown(); !strings.HasPrefix(got, "Login attempt or request") {
			t.Errorf("a person sees %q, want the notification of a failed login", got)
		}
		c.server.Revoke(false)
		c.socket()
	})
}

func TestCommandErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		for _, tc := range []struct {
			frame, code, message, violation string
			id                              int64
		}{
			{`{"id":5,"type":"ping"}`, "", "", "", 5},
			{`{"id":5,"type":"ping"}`, "id_reuse", "Identifier values have to increase.", "id_reuse", 5},
			{`{"id":4,"type":"ping"}`, "id_reuse", "Identifier values have to increase.", "id_reuse", 4},
			{`{"id":6,"type":"nope"}`, "unknown_command", "Unknown command.", "unknown_command", 6},
			{`{"id":6,"type":"ping","x":1}`, "invalid_format", "extra keys not allowed @ data['x']", "bad_format", 6},
			{`{"id":7}`, "invalid_format", "Message incorrectly formatted.", "bad_format", 7},
			{`{"type":"ping"}`, "invalid_format", "Message incorrectly formatted.", "bad_format", 0},
			{`{"id":true,"type":"ping"}`, "invalid_format", "Message incorrectly formatted.", "bad_format", -1},
			{`{"id":8.5,"type":"ping"}`, "invalid_format", "Message incorrectly formatted.", "bad_format", -1},
			{`{"id":-8,"type":"ping"}`, "invalid_format", "Message incorrectly formatted.", "bad_format", -8},
			{`7`, "invalid_format", "Message incorrectly formatted.", "bad_format", 0},
			{`{"id":8,"type":"auth","access_token":"x"}`, "unknown_command", "Unknown command.", "unknown_command", 8},
			{`{"id":9,"type":"subscribe_events","event_type":7}`, "invalid_format", "expected str for dictionary value @ data['event_type']", "bad_format", 9},
			{`{"id":10,"type":"unsubscribe_events","subscription":3}`, "not_found", "Subscription not found.", "unknown_subscription", 10},
			{`{"id":11,"type":"unsubscribe_events"}`, "invalid_format", "required key not provided @ data['subscription']", "bad_format", 11},
			{`{"id":12,"type":"call_service","domain":"light"}`, "invalid_format", "required key not provided @ data['service']", "bad_format", 12},
			{`{"id":13,"type":"call_service","domain":"light","service":"turn_on","target":{"x":1}}`, "invalid_format", "extra keys not allowed @ data['target']['x']", "bad_format", 13},
			{`{"id":14,"type":"call_service","domain":"light","service":"turn_on","target":null}`, "invalid_format", "expected a dictionary for dictionary value @ data['target']", "bad_format", 14},
			{`{"id":15,"type":"conversation/process"}`, "invalid_format", "required key not provided @ data['text']", "bad_format", 15},
		} {
			before := c.server.Stats().Violations.Total()
			if tc.id < 0 { // Go's client can't decode such an id
				tc.frame = strings.Replace(tc.frame, `"id":8.5`, `"id":0`, 1)
				tc.frame = strings.Replace(tc.frame, `"id":true`, `"id":null`, 1)
			}
			k.write(tc.frame)
			e := k.next()
			if e.Error.Code != tc.code || e.Error.Message != tc.message || (e.Type == "pong") != (tc.code == "") || tc.id > 0 && e.ID != tc.id {
				t.Errorf("%s: got %+v, want %s %q", tc.frame, e, tc.code, tc.message)
			}
			got := ""
			if list := c.server.Stats().Violations.Details; len(list) > before {
				got = list[len(list)-1].Kind
			}
			if got != tc.violation {
				t.Errorf("%s: got violation %q, want %q", tc.frame, got, tc.violation)
			}
		}
		if by := c.server.Stats().ByError; by["id_reuse"] != 2 || by["unknown_command"] != 2 {
			t.Errorf("errors: got %v", by)
		}
	})
}

// A binary frame must leave the socket open. A text frame that is not valid JSON must end the socket with a normal
// closure.
func TestBrokenFrames(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{"", "{", "{} {}", "\xff"} {
		synctest.Test(t, func(t *testing.T) {
			c := start(t, homeassistant.Options{})
			k := c.socket()
			if err := k.conn.Write(t.Context(), websocket.MessageBinary, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if e := k.ask("ping", ""); e.Type != "pong" {
				t.Errorf("after a binary frame: got %+v, want pong", e)
			}
			k.write(frame)
			if e := k.next(); websocket.CloseStatus(e.err) != websocket.StatusNormalClosure {
				t.Errorf("%q: got %+v, want a normal closure", frame, e)
			}
			c.violations("bad_format", "bad_format")
		})
	}
}

func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{Latency: 60 * time.Millisecond})
		k := c.socket()
		k.ok("subscribe_events", `,"event_type":"state_changed"`)
		pause(time.Second)
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "on"})
		e := k.next()
		got := e.Event.Change
		if e.ID != 1 || e.Type != "event" || e.Event.Origin != "LOCAL" || !e.Event.Fired.Equal(time.Now()) || got.Entity != "light.kitchen" ||
			got.Old.State != "off" || got.New.State != "on" || got.New.Attributes["friendly_name"] != "Kitchen light" || e.Event.Ctx.User != "" {
			t.Errorf("got %+v", e)
		}
		if err := c.server.FireEvent("doorbell", nil); err != nil { // no subscription matches
			t.Error(err)
		}
		k.ok("subscribe_events", "")
		if err := c.server.FireEvent("doorbell", map[string]any{"button": "front"}); err != nil {
			t.Error(err)
		}
		if e := k.next(); e.ID != 2 || e.Event.Type != "doorbell" || string(e.Event.Data) != `{"button":"front"}` {
			t.Errorf("event of any type: got %+v", e)
		}
		if r := k.ok("unsubscribe_events", `,"subscription":1`); string(r.Result) != "null" {
			t.Errorf("unsubscribe: got %s", r.Result)
		}
		k.send("fire_event", `,"event_type":"mine","event_data":{"a":1}`)
		if e := k.next(); e.ID != 2 || e.Event.Type != "mine" || e.Event.Ctx.User != homeassistant.BotUser {
			t.Errorf("the client's own event: got %+v", e)
		}
		if e := k.next(); !e.Success || !strings.Contains(string(e.Result), `"context":{"id":`) {
			t.Errorf("fire_event: got %+v", e)
		}
		c.violations()
		k.ok("subscribe_events", "")
		c.violations("double_subscription")
		if n := c.server.Subscriptions(); n != 2 {
			t.Errorf("subscriptions: got %d, want 2", n)
		}
	})
}

// TestNoEventBeforeItsSubscription checks that a client gets the result of subscribe_events before the first event.
func TestNoEventBeforeItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{Latency: time.Second})
		k := c.socket()
		k.send("subscribe_events", "")
		for i := range 20 {
			c.server.SetState(homeassistant.Change{Entity: "sensor.power", State: fmt.Sprint(i)})
			pause(100 * time.Millisecond)
		}
		if e := k.next(); e.Type != "result" || !e.Success {
			t.Errorf("got %+v, want the result", e)
		}
		if e := k.next(); e.Type != "event" {
			t.Errorf("got %+v, want an event", e)
		}
	})
}

// Only a client that asked for coalescing may get several messages in one frame.
func TestCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []homeassistant.Change
		for i := range 50 {
			changes = append(changes, homeassistant.Change{Entity: "sensor.power", State: fmt.Sprint(i)})
		}
		c := start(t, homeassistant.Options{})
		for _, tc := range []struct{ features, frames int }{{0, 50}, {1, 1}} {
			k := c.socket()
			if tc.features > 0 {
				k.ok("supported_features", `,"features":{"coalesce_messages":1}`)
			}
			k.ok("subscribe_events", `,"event_type":"state_changed"`)
			k.frames = 0
			if n := c.server.Burst(changes...); n != 50 {
				t.Errorf("burst: %d events, want 50", n)
			}
			for i := range changes {
				if e := k.next(); e.Event.Change.New.State != fmt.Sprint(i) {
					t.Fatalf("event %d: got %+v", i, e)
				}
			}
			if k.frames != tc.frames {
				t.Errorf("with features %d: %d frames, want %d", tc.features, k.frames, tc.frames)
			}
			c.server.CutSockets()
		}
		c.violations()
		k := c.socket()
		k.ok("get_config", "")
		k.ok("supported_features", `,"features":{}`)
		if e := k.ask("supported_features", `,"features":{"coalesce_messages":"yes"}`); e.Error.Code != "invalid_format" {
			t.Errorf("features of a wrong type: got %+v", e)
		}
		c.violations("late_features", "late_features", "bad_format")
	})
}

// The client sends several commands in one frame. The server must answer each of these commands.
func TestArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		k.write(`[{"id":1,"type":"ping"},{"id":2,"type":"ping"}]`)
		for id := range 2 {
			if e := k.next(); e.Type != "pong" || e.ID != int64(id+1) {
				t.Errorf("got %+v, want pong %d", e, id+1)
			}
		}
		k.write(`[]`)
		c.violations()
	})
}

func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		for _, tc := range []struct{ kind, want string }{
			{"get_states", `"entity_id":"light.kitchen","state":"off","attributes":{"friendly_name":"Kitchen light"}`},
			{"get_services", `"send_message":`},
			{"get_config", `"state":"RUNNING"`},
			{"auth/current_user", `"is_admin":true`},
			{"persistent_notification/get", `[]`},
		} {
			if e := k.ok(tc.kind, ""); !strings.Contains(string(e.Result), tc.want) {
				t.Errorf("%s: got %s, want %s in it", tc.kind, e.Result, tc.want)
			}
		}
		c.violations()
	})
}

// After CutSockets, the client must see that the connection has ended. After StallSockets, the connection stays open,
// but nothing arrives over it in either direction.
func TestBrokenSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		if n := c.server.CutSockets(); n != 1 {
			t.Errorf("cut: got %d, want 1", n)
		}
		if e := k.next(); e.err == nil || websocket.CloseStatus(e.err) != -1 {
			t.Errorf("after a cut: got %+v, want an error", e)
		}
		k = c.socket()
		k.ok("subscribe_events", "")
		if n := c.server.StallSockets(); n != 1 {
			t.Errorf("stalled: got %d, want 1", n)
		}
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "on"})
		k.send("ping", "")
		if e := k.within(time.Hour); e.err == nil {
			t.Errorf("stalled: got %+v, want nothing", e)
		}
		if calls := c.server.Calls(); calls[len(calls)-1].Method == "ping" {
			t.Error("a command arrived over a stalled socket")
		}
		c.violations()
	})
}

// A client answers no pings, so the server must disconnect it. A client that answers pings must stay connected.
func TestServerPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.socket()
		began := time.Now()
		pause(10 * time.Minute) // a client that does not read answers no ping
		if n := c.server.Sockets(); n != 0 {
			t.Errorf("%d sockets after %v, want none", n, time.Since(began))
		}
		k := c.socket()
		late := make(chan int, 1)
		time.AfterFunc(59*time.Minute, func() { late <- c.server.Sockets() })
		if e := k.within(time.Hour); e.err == nil {
			t.Errorf("got %+v, want nothing", e)
		}
		if n := <-late; n != 1 {
			t.Errorf("%d sockets of a client that reads, and so answers pings, want 1", n)
		}
	})
}

// Messages wait for a client that does not read. If too many messages wait, the server must disconnect the client, at
// once or after five seconds.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	changes := func(n int) []homeassistant.Change {
		var list []homeassistant.Change
		for i := range n {
			list = append(list, homeassistant.Change{Entity: "sensor.power", State: fmt.Sprint(i), Attributes: map[string]any{
				"big": strings.Repeat("x", 100),
			}})
		}
		return list
	}
	for _, tc := range []struct {
		name                   string
		subscriptions, changes int
		wait                   time.Duration // time before one more state change
		cut                    bool
	}{
		{"few", 1, 1000, time.Minute, false},
		{"many for a short time", 1, 1500, 4 * time.Second, false},
		{"many for a long time", 1, 1500, 6 * time.Second, true},
		{"too many", 40, 1000, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				k := c.socket()
				for range tc.subscriptions {
					k.ok("subscribe_events", `,"event_type":"state_changed"`)
				}
				c.server.Burst(changes(tc.changes)...)
				synctest.Wait()
				pause(tc.wait)
				c.server.SetState(homeassistant.Change{Entity: "sensor.power", State: "last"})
				if n := c.server.Stats().Violations.ByKind[homeassistant.SlowReader]; (n == 1) != tc.cut || (c.server.Sockets() == 0) != tc.cut {
					t.Errorf("%d violations and %d sockets, want it cut: %v", n, c.server.Sockets(), tc.cut)
				}
			})
		})
	}
}
