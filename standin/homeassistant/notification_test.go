package homeassistant_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/homeassistant"
)

// The bot creates a notification, and then another one with the same notification_id. The second notification must
// overwrite the first one. The history must contain the texts of both notifications, with their times.
func TestPanel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		create := func(data string) {
			t.Helper()
			c.call("POST", "/api/services/persistent_notification/create", data).want(t, "create", 200, "[]")
		}
		began := time.Now()
		create(`{"notification_id":"a","title":"telex","message":"Hel▌"}`)
		pause(time.Second)
		create(`{"notification_id":"a","message":"Hello"}`)
		pause(time.Second)
		create(`{"notification_id":"a","message":"Hello"}`)
		create(`{"message":"one"}`)
		create(`{"message":"two"}`)
		if got := c.shown(); got != "Hello|one|two" {
			t.Errorf("shown: got %q", got)
		}
		history := c.server.History(homeassistant.Panel)
		first := history[0]
		if len(history) != 3 || history[1].ID == history[2].ID || len(first.Versions) != 3 {
			t.Fatalf("history: got %+v", history)
		}
		if v := first.Versions[0]; v.Text != "Hel▌" || v.Title != "telex" || !v.At.Equal(began) || v.Method != "persistent_notification.create" {
			t.Errorf("first version: got %+v", v)
		}
		if v := first.Versions[1]; v.Text != "Hello" || v.Title != "" || !v.At.Equal(began.Add(time.Second)) {
			t.Errorf("second version: got %+v", v)
		}
		if seen := c.server.Screen(began.Add(999 * time.Millisecond)).In(homeassistant.Panel); len(seen) != 1 || seen[0].Text() != "Hel▌" {
			t.Errorf("then: got %+v", seen)
		}
		k := c.socket()
		if e := k.ok("persistent_notification/get", ""); !strings.Contains(string(e.Result), `"message":"Hello","notification_id":"a","title":null`) {
			t.Errorf("get: got %s", e.Result)
		}
		c.call("POST", "/api/services/persistent_notification/dismiss", `{"notification_id":"a"}`).want(t, "dismiss", 200, "[]")
		c.call("POST", "/api/services/persistent_notification/dismiss", `{"notification_id":"a"}`).want(t, "dismiss again", 200, "[]")
		create(`{"notification_id":"a","message":"again"}`)
		if history := c.server.History(homeassistant.Panel); len(history) != 4 || history[0].DeletedBy != "bot" || history[3].Text() != "again" {
			t.Errorf("after the dismissal: got %+v", history)
		}
		if !c.server.Dismiss("a") || c.server.Dismiss("a") {
			t.Error("a person dismisses: want true, then false")
		}
		st := c.server.Stats()
		if st.Notifications != 4 || st.Edits != 2 || st.NotModified != 1 || st.Dismissed != 1 || st.ByMethod["persistent_notification.create"] != 6 {
			t.Errorf("stats: got %+v", st)
		}
		k.ok("call_service", `,"domain":"persistent_notification","service":"dismiss_all"`)
		if got := c.shown(); got != "" {
			t.Errorf("after dismiss_all: got %q", got)
		}
		c.violations()
	})
}

// The bot sends notifications whose text is a number, a boolean or a string. The test checks the text that people see.
func TestTextOfNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		for data, want := range map[string]string{
			`{"message":12345678901234567890}`: "12345678901234567890",
			`{"message":true}`:                 "True",
			`{"message":""}`:                   "",
			`{"message":"{{ states('x') }}"}`:  "{{ states('x') }}",
			`{"message":"<b>\u00e9🙂</b>"}`:     "<b>é🙂</b>",
		} {
			c.call("POST", "/api/services/persistent_notification/create", data).want(t, data, 200, "[]")
			history := c.server.History("")
			if got := history[len(history)-1].Text(); got != want {
				t.Errorf("%s: got %q, want %q", data, got, want)
			}
		}
	})
}

// TestForeignNotifications checks that it is a violation if a bot changes a notification that it did not create.
func TestForeignNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{})
		c.with("", "GET", "/api/", "")
		c.call("POST", "/api/services/persistent_notification/create", `{"notification_id":"http-login","message":"x"}`)
		c.call("POST", "/api/services/persistent_notification/dismiss", `{"notification_id":"http-login"}`)
		c.violations("bad_auth", "foreign_notification", "foreign_notification")
	})
}

// The bot can't change a message that it has sent to a notify target, so each call must create a new message.
func TestTargetsOfNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, homeassistant.Options{Targets: []string{"ann"}})
		c.server.SetState(homeassistant.Change{Entity: "notify.plain", State: "unknown", Attributes: map[string]any{}})
		k := c.socket()
		k.ok("call_service", `,"domain":"notify","service":"ann","service_data":{"message":"one","title":"T","data":{"tag":"x"}}`)
		k.ok("call_service", `,"domain":"notify","service":"ann","service_data":{"message":"two","target":["a"]}`)
		c.call("POST", "/api/services/notify/mobile_app_phone", `{"message":"x"}`).want(t, "another target", 400, "400: Bad Request")
		k.ok("call_service", `,"domain":"notify","service":"send_message","target":{"entity_id":["notify.phone","notify.plain"]},"service_data":{"message":"three","title":"T"}`)
		k.ok("call_service", `,"domain":"notify","service":"persistent_notification","service_data":{"message":"four","data":{"notification_id":"p"}}`)
		var got []string
		for _, n := range c.server.Screen(time.Now()).Notifications {
			got = append(got, n.Place+" "+n.Last().Title+": "+n.Text())
		}
		want := "notify.ann T: one|notify.ann : two|notify.phone T: three|notify.plain : three|persistent_notification : four"
		if strings.Join(got, "|") != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if state, _ := c.server.State("notify.phone"); state.State != time.Now().UTC().Format("2006-01-02T15:04:05-07:00") {
			t.Errorf("the state of a notify entity is when it last sent: got %s", state.State)
		}
		c.violations("unknown_service")
	})
}
