package slack_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/slack"
)

func TestSocketMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		ts := c.server.Say(slack.Incoming{Channel: direct, Text: "hello & <b>"})
		e := k.take()
		got := e.Payload.Event
		if e.Type != "events_api" || e.Payload.Type != "event_callback" || got.Type != "message" || got.ChannelType != "im" ||
			got.TS != ts || got.User != "U1001" || got.Text != "hello &amp; &lt;b&gt;" || e.Answerable || e.Retry != 0 {
			t.Errorf("got %+v", e)
		}
		pause(10 * time.Minute) // during this pause, no event may be delivered again
		list := c.server.Deliveries()
		if len(list) != 1 || len(list[0].Attempts) != 1 || list[0].Acked.IsZero() {
			t.Errorf("deliveries: got %+v, want one, acknowledged", list)
		}
		if n := c.server.Stats().Violations.Total(); n != 0 {
			t.Errorf("violations: got %d, want 0", n)
		}
	})
}

// The app does not acknowledge an event. The server must deliver the event again at once, after one minute and after
// five minutes.
func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		c.server.Say(slack.Incoming{Channel: direct, Text: "hello"})
		began := time.Now()
		id := ""
		for retry, at := range []time.Duration{0, 3 * time.Second, 66 * time.Second, 369 * time.Second} {
			e := k.next()
			reason := "timeout"
			if retry == 0 {
				reason, id = "", e.Payload.EventID
			}
			if e.Retry != retry || e.RetryReason != reason || e.Payload.EventID != id || time.Since(began) != at {
				t.Errorf("attempt %d: got %d %q of %s after %v, want %q of %s after %v", retry, e.Retry, e.RetryReason, e.Payload.EventID, time.Since(began), reason, id, at)
			}
		}
		pause(time.Hour)
		if d := c.server.Deliveries()[0]; !d.Lost || len(d.Attempts) != 4 {
			t.Errorf("got %+v, want it lost after 4 attempts", d)
		}
		if st := c.server.Stats(); st.Lost != 1 || st.Redelivered != 3 || st.Pending != 0 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

func TestAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		c.server.Say(slack.Incoming{Channel: direct, Text: "hello"})
		e := k.next()
		pause(3500 * time.Millisecond)
		k.ack(e, nil)
		again := k.take()
		if again.Retry != 1 || again.ID == e.ID {
			t.Errorf("got %+v, want it again in a new envelope", again)
		}
		k.ack(again, nil) // the second acknowledgement of the same envelope
		synctest.Wait()
		got := c.server.Stats().Violations.ByKind
		if got[slack.LateAck] != 1 || got[slack.BadAck] != 1 {
			t.Errorf("violations: got %v, want a late and a bad acknowledgement", got)
		}
	})
}

// The app opens ten sockets. The server must send each envelope over exactly one of these sockets, and refuse the
// eleventh socket.
func TestManySockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		var sockets []*socket
		for range 10 {
			sockets = append(sockets, c.socket())
		}
		for i := range 20 {
			c.server.Say(slack.Incoming{Channel: direct, Text: strconv.Itoa(i)})
		}
		seen := make(map[string]bool)
		for _, k := range sockets {
			for range 2 {
				e := k.take()
				if seen[e.Payload.EventID] {
					t.Errorf("event %s came twice", e.Payload.EventID)
				}
				seen[e.Payload.EventID] = true
			}
		}
		k, err := c.dial(c.url())
		if err != nil {
			t.Fatal(err)
		}
		if e := k.next(); e.Type != "disconnect" || e.Reason != "too_many_websockets" {
			t.Errorf("eleventh socket: got %+v", e)
		}
		if e := k.next(); e.Type != "" || c.server.Sockets() != 10 {
			t.Errorf("got %+v and %d sockets, want it closed and 10", e, c.server.Sockets())
		}
	})
}

func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		address := c.url()
		if _, err := c.dial(address); err != nil {
			t.Fatalf("first use: %v", err)
		}
		if _, err := c.dial(address); err == nil {
			t.Error("second use: got a socket, want none")
		}
		address = c.url()
		pause(31 * time.Second)
		if _, err := c.dial(address); err == nil {
			t.Error("after 31 s: got a socket, want none")
		}
		for _, tc := range []struct{ token, want string }{
			{"", "not_authed"}, {"xapp-other", "invalid_auth"}, {c.server.BotToken(), "not_allowed_token_type"},
		} {
			if r := c.with(tc.token, "apps.connections.open", nil); r.Error != tc.want {
				t.Errorf("token %q: got %q, want %q", tc.token, r.Error, tc.want)
			}
		}
	})
}

// In this test, a socket reaches its maximum age. The server must send a warning, then a request to reconnect, and then
// close the socket. If the app does not acknowledge an event, the server must deliver the event again, over any open
// socket.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{SocketLife: time.Minute})
		began := time.Now()
		old := c.socket()
		if e := old.next(); e.Reason != "warning" || time.Since(began) != 50*time.Second {
			t.Errorf("got %+v after %v, want a warning after 50s", e, time.Since(began))
		}
		fresh := c.socket()
		c.server.Say(slack.Incoming{Channel: direct, Text: "one"})
		c.server.Say(slack.Incoming{Channel: direct, Text: "two"})
		fresh.take()
		if e := old.next(); e.Type != "events_api" {
			t.Errorf("got %+v, want the other event on the warned socket", e)
		}
		if e := fresh.take(); e.Retry != 1 { // the event is delivered again after three seconds, over any of the sockets
			t.Errorf("got %+v, want the event again", e)
		}
		for e := old.next(); e.Reason != "refresh_requested"; e = old.next() {
			if e.Type == "" {
				t.Fatalf("got %+v, want a refresh", e)
			}
		}
		if e := old.next(); e.Type != "" || c.server.Sockets() != 1 {
			t.Errorf("got %+v and %d sockets, want it closed and 1", e, c.server.Sockets())
		}
		c.server.Disconnect(slack.ReasonLinkDisabled, 0)
		if e := fresh.next(); e.Reason != "link_disabled" {
			t.Errorf("got %+v, want link_disabled", e)
		}
	})
}

// After CutSockets, the client must see that the connection has ended. After StallSockets, the connection stays open,
// but nothing arrives over it.
func TestBrokenSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		if n := c.server.CutSockets(); n != 1 {
			t.Errorf("cut: got %d, want 1", n)
		}
		if e := k.next(); e.Type != "" {
			t.Errorf("after a cut: got %+v, want an error", e)
		}
		k = c.socket()
		c.server.StallSockets()
		c.server.Say(slack.Incoming{Channel: direct, Text: "hello"})
		if e := k.within(20 * time.Second); e.Type != "" {
			t.Errorf("stalled: got %+v, want nothing", e)
		}
		k = c.socket()
		c.server.Restart(time.Second)
		if e := k.next(); e.Type != "" {
			t.Errorf("after a restart: got %+v, want an error", e)
		}
		pause(2 * time.Second)
		k = c.socket()
		if e := k.take(); e.Payload.Event.Text != "hello" || e.Retry == 0 {
			t.Errorf("afterwards: got %+v, want the event again", e)
		}
	})
}

// While no socket is open, the stand-in must keep trying for six minutes to deliver an event.
func TestNoSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		c.server.Say(slack.Incoming{Channel: direct, Text: "early"})
		pause(2 * time.Minute)
		c.server.Say(slack.Incoming{Channel: direct, Text: "late"})
		synctest.Wait() // the first delivery fails, because no socket is open
		k := c.socket()
		if e := k.take(); e.Payload.Event.Text != "late" || e.RetryReason != "connection_failed" {
			t.Errorf("got %+v", e)
		}
		if e := k.take(); e.Payload.Event.Text != "early" || e.Retry != 3 {
			t.Errorf("got %+v", e)
		}
	})
}

func TestDeliveryFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		c.server.Fault(slack.Fault{Method: "event", Action: slack.ActDuplicate, Nth: 1})
		c.server.Fault(slack.Fault{Method: "event", Action: slack.ActDrop, Contains: "second"})
		c.server.Fault(slack.Fault{Method: "event", Action: fault.Latency, Delay: 5 * time.Second, Contains: "third"})
		c.server.Say(slack.Incoming{Channel: direct, Text: "first"})
		first, again := k.take(), k.take()
		if first.Payload.EventID != again.Payload.EventID || again.Retry != 1 {
			t.Errorf("duplicate: got %+v and %+v", first, again)
		}
		c.server.Say(slack.Incoming{Channel: direct, Text: "second"})
		if e := k.within(5 * time.Second); e.Type != "" {
			t.Errorf("dropped: got %+v", e)
		}
		k = c.socket()
		began := time.Now()
		c.server.Say(slack.Incoming{Channel: direct, Text: "third"})
		if e := k.take(); e.Payload.Event.Text != "third" || time.Since(began) != 5*time.Second {
			t.Errorf("late: got %+v after %v", e, time.Since(began))
		}
	})
}
