package discord_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"

	"telex/standin/discord"
)

const otherPerson = "200000000000001002"

// The rules for all messages also apply to a message to which another one refers. The bot gets the text of the
// referenced message with the message content intent, or if it may read this message without the intent.
func TestReferencesByIntent(t *testing.T) {
	for _, tc := range []struct {
		name          string
		intents       int
		quoted, moved string
	}{
		{"without the intent", usual, "", ""},
		{"with it", usual | content, "a beetle", "a beetle"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, discord.Options{MessageContent: true, Limits: discord.NoLimits()})
				g, _ := c.identify(tc.intents)
				of := c.say(discord.Incoming{Channel: general, User: otherPerson, Text: "a beetle"})
				g.expect("MESSAGE_CREATE")
				c.say(discord.Incoming{Channel: general, Text: c.server.Mention() + " what?", ReplyTo: of})
				if m := g.expect("MESSAGE_CREATE").message(t); m.Content == "" || m.Referenced == nil || m.Referenced.Content != tc.quoted {
					t.Errorf("a reply: got %+v, want %q quoted", m, tc.quoted)
				}
				for channel, want := range map[string]string{general: tc.moved, c.server.DM(""): "a beetle"} {
					c.say(discord.Incoming{Channel: channel, Forward: of})
					var m struct {
						Content   string `json:"content"`
						Snapshots []struct {
							Message message `json:"message"`
						} `json:"message_snapshots"`
						Reference struct {
							Type int `json:"type"`
						} `json:"message_reference"`
					}
					if err := json.Unmarshal(g.expect("MESSAGE_CREATE").Data, &m); err != nil {
						t.Fatal(err)
					}
					if m.Content != "" || m.Reference.Type != 1 || len(m.Snapshots) != 1 || m.Snapshots[0].Message.Content != want {
						t.Errorf("a forward: got %+v, want %q", m, want)
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		of := c.say(discord.Incoming{Text: "hello"})
		for _, in := range []discord.Incoming{{Forward: "1"}, {Forward: of, Text: "look"}, {Forward: of, ReplyTo: of}} {
			if _, err := c.server.Say(in); err == nil {
				t.Errorf("%+v: no error", in)
			}
		}
	})
}

// The application's owner switches the message content intent on and off. The test checks what the bot may request and
// read while the intent is switched on and while it is switched off.
func TestContentSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g := c.connect("")
		g.expectOp(10)
		g.write(2, object{"token": c.server.Token(), "intents": usual | content, "properties": object{"os": "linux"}})
		g.expectClose(4014)
		c.control("content", `{}`).into(t, &struct{}{})
		c.identify(usual | content)
		c.control("content", `{"content":false}`).into(t, &struct{}{})
		id := c.say(discord.Incoming{Channel: general, Text: "x"})
		var m message
		c.call(http.MethodGet, "/channels/"+general+"/messages/"+id, nil).into(t, &m)
		if m.Content != "" {
			t.Errorf("with the switch off a read tells %q", m.Content)
		}
	})
}

// TestChangesOfMessages checks that the bot gets an event for each change of a message. An added embed must not mark
// the message as edited.
func TestChangesOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		id := c.say(discord.Incoming{Channel: general, Text: c.server.Mention() + " see https://example.org"})
		g.expect("MESSAGE_CREATE")
		if m := g.expect("MESSAGE_UPDATE").message(t); m.ID != id || m.Edited != nil {
			t.Errorf("embed: got %+v", m)
		}
		c.say(discord.Incoming{Channel: general, EditOf: id, Text: c.server.Mention() + " never mind"})
		if m := g.expect("MESSAGE_UPDATE").message(t); m.ID != id || m.Edited == nil || m.Content != c.server.Mention()+" never mind" {
			t.Errorf("edit: got %+v", m)
		}
		other := c.say(discord.Incoming{Channel: general, Text: "x"})
		g.expect("MESSAGE_CREATE")
		c.control("delete", `{"channel":"`+general+`","messages":["`+id+`","`+other+`"]}`).into(t, &struct{}{})
		var gone struct {
			IDs []string `json:"ids"`
		}
		if err := json.Unmarshal(g.expect("MESSAGE_DELETE_BULK").Data, &gone); err != nil || len(gone.IDs) != 2 || c.texts(general) != "" {
			t.Errorf("deletion: got %+v, %v", gone, err)
		}
		if err := c.server.DeleteAll(c.server.DM(""), id); err == nil {
			t.Error("messages of a DM were deleted together")
		}
	})
}

// A person uses a message command on another person's message. The interaction must contain this whole message.
func TestMessageCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		if r := c.call(http.MethodPost, commandsPath, object{"name": "Ask about this", "type": 3, "description": "x"}); r.code() != 50035 {
			t.Errorf("a description: got %d %s", r.Status, r.Raw)
		}
		c.call(http.MethodPost, commandsPath, object{"name": "Ask about this", "type": 3}).into(t, &struct{}{})
		id := c.say(discord.Incoming{Channel: general, User: otherPerson, Text: "a beetle"})
		g.expect("MESSAGE_CREATE")
		c.control("about", `{"channel":"`+general+`","name":"Ask about this","message":"`+id+`"}`).into(t, &struct{}{})
		var i struct {
			Data struct {
				Type     int    `json:"type"`
				Target   string `json:"target_id"`
				Resolved struct {
					Messages map[string]message `json:"messages"`
				} `json:"resolved"`
			} `json:"data"`
		}
		if err := json.Unmarshal(g.expect("INTERACTION_CREATE").Data, &i); err != nil {
			t.Fatal(err)
		}
		if i.Data.Type != 3 || i.Data.Target != id || i.Data.Resolved.Messages[id].Content != "a beetle" {
			t.Errorf("got %+v", i)
		}
		for _, in := range []discord.Invocation{
			{Channel: general, Name: "Ask about this", Message: "1"}, {Channel: general, Name: "ask", Message: id}, {Channel: "1", Name: "Ask about this", Message: id},
		} {
			if _, err := c.server.About(in); err == nil {
				t.Errorf("%+v: no error", in)
			}
		}
		if _, err := c.server.Slash(discord.Invocation{Channel: general, Name: "Ask about this"}); err == nil {
			t.Error("it was typed")
		}
	})
}

// TestDeferredAlone checks that a deferred response accepts only one flag: the one for an ephemeral message.
func TestDeferredAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		i := c.slash(g, general)
		if r := c.call(http.MethodPost, i.callback(), object{"type": 5, "data": object{"flags": 64 | 4}}); r.code() != 50035 {
			t.Errorf("other flags: got %d %s", r.Status, r.Raw)
		}
		c.call(http.MethodPost, i.callback(), object{"type": 5, "data": object{"flags": 64}})
		id := c.call(http.MethodPatch, i.original(), object{"content": "secret", "flags": 4}).id(t)
		more := c.call(http.MethodPost, "/webhooks/"+app+"/"+i.Token, object{"content": "more", "flags": 64}).id(t)
		for _, m := range c.server.History(general) {
			if m.OnlyFor != person {
				t.Errorf("others see %+v", m)
			}
		}
		for _, one := range []string{id, more} {
			if r := c.call(http.MethodGet, "/channels/"+general+"/messages/"+one, nil); r.code() != 10008 {
				t.Errorf("a read: got %d %s", r.Status, r.Raw)
			}
		}
		if r := c.call(http.MethodPost, "/channels/"+general+"/messages", object{"content": "x", "message_reference": object{"message_id": id}}); r.code() != 50035 {
			t.Errorf("a reply: got %d %s", r.Status, r.Raw)
		}
		if r := c.call(http.MethodPatch, i.original(), object{"content": "other"}); r.Status != 200 {
			t.Errorf("by its token: got %d %s", r.Status, r.Raw)
		}
	})
}
