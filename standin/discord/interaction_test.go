package discord_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
)

const commandsPath = "/applications/" + app + "/commands"

// ask returns the definition of a command with one option.
func ask() object {
	return object{"name": "ask", "description": "Ask the model", "options": []object{{"type": 3, "name": "question", "description": "What", "required": true}}}
}

// invoked is an interaction as the gateway sends it.
type invoked struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	Type  int    `json:"type"`
	Data  struct {
		Name     string `json:"name"`
		CustomID string `json:"custom_id"`
		Options  []struct {
			Value string `json:"value"`
		} `json:"options"`
	} `json:"data"`
	Member *struct {
		User object `json:"user"`
	} `json:"member"`
	User object `json:"user"`
}

func (e event) invoked(t *testing.T) invoked {
	t.Helper()
	var i invoked
	if err := json.Unmarshal(e.Data, &i); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i invoked) callback() string { return "/interactions/" + i.ID + "/" + i.Token + "/callback" }

func (i invoked) original() string {
	return "/webhooks/" + app + "/" + i.Token + "/messages/@original"
}

// slash registers a command, lets a person invoke it and returns the interaction.
func (c *client) slash(g *gateway, channel string) invoked {
	c.t.Helper()
	c.call(http.MethodPut, commandsPath, []object{ask()}).into(c.t, &[]object{})
	if _, err := c.server.Slash(discord.Invocation{Channel: channel, Name: "ask", Options: map[string]any{"question": "why"}}); err != nil {
		c.t.Fatal(err)
	}
	return g.expect("INTERACTION_CREATE").invoked(c.t)
}

func TestSlashDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		i := c.slash(g, general)
		if i.Type != 2 || i.Data.Name != "ask" || i.Data.Options[0].Value != "why" || i.Member == nil || i.Member.User["id"] != person {
			t.Errorf("interaction: got %+v", i)
		}
		if r := c.call(http.MethodPatch, i.original(), object{"content": "too early"}); r.code() != 10015 {
			t.Errorf("edit before the answer: got %d %s", r.Status, r.Raw)
		}
		pause(2 * time.Second)
		if r := c.call(http.MethodPost, i.callback(), object{"type": 5}); r.Status != 204 {
			t.Fatalf("defer: got %d %s", r.Status, r.Raw)
		}
		if m := g.expect("MESSAGE_CREATE").message(t); m.Flags != 128 || m.Type != 20 {
			t.Errorf("loading message: got %+v", m)
		}
		if r := c.call(http.MethodPost, i.callback(), object{"type": 5}); r.Status != 400 || r.code() != 40060 {
			t.Errorf("second answer: got %d %s, want 40060", r.Status, r.Raw)
		}
		var m message
		c.call(http.MethodPatch, i.original(), object{"content": "because"}).into(t, &m)
		if m.Flags != 0 || m.Edited != nil {
			t.Errorf("edited: got %+v, want no flag and not edited", m)
		}
		c.edit(general, m.ID, "because!").id(t) // the bot may also edit its own message through the channel
		follow := c.call(http.MethodPost, "/webhooks/"+app+"/"+i.Token, object{"content": "and"}).id(t)
		c.call(http.MethodPatch, strings.Replace(i.original(), "@original", follow, 1), object{"content": "and so"}).id(t)
		if got := c.texts(general); got != "because!|and so" {
			t.Errorf("screen: got %q", got)
		}
		pause(15 * time.Minute)
		if r := c.call(http.MethodPatch, i.original(), object{"content": "late"}); r.Status != 401 || r.code() != 50027 {
			t.Errorf("after 15 minutes: got %d %s, want 50027", r.Status, r.Raw)
		}
		c.edit(general, m.ID, "late").id(t)
		if v := c.server.Stats().Violations; v.Total() != 0 {
			t.Errorf("violations: got %+v", v)
		}
		list := c.server.Interactions()
		if len(list) != 1 || list[0].Original != m.ID || !slices.Equal(list[0].FollowUps, []string{follow}) {
			t.Errorf("interactions: got %+v", list)
		}
	})
}

func TestSlashTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		i := c.slash(g, general)
		pause(3*time.Second + time.Millisecond)
		if r := c.call(http.MethodPost, i.callback(), object{"type": 5}); r.Status != 404 || r.code() != 10062 {
			t.Errorf("got %d %s, want 10062", r.Status, r.Raw)
		}
		if got := c.server.Screen(general, time.Now()).Failed; !slices.Equal(got, []string{i.ID}) {
			t.Errorf("failed: got %v, want the interaction", got)
		}
		if v := c.server.Stats().Violations; v.LateInteractions != 1 {
			t.Errorf("violations: got %+v", v)
		}
	})
}

func TestFirstFollowUpReplacesTheDeferredMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		i := c.slash(g, "")
		if i.User["id"] != person {
			t.Errorf("in a DM: got user %v", i.User)
		}
		var made struct {
			Resource struct {
				Message message `json:"message"`
			} `json:"resource"`
		}
		c.call(http.MethodPost, i.callback()+"?with_response=true", object{"type": 5, "data": object{"flags": 64}}).into(t, &made)
		id := c.call(http.MethodPost, "/webhooks/"+app+"/"+i.Token, object{"content": "secret"}).id(t)
		if id != made.Resource.Message.ID {
			t.Errorf("follow-up: got %s, want the loading message %s", id, made.Resource.Message.ID)
		}
		dm := c.server.DM("")
		if h := c.server.History(dm); len(h) != 1 || h[0].OnlyFor != person || h[0].Content() != "secret" {
			t.Errorf("history: got %+v", h)
		}
		if r := c.edit(dm, id, "x"); r.code() != 10008 {
			t.Errorf("through the channel: got %d %s, want 10008", r.Status, r.Raw)
		}
		if r := c.call(http.MethodDelete, i.original(), nil); r.Status != 204 || c.texts(dm) != "" {
			t.Errorf("delete: got %d %s", r.Status, r.Raw)
		}
	})
}

// In this test, the bot does not see the channel. The test checks that the bot can answer an interaction with the
// interaction's token, but with at most five follow-ups.
func TestInteractionWithoutMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		if err := c.server.Permit(general, discord.Access{Hidden: true}); err != nil {
			t.Fatal(err)
		}
		i := c.slash(g, general)
		if r := c.call(http.MethodPost, i.callback(), object{"type": 4, "data": object{"content": "hi @everyone <@" + person + ">"}}); r.Status != 204 {
			t.Fatalf("got %d %s", r.Status, r.Raw)
		}
		if got := c.server.History(general)[0].Pings; !slices.Equal(got, []string{"user:" + person}) {
			t.Errorf("pings: got %v, want only people", got)
		}
		for n := range 6 {
			r := c.call(http.MethodPost, "/webhooks/"+app+"/"+i.Token, object{"content": strconv.Itoa(n)})
			if (n < 5) != (r.Status == 200) || (n == 5 && r.code() != 40094) {
				t.Errorf("follow-up %d: got %d %s", n, r.Status, r.Raw)
			}
		}
	})
}

func TestButtons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		id := c.call(http.MethodPost, "/channels/"+general+"/messages", object{
			"content": "running", "components": []object{{"type": 1, "components": []object{{"type": 2, "style": 4, "label": "Stop", "custom_id": "stop"}}}},
		}).id(t)
		g.expect("MESSAGE_CREATE")
		if _, err := c.server.Press(general, id, "other", ""); err == nil {
			t.Error("a button that is not there: want an error")
		}
		press := func() invoked {
			if _, err := c.server.Press(general, id, "stop", ""); err != nil {
				t.Fatal(err)
			}
			return g.expect("INTERACTION_CREATE").invoked(t)
		}
		i := press()
		if i.Type != 3 || i.Data.CustomID != "stop" {
			t.Errorf("press: got %+v", i)
		}
		if r := c.call(http.MethodPost, i.callback(), object{"type": 6}); r.Status != 204 {
			t.Errorf("deferred update: got %d %s", r.Status, r.Raw)
		}
		j := press()
		if r := c.call(http.MethodPost, j.callback(), object{"type": 7, "data": object{"content": "stopped", "components": []object{}}}); r.Status != 204 {
			t.Errorf("update: got %d %s", r.Status, r.Raw)
		}
		if m := c.server.View(general, time.Now())[0]; m.Content() != "stopped" || len(m.Last().Buttons) != 0 {
			t.Errorf("screen: got %+v", m)
		}
		if _, err := c.server.Press(general, id, "stop", ""); err == nil {
			t.Error("a button that is gone: want an error")
		}
		k := c.slash(skipMessageUpdate(g), general)
		if r := c.call(http.MethodPost, k.callback(), object{"type": 6}); r.code() != 50035 {
			t.Errorf("deferred update of a command: got %d %s", r.Status, r.Raw)
		}
	})
}

// skipMessageUpdate reads the next event, which must be MESSAGE_UPDATE, and returns the connection.
func skipMessageUpdate(g *gateway) *gateway {
	g.t.Helper()
	g.expect("MESSAGE_UPDATE")
	return g
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		first := c.call(http.MethodPost, commandsPath, ask())
		if first.Status != 201 {
			t.Errorf("create: got %d %s", first.Status, first.Raw)
		}
		again := c.call(http.MethodPost, commandsPath, ask())
		if again.Status != 200 || again.id(t) != first.id(t) {
			t.Errorf("create again: got %d %s, want the same id", again.Status, again.Raw)
		}
		var list []struct{ ID, Name string }
		c.call(http.MethodPut, commandsPath, []object{{"name": "new", "description": "Start over"}, ask()}).into(t, &list)
		if len(list) != 2 || list[1].ID != first.id(t) {
			t.Errorf("overwrite: got %+v, want the old id kept", list)
		}
		if r := c.call(http.MethodPatch, commandsPath+"/"+list[0].ID, object{"description": "Begin"}); r.Status != 200 || !strings.Contains(r.Raw, `"Begin"`) {
			t.Errorf("edit: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodDelete, commandsPath+"/"+list[0].ID, nil); r.Status != 204 {
			t.Errorf("delete: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodGet, commandsPath+"/"+list[0].ID, nil); r.code() != 10063 {
			t.Errorf("get: got %d %s", r.Status, r.Raw)
		}
		local := "/applications/" + app + "/guilds/" + discord.DefaultGuild + "/commands"
		c.call(http.MethodPut, local, []object{{"name": "here", "description": "x"}}).into(t, &list)
		if got := c.server.Commands(""); len(got) != 1 || got[0].Name != "ask" {
			t.Errorf("global: got %+v", got)
		}
		if _, err := c.server.Slash(discord.Invocation{Name: "here"}); err == nil {
			t.Error("a guild's command in a DM: want an error")
		}
		if _, err := c.server.Slash(discord.Invocation{Name: "ask"}); err == nil {
			t.Error("a required option is missing: want an error")
		}
		if r := c.call(http.MethodGet, "/applications/9/commands", nil); r.code() != 50001 {
			t.Errorf("foreign application: got %d %s", r.Status, r.Raw)
		}
		for want, body := range map[string]object{
			"APPLICATION_COMMAND_INVALID_NAME":             {"name": "Ask", "description": "x"},
			`"description":{"_errors"`:                     {"name": "ask"},
			"APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID": {"name": "ask", "description": "x", "options": []object{{"type": 3, "name": "a", "description": "x"}, {"type": 3, "name": "b", "description": "x", "required": true}}},
		} {
			if r := c.call(http.MethodPost, commandsPath, body); r.code() != 50035 || !strings.Contains(r.Raw, want) {
				t.Errorf("got %d %s, want %s", r.Status, r.Raw, want)
			}
		}
		if r := c.call(http.MethodPut, commandsPath, []object{ask(), ask()}); !strings.Contains(r.Raw, `"errors":{"1":{"name":{"_errors":[{"code":"APPLICATION_COMMANDS_DUPLICATE_NAME"`) {
			t.Errorf("twice: got %d %s", r.Status, r.Raw)
		}
	})
}

func TestDailyCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		put := func(prefix string) reply {
			var list []object
			for n := range 100 {
				list = append(list, object{"name": prefix + strconv.Itoa(n), "description": "x"})
			}
			return c.call(http.MethodPut, commandsPath, list)
		}
		for _, prefix := range []string{"a", "b", "b"} { // the third command has the same name as the second, so it is not new
			if r := put(prefix); r.Status != 200 {
				t.Fatalf("got %d %s", r.Status, r.Raw)
			}
		}
		if l := put("c").limited(t); l.Code != 30034 {
			t.Errorf("got %+v, want 30034", l)
		}
		pause(24 * time.Hour)
		if r := put("c"); r.Status != 200 {
			t.Errorf("a day later: got %d %s", r.Status, r.Raw)
		}
	})
}
