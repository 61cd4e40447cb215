package discord_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
)

func TestReadChannelsAndUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Limits: discord.NoLimits(), MessageContent: true})
		dm := c.call(http.MethodPost, "/users/@me/channels", object{"recipient_id": person})
		if dm.id(t) != c.server.DM("") {
			t.Errorf("DM: got %s, want %s", dm.Raw, c.server.DM(""))
		}
		message := c.say(discord.Incoming{Channel: general, Text: "hello"})
		if _, err := c.server.StartThread(general, "", "talk"); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/users/@me":                                    `"bot":true`,
			"/users/%40me":                                  `"bot":true`,
			"/users/" + person:                              `"username":"person_1001"`,
			"/users/9":                                      `"code":10013`,
			"/users/@me/guilds":                             discord.DefaultGuild,
			"/applications/@me":                             `"flags":524288`,
			"/oauth2/applications/@me":                      app,
			"/channels/" + dm.id(t):                         `"recipients":[{"id":"` + person,
			"/channels/" + general:                          `"last_message_id":"` + message,
			"/guilds/9":                                     `"code":10004`,
			"/guilds/9/channels":                            `"code":10004`,
			"/guilds/9/threads/active":                      `"code":10004`,
			"/applications/9/commands/9":                    `"code":50001`,
			"/gateway":                                      `"ws://standin/"`,
			"/channels/9/messages":                          `"code":10003`,
			"/channels/x/messages":                          "NUMBER_TYPE_COERCE",
			"/channels/" + general + "/x":                   "404: Not Found",
			"/guilds/" + discord.DefaultGuild:               `"general"`,
			"/guilds/" + discord.DefaultGuild + "/channels": `"general"`,
			"/guilds/" + discord.DefaultGuild + "/threads/active":      `"talk"`,
			"/channels/" + general + "/messages/" + message:            `"hello"`,
			"/channels/" + general + "/messages?around=" + message:     `"hello"`,
			"/channels/" + general + "/messages?after=x":               "NUMBER_TYPE_COERCE",
			"/channels/" + general + "/messages?limit=0":               "NUMBER_TYPE_MAX",
			"/channels/" + general + "/messages/9":                     `"code":10008`,
			"/applications/" + app + "/guilds/9/commands":              `"code":50001`,
			"/webhooks/" + app + "/none/messages/@original":            `"code":10015`,
			"/webhooks/" + app + "/none/messages/%40original":          `"code":10015`,
			"/applications/" + app + "/commands/" + discord.DefaultBot: `"code":10063`,
		} {
			if r := c.call(http.MethodGet, path, nil); !strings.Contains(r.Raw, want) {
				t.Errorf("%s: got %d %s, want %s in it", path, r.Status, r.Raw, want)
			}
		}
		if r := c.call(http.MethodPost, "/users/@me/channels", object{"recipient_id": app}); r.code() != 50033 {
			t.Errorf("DM with itself: got %d %s", r.Status, r.Raw)
		}
		if err := c.server.Permit(general, discord.Access{NoHistory: true}); err != nil {
			t.Fatal(err)
		}
		if r := c.call(http.MethodGet, "/channels/"+general+"/messages", nil); r.Raw != "[]" {
			t.Errorf("without history: got %s", r.Raw)
		}
		if r := c.call(http.MethodGet, "/channels/"+general+"/messages/"+message, nil); r.code() != 50013 {
			t.Errorf("without history: got %d %s", r.Status, r.Raw)
		}
	})
}

func TestDeleting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		theirs := c.say(discord.Incoming{Text: "theirs"})
		dm := c.server.DM("")
		if r := c.call(http.MethodDelete, "/channels/"+dm+"/messages/"+theirs, nil); r.code() != 50013 {
			t.Errorf("a person's message in a DM: got %d %s", r.Status, r.Raw)
		}
		var ids []string
		for range 3 {
			ids = append(ids, c.send(general, "x").id(t))
		}
		many := "/channels/" + general + "/messages/bulk-delete"
		if r := c.call(http.MethodPost, many, object{"messages": ids[:1]}); r.code() != 50016 {
			t.Errorf("one: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodPost, "/channels/"+dm+"/messages/bulk-delete", object{"messages": ids}); r.code() != 50024 {
			t.Errorf("in a DM: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodPost, many, object{"messages": ids[:2]}); r.Status != 204 || c.texts(general) != "x" {
			t.Errorf("two: got %d %s, screen %q", r.Status, r.Raw, c.texts(general))
		}
		pause(15 * 24 * time.Hour)
		if r := c.call(http.MethodPost, many, object{"messages": []string{ids[2], "9"}}); r.code() != 50034 {
			t.Errorf("old: got %d %s", r.Status, r.Raw)
		}
	})
}

func TestPersonEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		id := c.say(discord.Incoming{Channel: general, Text: "hello"})
		g.expect("MESSAGE_CREATE")
		c.say(discord.Incoming{Channel: general, EditOf: id, Text: c.server.Mention() + " hello"})
		if m := g.expect("MESSAGE_UPDATE").message(t); m.Content != c.server.Mention()+" hello" || m.Edited == nil {
			t.Errorf("edit: got %+v", m)
		}
		for name, in := range map[string]discord.Incoming{
			"somebody else's": {Channel: general, EditOf: id, Text: "x", User: "7"},
			"to nothing":      {Channel: general, EditOf: id},
			"long":            {Text: strings.Repeat("x", 2001)},
			"no such reply":   {Channel: general, Text: "x", ReplyTo: "9"},
			"another's DM":    {Channel: c.server.DM(""), Text: "x", User: "7"},
			"no id":           {User: "me", Text: "x"},
			"empty":           {Text: "  "},
		} {
			if _, err := c.server.Say(in); err == nil {
				t.Errorf("%s: want an error", name)
			}
		}
	})
}

func TestThreadSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		thread := c.call(http.MethodPost, "/channels/"+general+"/threads", object{"name": "talk"}).id(t) // a thread without a type is private
		g.expect("THREAD_CREATE")
		if r := c.call(http.MethodPatch, "/channels/"+thread, object{"name": "other", "archived": true}); r.Status != 200 || !strings.Contains(r.Raw, `"archived":true`) {
			t.Errorf("got %d %s", r.Status, r.Raw)
		}
		g.expect("THREAD_UPDATE")
		if r := c.call(http.MethodPatch, "/channels/"+thread, object{"name": "third"}); r.code() != 50083 {
			t.Errorf("in the archive: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodPatch, "/channels/"+general, object{"name": "x"}); r.code() != 50013 {
			t.Errorf("no thread: got %d %s", r.Status, r.Raw)
		}
		for _, body := range []object{{}, {"name": strings.Repeat("x", 101)}, {"name": "x", "auto_archive_duration": 5}, {"name": "x", "type": 3}} {
			if r := c.call(http.MethodPost, "/channels/"+general+"/threads", body); r.code() != 50035 {
				t.Errorf("%v: got %d %s", body, r.Status, r.Raw)
			}
		}
		if err := c.server.Permit(general, discord.Access{NoThreads: true, ReadOnly: true}); err != nil {
			t.Fatal(err)
		}
		if r := c.call(http.MethodPost, "/channels/"+general+"/threads", object{"name": "x"}); r.code() != 50013 {
			t.Errorf("not permitted: got %d %s", r.Status, r.Raw)
		}
		if r := c.send(thread, "x"); r.code() != 50013 {
			t.Errorf("a thread has what its channel forbids: got %d %s", r.Status, r.Raw)
		}
	})
}
