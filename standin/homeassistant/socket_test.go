package homeassistant_test

import (
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/homeassistant"
)

func TestEvents(t *testing.T) {
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
		if r := k.ok("unsubscribe_events", `,"subscription":1`); string(r.Result) != "null" {
			t.Errorf("unsubscribe: got %s", r.Result)
		}
		c.server.SetState(homeassistant.Change{Entity: "light.kitchen", State: "off"})
		if e := k.within(time.Minute); e.err == nil {
			t.Errorf("after the end of the subscription: got %+v", e)
		}
		c.violations()
	})
}
