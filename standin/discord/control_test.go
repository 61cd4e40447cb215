package discord_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
)

// TestControl uses the control API as a program in another language would.
func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		get := func(path string) string {
			t.Helper()
			r := c.do(t.Context(), http.MethodGet, "/control/"+path, "", nil)
			if r.Status != 200 {
				t.Errorf("GET %s: got %d %s", path, r.Status, r.Raw)
			}
			return r.Raw
		}
		var said struct{ Channel, Message, Interaction string }
		post := func(path, body string) string {
			t.Helper()
			r := c.control(path, body)
			r.into(t, &struct{}{})
			return r.Raw
		}
		c.control("say", `{"text":"hello","files":[{"name":"a.txt","content":"aGk="}]}`).into(t, &said)
		m := g.expect("MESSAGE_CREATE").message(t)
		if m.ID != said.Message || len(m.Attachments) != 1 {
			t.Errorf("message: got %+v", m)
		}
		if got := get("file?id=" + m.Attachments[0].ID); got != "hi" {
			t.Errorf("file: got %q", got)
		}
		if got := get("dm"); !strings.Contains(got, said.Channel) {
			t.Errorf("dm: got %s, want %s", got, said.Channel)
		}
		c.call(http.MethodPost, commandsPath, ask())
		c.control("slash", `{"channel":"`+general+`","name":"ask","options":{"question":"why"}}`).into(t, &said)
		i := g.expect("INTERACTION_CREATE").invoked(t)
		if i.ID != said.Interaction {
			t.Errorf("slash: got %s, want %s", i.ID, said.Interaction)
		}
		c.call(http.MethodPost, i.callback(), object{"type": 4, "data": object{
			"content": "because", "components": []object{{"type": 1, "components": []object{{"type": 2, "style": 1, "label": "x", "custom_id": "more"}}}},
		}})
		id := g.expect("MESSAGE_CREATE").message(t).ID
		post("press", `{"channel":"`+general+`","message":"`+id+`","custom_id":"more"}`)
		post("thread", `{"channel":"`+general+`","message":"`+id+`","name":"talk"}`)
		post("archive", `{"channel":"`+id+`","locked":true}`)
		post("permit", `{"channel":"`+general+`","access":{"read_only":true}}`)
		if r := c.send(general, "x"); r.code() != 50013 {
			t.Errorf("permit: got %d %s", r.Status, r.Raw)
		}
		post("permit", `{"channel":"`+general+`"}`)
		post("limits", `{"published":{"messages":1}}`)
		c.send(general, "x").id(t)
		c.send(general, "x").limited(t)
		post("limits", `{"off":true}`)
		post("block", `{}`)
		if r := c.send(said.Channel, "x"); r.code() != 50007 && r.Status != 429 {
			t.Errorf("block: got %d %s", r.Status, r.Raw)
		}
		post("role", `{"role":"7"}`)
		post("kick", `{}`)
		post("invite", `{}`)
		post("delete", `{"channel":"`+general+`","message":"`+id+`"}`)
		post("fault", `{"method":"typing","action":"status","status":503}`)
		if r := c.call(http.MethodPost, "/channels/"+general+"/typing", nil); r.Status != 503 {
			t.Errorf("fault: got %d", r.Status)
		}
		c.do(t.Context(), http.MethodDelete, "/control/fault", "", nil)
		if got := get("view?channel=" + general); !strings.Contains(got, `"content":"x"`) || strings.Contains(got, "because") {
			t.Errorf("view: got %s", got)
		}
		if got := get("history?channel=" + general); !strings.Contains(got, "because") {
			t.Errorf("history: got %s", got)
		}
		for path, want := range map[string]string{
			"info": discord.DefaultGuild, "channels": general, "stats": `"over_limit":1`, "interactions": said.Interaction,
			"commands": `"ask"`, "calls?last=1": `"typing"`, "paused": "[]",
		} {
			if got := get(path); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s in it", path, got, want)
			}
		}
		post("gateway", `{"kind":"reconnect"}`)
		post("delete_channel", `{"channel":"`+general+`"}`)
		post("restart", `{"down_ms":1000}`)
		if r := c.send(general, "x"); r.Err == nil {
			t.Errorf("while it is down: got %d", r.Status)
		}
		pause(time.Second)
		post("reset", `{}`)
		if got := get("calls"); got != "[]" {
			t.Errorf("after the reset: got %s", got)
		}
		c.send(general, "x").id(t)
	})
}

func TestControlRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		for _, tc := range []struct {
			path, body string
			status     int
		}{
			{"nothing", `{}`, 404},
			{"say", `{"text":""}`, 400},
			{"say", `{"text":"x","channel":"x"}`, 400},
			{"say", `{"text":"x","unknown":1}`, 400},
			{"slash", `{"name":"ask"}`, 400},
			{"press", `{"channel":"` + general + `","message":"1","custom_id":"x"}`, 400},
			{"fault", `{"action":"explode"}`, 400},
			{"gateway", `{"kind":"explode"}`, 400},
			{"gateway", `{"kind":"close","code":7}`, 400},
			{"outage", `{"kind":"cut"}`, 400},
			{"delete", `{"channel":"1","message":"2"}`, 400},
			{"block", `{"user":"x"}`, 400},
		} {
			if r := c.control(tc.path, tc.body); r.Status != tc.status || !strings.HasPrefix(r.Raw, `{"error":`) {
				t.Errorf("%s %s: got %d %s, want %d", tc.path, tc.body, r.Status, r.Raw, tc.status)
			}
		}
	})
}

func TestPausedOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.control("fault", `{"method":"createMessage","action":"pause_after","times":1}`)
		done := make(chan reply, 1)
		go func() { done <- c.send(general, "x") }()
		var held []discord.Paused
		c.do(t.Context(), http.MethodGet, "/control/paused?wait=30", "", nil).into(t, &held)
		if len(held) != 1 || held[0].Call.Method != "createMessage" {
			t.Fatalf("held: got %+v", held)
		}
		c.control("resume", `{"drop":true}`)
		if r := <-done; r.Err == nil {
			t.Errorf("got %d, want a cut connection", r.Status)
		}
	})
}

// TestWatch checks that a watcher gets all events in order, and that the stream ends when the server closes.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		events := c.server.Watch(t.Context())
		done := make(chan string, 1)
		go func() {
			kinds := ""
			for e := range events {
				kinds += e.Kind + " "
			}
			done <- kinds
		}()
		id := c.send(general, "x").id(t)
		c.edit(general, id, "y").id(t)
		synctest.Wait()
		if err := c.server.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != "message call edit call " {
			t.Errorf("events: got %q", got)
		}
	})
}
