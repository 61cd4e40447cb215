package homeassistant_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/homeassistant"
)

const (
	create       = "persistent_notification.create"
	createPath   = "/api/services/persistent_notification/create"
	createSocket = `,"domain":"persistent_notification","service":"create","service_data":`
)

// TestFaults checks the effect of each fault on a REST call and on a command.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		fault  homeassistant.Fault
		status int    // status of the REST call; 0: the connection is lost
		code   string // error code of the command; "": success, "-": the socket is lost
		after  time.Duration
		effect bool
	}{
		{"latency", homeassistant.Fault{Action: fault.Latency, Delay: time.Minute}, 200, "", time.Minute, true},
		{"status", homeassistant.Fault{Action: fault.Status, Status: 502}, 502, "unknown_error", 0, false},
		{"status after the effect", homeassistant.Fault{Action: fault.Status, Status: 502, AfterEffect: true}, 502, "unknown_error", 0, true},
		{"error", homeassistant.Fault{Action: fault.Error, Error: "home_assistant_error"}, 500, "home_assistant_error", 0, false},
		{"error after the effect", homeassistant.Fault{Action: fault.Error, Error: "timeout", AfterEffect: true}, 500, "timeout", 0, true},
		{"cut before", homeassistant.Fault{Action: fault.CutBefore}, 0, "-", 0, false},
		{"cut after", homeassistant.Fault{Action: fault.CutAfter}, 0, "-", 0, true},
		{"malformed", homeassistant.Fault{Action: fault.Malformed}, 200, "-", 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, way := range []string{"rest", "socket"} {
					c := start(t, homeassistant.Options{})
					f := tc.fault
					f.Method, f.Nth, f.Channel, f.Scope = create, 2, "a", way
					c.server.Fault(f)
					k := c.socket()
					try := func(message string, status int, code string) {
						t.Helper()
						data := `{"notification_id":"a","message":"` + message + `"}`
						began := time.Now()
						if way == "rest" {
							if r := c.call("POST", createPath, data); r.Status != status || (r.Err != nil) != (status == 0) {
								t.Errorf("%s: got %+v, want %d", message, r, status)
							}
						} else {
							e := k.ask("call_service", createSocket+data)
							if (e.err != nil) != (code == "-") || e.err == nil && (e.Error.Code != code || e.Success != (code == "")) {
								t.Errorf("%s: got %+v, want %q", message, e, code)
							}
						}
						if message == "two" && time.Since(began) != tc.after {
							t.Errorf("%s: after %v, want %v", way, time.Since(began), tc.after)
						}
					}
					try("one", 200, "")
					try("two", tc.status, tc.code)
					want := map[bool]string{true: "two", false: "one"}[tc.effect]
					if got := c.shown(); got != want {
						t.Errorf("%s: a person sees %q, want %q", way, got, want)
					}
					calls := c.server.Calls()
					if last := calls[len(calls)-1]; last.Fault != tc.fault.Action || last.Effect != tc.effect || last.Via != way || last.Text != "two" {
						t.Errorf("%s: call %+v, want fault %s and effect %v", way, last, tc.fault.Action, tc.effect)
					}
					if tc.code == "-" {
						k = c.socket()
					}
					try("three", 200, "")
					if got := c.shown(); got != "three" {
						t.Errorf("%s: afterwards a person sees %q", way, got)
					}
					c.violations()
				}
			})
		})
	}
}

// TestHang checks that a hanging command blocks neither other commands nor events.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.server.Fault(homeassistant.Fault{Method: create, Times: 1, Action: fault.Hang})
		k := c.socket()
		k.ok("subscribe_events", `,"event_type":"state_changed"`)
		k.send("call_service", createSocket+`{"message":"x"}`)
		pause(time.Second)
		if e := k.ask("ping", ""); e.Type != "pong" {
			t.Errorf("got %+v, want pong", e)
		}
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "on"})
		if e := k.next(); e.Type != "event" {
			t.Errorf("got %+v, want an event", e)
		}
		if err := k.conn.CloseNow(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		calls := c.server.Calls()
		if last := calls[len(calls)-2]; last.Method != create || last.Status != 0 || last.Effect || c.shown() != "" {
			t.Errorf("got %+v and %q, want no effect", last, c.shown())
		}
	})
}

// TestOpening lets faults hit the opening of a socket, and the authentication on the socket.
func TestOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.server.Fault(homeassistant.Fault{Method: "socket", Nth: 1, Action: fault.Status, Status: 502})
		r := c.call("GET", "/api/websocket", "")
		if r.Status != 502 || !strings.Contains(r.Raw, "502 Bad Gateway") {
			t.Errorf("got %+v, want a proxy's page", r)
		}
		c.server.Fault(homeassistant.Fault{Method: "auth", Nth: 1, Action: fault.Error, Error: "down"})
		c.server.Fault(homeassistant.Fault{Method: "auth", Nth: 2, Action: fault.CutAfter})
		c.server.Fault(homeassistant.Fault{Method: "auth", Nth: 3, Action: fault.Hang})
		for _, want := range []string{"auth_invalid", "", ""} {
			k := c.dial()
			k.next()
			began := time.Now()
			k.write(`{"type":"auth","access_token":"` + c.server.Token() + `"}`)
			if e := k.within(time.Minute); e.Type != want {
				t.Errorf("got %+v after %v, want %q", e, time.Since(began), want)
			}
		}
		c.socket()
	})
}

// TestPauses holds calls at each moment at which a test may kill a client.
func TestPauses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		action, stage string
		drop          bool
		want          string // what a person sees at the end
		answered      bool
	}{
		{fault.PauseBefore, fault.Before, true, "", false},
		{fault.PauseBefore, fault.Before, false, "x", true},
		{fault.PauseAfter, fault.After, true, "x", false},
		{fault.PauseAnswered, fault.Answered, false, "x", true},
	} {
		t.Run(tc.action, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				k := c.socket()
				c.server.Fault(homeassistant.Fault{Method: create, Action: tc.action})
				k.send("call_service", createSocket+`{"message":"x"}`)
				synctest.Wait()
				held := c.server.Paused()
				if len(held) != 1 || held[0].Stage != tc.stage || held[0].Call.Method != create {
					t.Fatalf("held: got %+v", held)
				}
				if tc.drop {
					c.server.Drop(0)
				} else {
					c.server.Resume(0)
				}
				if e := k.next(); (e.err == nil) != tc.answered {
					t.Errorf("got %+v, want an answer: %v", e, tc.answered)
				}
				if got := c.shown(); got != tc.want {
					t.Errorf("a person sees %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// A person dismisses a notification right before the bot overwrites it. The test checks that the bot's call then
// creates a new notification.
func TestDeleteFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.server.Fault(homeassistant.Fault{Method: create, Nth: 2, Action: fault.DeleteFirst})
		for _, text := range []string{"one", "two"} {
			c.call("POST", createPath, `{"notification_id":"a","message":"`+text+`"}`)
		}
		history := c.server.History("")
		if len(history) != 2 || history[0].DeletedBy != "person" || history[1].Text() != "two" {
			t.Errorf("got %+v, want one dismissed and a new one", history)
		}
	})
}

func TestImpossibleFaults(t *testing.T) {
	t.Parallel()
	s := homeassistant.New(homeassistant.Options{})
	for _, f := range []homeassistant.Fault{
		{Action: "rain"},
		{Action: fault.RateLimit},
		{Action: fault.Error},
		{Action: fault.Status, Status: 200},
		{Action: fault.Hang, Chat: 7},
		{Action: fault.Hang, Scope: "global"},
		{Action: fault.Hang, Nth: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: want a panic", f)
				}
			}()
			s.Fault(f)
		}()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// During a restart, the server must end all sockets and answer no call. The states of entities must survive the
// restart. Notifications in the panel must not survive the restart.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		k := c.socket()
		c.call("POST", createPath, `{"notification_id":"a","message":"x"}`)
		c.call("POST", "/api/services/notify/notify", `{"message":"y"}`)
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "on"})
		c.server.Restart(time.Minute)
		if e := k.next(); e.err == nil {
			t.Errorf("got %+v, want the end", e)
		}
		if r := c.call("GET", "/api/", ""); r.Err == nil {
			t.Errorf("while down: got %+v", r)
		}
		pause(time.Minute)
		c.socket()
		history := c.server.History("")
		if state, _ := c.server.State("light.kitchen"); state.State != "on" || c.shown() != "" || history[0].DeletedBy != "restart" || !history[1].Alive() {
			t.Errorf("afterwards: %s, %+v", state.State, history)
		}
		c.server.Reset()
		if state, _ := c.server.State("light.kitchen"); state.State != "off" || len(c.server.History("")) != 0 {
			t.Errorf("after a reset: %s, %+v", state.State, c.server.History(""))
		}
	})
}

func TestOutages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind   string
		status int
	}{{fault.OutageRefuse, 0}, {fault.OutageCut, 0}, {fault.OutageError, 502}, {fault.OutageHang, 0}} {
		t.Run(tc.kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(t, homeassistant.Options{})
				k := c.socket()
				c.server.Outage(fault.Outage{Kind: tc.kind, For: time.Minute})
				if e := k.next(); e.err == nil {
					t.Errorf("socket: got %+v, want its end", e)
				}
				if tc.kind == fault.OutageHang {
					c.http.Timeout = time.Second
				}
				if r := c.call("POST", createPath, `{"message":"x"}`); r.Status != tc.status || (r.Err == nil) != (tc.status != 0) {
					t.Errorf("call: got %+v, want %d", r, tc.status)
				}
				pause(2 * time.Minute)
				c.call("GET", "/api/", "").want(t, "afterwards", 200, `{"message":"API running."}`)
				c.socket()
				if got := c.shown(); got != "" {
					t.Errorf("a call in an outage took effect: %q", got)
				}
			})
		})
	}
}
