package slack_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

func TestSlashCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		c.server.Command(channel, "U7", "/ask", "why?")
		e := k.next()
		if e.Type != "slash_commands" || !e.Answerable || e.Payload.Command != "/ask" || e.Payload.Text != "why?" {
			t.Errorf("got %+v", e)
		}
		k.ack(e, map[string]string{"text": "one moment"})
		synctest.Wait()
		history := c.server.History(channel)
		if len(history) != 1 || history[0].Shown() != "one moment" || history[0].EphemeralTo != "U7" {
			t.Errorf("acknowledged with a text: got %+v", history)
		}
		u, err := url.Parse(e.Payload.ResponseURL)
		if err != nil {
			t.Fatal(err)
		}
		use := func(body string) reply { return c.post(t.Context(), "", u.Path, "application/json", body) }
		for i := range 5 {
			if r := use(`{"text":"later","response_type":"in_channel"}`); r.Status != 200 || r.Raw != "ok" {
				t.Errorf("use %d: got %d %s", i, r.Status, r.Raw)
			}
		}
		if r := use(`{"text":"x"}`); r.Status != 404 || r.Error != "used_url" {
			t.Errorf("sixth use: got %d %s", r.Status, r.Raw)
		}
		if n := len(c.server.Screen(channel, time.Now()).In("")); n != 6 {
			t.Errorf("messages: got %d, want 6", n)
		}
		for range 5 {
			k.take() // the app also gets an event for its own message in the channel
		}
		if run := c.server.Commands()[0]; run.Acked.IsZero() || run.Failed != "" {
			t.Errorf("record: got %+v", run)
		}
	})
}

// TestCommandTimeout checks that a command without an acknowledgement is not sent again, and that the person gets an
// error.
func TestCommandTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Command(direct, "", "/ask", "nobody listens")
		synctest.Wait() // the first delivery fails, because no socket is open
		k := c.socket()
		c.server.Command(direct, "", "/ask", "why?")
		first := k.next()
		if e := k.within(time.Minute); e.Type != "" {
			t.Errorf("after %+v: got %+v, want nothing", first, e)
		}
		var failed []string
		for _, run := range c.server.Commands() {
			failed = append(failed, run.Failed)
		}
		if len(failed) != 2 || failed[0] != "dispatch_failed" || failed[1] != "operation_timeout" {
			t.Errorf("got %v", failed)
		}
		history := c.server.History(direct)
		if got := history[len(history)-1].Shown(); got != `/ask failed with the error "operation_timeout"` {
			t.Errorf("shown: got %q", got)
		}
		u, err := url.Parse(c.server.Commands()[1].ResponseURL)
		if err != nil {
			t.Fatal(err)
		}
		pause(30 * time.Minute)
		if r := c.post(t.Context(), "", u.Path, "application/json", `{"text":"x"}`); r.Error != "expired_url" {
			t.Errorf("after half an hour: got %d %s", r.Status, r.Raw)
		}
	})
}

func TestButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		c.server.Say(slack.Incoming{Text: "hi"})
		k.take()
		ts := c.ok("chat.postMessage", args{"channel": direct, "text": "sure?", "blocks": `[{"type":"section","text":{"type":"mrkdwn","text":"sure?"}},
			{"type":"actions","block_id":"b","elements":[{"type":"button","action_id":"yes","value":"v1","text":{"type":"plain_text","text":"Yes"}}]}]`}).TS
		k.take()
		if id := c.server.Press(direct, "", ts, "No"); id != 0 {
			t.Errorf("no such button: got %d, want 0", id)
		}
		c.server.Press(direct, "", ts, "Yes")
		e := k.take()
		if e.Type != "interactive" || e.Payload.Type != "block_actions" || len(e.Payload.Actions) != 1 || e.Payload.Actions[0].ID != "yes" || e.Payload.Actions[0].Value != "v1" {
			t.Errorf("got %+v", e)
		}
		u, err := url.Parse(e.Payload.ResponseURL)
		if err != nil {
			t.Fatal(err)
		}
		c.post(t.Context(), "", u.Path, "application/json", `{"replace_original":true,"text":"yes","blocks":[]}`)
		if got := c.shown(direct, ts); got != "yes" {
			t.Errorf("replaced: got %q", got)
		}
		c.post(t.Context(), "", u.Path, "application/json", `{"delete_original":true}`)
		if got := c.shown(direct, ts); got != "(nothing)" {
			t.Errorf("deleted: got %q", got)
		}
	})
}

// TestCommandsByHTTP checks that commands arrive as forms over HTTP, and button presses as JSON in a form field.
func TestCommandsByHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := startApp(t, func(_ int, p pushed, w http.ResponseWriter) {
			if p.form.Get("command") != "" {
				_, _ = io.WriteString(w, "at once") // if the response gets lost, the test fails anyway
			}
		})
		c.server.Command(channel, "U7", "/ask", "why & how?")
		synctest.Wait()
		if got := a.requests()[1].form; got.Get("command") != "/ask" || got.Get("text") != "why & how?" || got.Get("user_id") != "U7" || got.Get("channel_id") != channel {
			t.Errorf("command: got %v", got)
		}
		history := c.server.History(channel)
		if len(history) != 1 || history[0].Shown() != "at once" {
			t.Errorf("answer: got %+v", history)
		}
		ts := c.ok("chat.postMessage", args{"channel": channel, "text": "x", "blocks": `[{"type":"actions","elements":[{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"}}]}]`}).TS
		synctest.Wait()
		c.server.Press(channel, "U7", ts, "go")
		synctest.Wait()
		got := a.requests()
		if last := got[len(got)-1]; last.Type != "block_actions" || last.Actions[0].ID != "go" {
			t.Errorf("action: got %+v", last)
		}
	})
}
