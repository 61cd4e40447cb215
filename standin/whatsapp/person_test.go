package whatsapp_test

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/whatsapp"
)

func TestMessagesOfPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		if err := c.server.SetPerson(whatsapp.Person{Name: "Ann", Username: "@ann"}); err != nil {
			t.Fatal(err)
		}
		file := func(kind string) whatsapp.Incoming {
			return whatsapp.Incoming{Text: "look", File: &whatsapp.Media{Type: kind, Content: []byte("content of " + kind)}}
		}
		for _, tc := range []struct {
			in    whatsapp.Incoming
			kind  string
			check func(m inbound) bool
		}{
			{whatsapp.Incoming{Text: "a"}, "text", func(m inbound) bool { return m.Text.Body == "a" && m.Context.ID == "" }},
			{whatsapp.Incoming{Text: "a", Forwarded: true}, "text", func(m inbound) bool { return m.Context.Forwarded && !m.Context.Often }},
			{whatsapp.Incoming{Text: "a", FrequentlyForwarded: true}, "text", func(m inbound) bool { return m.Context.Often }},
			{file("image"), "image", func(m inbound) bool {
				return m.Image.Caption == "look" && m.Image.Mime == "image/jpeg" && m.Image.URL == ""
			}},
			{file("voice"), "audio", func(m inbound) bool { return m.Audio.Voice && m.Audio.Mime == "audio/ogg; codecs=opus" }},
			{file("audio"), "audio", func(m inbound) bool { return !m.Audio.Voice && m.Audio.Mime == "audio/mpeg" }},
			{file("video"), "video", func(m inbound) bool { return m.Video.Mime == "video/mp4" }},
			{file("document"), "document", func(m inbound) bool { return m.Document.Filename == "file" }},
			{file("sticker"), "sticker", func(m inbound) bool { return m.Sticker.Mime == "image/webp" }},
			{whatsapp.Incoming{Location: map[string]any{"latitude": 1.5, "longitude": 2}}, "location", func(m inbound) bool { return m.Location["latitude"] == 1.5 }},
			{whatsapp.Incoming{Contacts: []map[string]any{{"name": "Bob"}}}, "contacts", func(m inbound) bool { return m.Contacts[0]["name"] == "Bob" }},
			{whatsapp.Incoming{Unsupported: "poll_creation"}, "unsupported", func(m inbound) bool {
				return m.Unsupported.Type == "poll_creation" && m.Errors[0].Code == whatsapp.CodeType
			}},
		} {
			id := c.say(tc.in)
			synctest.Wait()
			values := c.app.values()
			v := values[len(values)-1]
			m := v.Messages[0]
			if m.ID != id || m.Type != tc.kind || m.Timestamp != strconv.FormatInt(time.Now().Unix(), 10) || !tc.check(m) {
				t.Errorf("%s: got %+v", tc.kind, m)
			}
			if p := v.Contacts[0]; p.Profile.Name != "Ann" || p.Profile.Username != "@ann" || p.WaID != phone || p.UserID != user {
				t.Errorf("%s: got contact %+v", tc.kind, p)
			}
			if v.Product != "whatsapp" || v.Metadata.ID != whatsapp.PhoneNumberID || v.Metadata.Number != whatsapp.Number {
				t.Errorf("%s: got %+v", tc.kind, v.Metadata)
			}
		}
		image := c.app.inbound()[3].Image
		sum, err := base64.StdEncoding.DecodeString(image.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		got := c.get("/v26.0/" + image.ID)
		if got.SHA256 != hex.EncodeToString(sum) || got.Mime != "image/jpeg" {
			t.Errorf("media: got %s", got.Raw)
		}
		if r := c.get(got.URL); r.Raw != "content of image" {
			t.Errorf("download: got %d %q", r.Status, r.Raw)
		}
		pause(7*24*time.Hour + time.Second)
		if r := c.get("/v26.0/" + image.ID); r.Error.Code != 100 || r.Error.Subcode != 33 {
			t.Errorf("after a week: got %s", r.Raw)
		}
	})
}

func TestRepliesButtonsReactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.say(whatsapp.Incoming{Text: "a"})
		id := c.ok(buttons("Allow?", "", "y=Yes", "n=No"))
		c.say(whatsapp.Incoming{Text: "b", ReplyTo: id})
		c.say(whatsapp.Incoming{Text: "c", ReplyTo: asked})
		pressed, err := c.server.Press("", id, "Yes")
		if err != nil {
			t.Fatal(err)
		}
		for _, emoji := range []string{"👍", ""} {
			if err := c.server.React(phone, id, emoji); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		got := c.app.inbound()
		if len(got) != 6 {
			t.Fatalf("got %d messages, want 6", len(got))
		}
		if m := got[1]; m.Context.ID != id || m.Context.From != whatsapp.Number {
			t.Errorf("reply: got %+v", m.Context)
		}
		if m := got[2]; m.Context.ID != asked || m.Context.From != phone {
			t.Errorf("reply to the own message: got %+v", m.Context)
		}
		if m := got[3]; m.ID != pressed || m.Interactive.Type != "button_reply" || m.Interactive.Reply.ID != "y" || m.Interactive.Reply.Title != "Yes" || m.Context.ID != id || m.Context.From != whatsapp.Number {
			t.Errorf("button: got %+v", m)
		}
		if got[4].Reaction.MessageID != id || got[4].Reaction.Emoji != "👍" || got[5].Reaction.Emoji != "" {
			t.Errorf("reactions: got %+v %+v", got[4].Reaction, got[5].Reaction)
		}
		screen := c.server.Screen(user, time.Now()).Messages
		if m := screen[1]; len(m.Reactions) != 2 || m.Status() != "read" {
			t.Errorf("message with buttons: got %+v", m)
		}
		if m := screen[4]; m.Pressed != "y" || m.Shown() != "Yes" || m.ReplyTo != id {
			t.Errorf("pressed: got %+v", m)
		}
		for _, err := range []error{
			func() error { _, err := c.server.Press(user, id, "Maybe"); return err }(),
			func() error { _, err := c.server.Press("US.9", id, "Yes"); return err }(),
			c.server.React(user, "wamid.x", "👍"),
			func() error { _, err := c.server.Say(whatsapp.Incoming{Text: "x", ReplyTo: "wamid.x"}); return err }(),
			func() error { _, err := c.server.Say(whatsapp.Incoming{Text: " "}); return err }(),
			func() error { _, err := c.server.Say(whatsapp.Incoming{User: "ann", Text: "x"}); return err }(),
			func() error {
				_, err := c.server.Say(whatsapp.Incoming{File: &whatsapp.Media{Type: "tape"}})
				return err
			}(),
		} {
			if err == nil {
				t.Error("got no error")
			}
		}
	})
}

// A person with a username hides the phone number. The test checks that webhooks identify this person only by the
// business-scoped user id.
func TestHiddenPhone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		const id = "DE.abc123"
		if err := c.server.SetPerson(whatsapp.Person{UserID: id, Name: "Bea", Username: "@bea", HidePhone: true}); err != nil {
			t.Fatal(err)
		}
		asked := c.say(whatsapp.Incoming{User: id, Text: "hi"})
		c.say(whatsapp.Incoming{User: id, Text: "again", ReplyTo: asked})
		r := c.post(`{"messaging_product":"whatsapp","recipient":"` + id + `","type":"text","text":{"body":"x"}}`)
		if len(r.Contacts) != 1 || r.Contacts[0].Input != id || r.Contacts[0].UserID != id || r.Contacts[0].WaID != "" {
			t.Errorf("send: got %d %s", r.Status, r.Raw)
		}
		synctest.Wait()
		for _, w := range c.app.webhooks() {
			if p := c.server.Persons()[0].Phone; strings.Contains(string(w.raw), p) {
				t.Errorf("the phone number %s is in %s", p, w.raw)
			}
			if strings.Contains(string(w.raw), `"recipient_id"`) {
				t.Errorf("recipient_id is in %s", w.raw)
			}
		}
		if m := c.app.inbound()[0]; m.FromUserID != id || m.From != "" {
			t.Errorf("webhook: got %+v", m)
		}
		if s := c.app.statuses()[0]; s.RecipientUserID != id {
			t.Errorf("status: got %+v", s)
		}
		// If a request contains a phone number and a user id, the server must use the phone number.
		both := c.post(`{"messaging_product":"whatsapp","to":"` + phone + `","recipient":"` + id + `","text":{"body":"x"}}`)
		if both.Error.Code != whatsapp.CodeUndeliverable {
			t.Errorf("both: got %d %s, want it undeliverable to the number of nobody", both.Status, both.Raw)
		}
	})
}

func TestPersons(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{User: "15551234567", Text: "x"})
	c.say(whatsapp.Incoming{User: "US.15551234567", Text: "y"})
	c.say(whatsapp.Incoming{User: "FR.abc", Text: "z"})
	var ids []string
	for _, p := range c.server.Persons() {
		ids = append(ids, p.UserID)
	}
	if !slices.Equal(ids, []string{"FR.abc", "US.15551234567"}) {
		t.Errorf("got %q", ids)
	}
	if n := len(c.server.History("15551234567")); n != 2 {
		t.Errorf("got %d messages, want both in one conversation", n)
	}
	if len(c.server.History("nobody")) != 0 || len(c.server.Screen("nobody", time.Now()).Messages) != 0 {
		t.Error("nobody: got messages")
	}
	for _, p := range []whatsapp.Person{{UserID: "x"}, {UserID: "US.1", Phone: "+1555"}, {UserID: "US.1", Phone: "15551234567"}} {
		if err := c.server.SetPerson(p); err == nil {
			t.Errorf("%+v: got no error", p)
		}
	}
}

func TestEditsAndRevokesOfPeople(t *testing.T) {
	for _, coexistence := range []bool{false, true} {
		t.Run(strconv.FormatBool(coexistence), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, whatsapp.Options{Coexistence: coexistence})
				first := c.say(whatsapp.Incoming{Text: "first"})
				id := c.say(whatsapp.Incoming{Text: "old", ReplyTo: first})
				pause(time.Minute)
				before := time.Now()
				pause(time.Minute)
				if err := c.server.Edit(user, id, "new"); err != nil {
					t.Fatal(err)
				}
				if err := c.server.Revoke(user, id); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				got := c.app.inbound()[2:]
				if coexistence {
					if e := got[0].Edit; got[0].Type != "edit" || e.Original != id || e.Message.Text.Body != "new" || e.Message.Context.ID != first {
						t.Errorf("edit: got %+v", got[0])
					}
					if got[1].Type != "revoke" || got[1].Revoke.Original != id {
						t.Errorf("revoke: got %+v", got[1])
					}
				} else if got[0].Type != "unsupported" || got[0].Unsupported.Type != "edit" || got[1].Type != "unsupported" {
					t.Errorf("got %+v", got)
				}
				if seen := c.server.Screen(user, before).Messages; len(seen) != 2 || seen[1].Shown() != "old" {
					t.Errorf("before: got %+v", seen)
				}
				if seen := c.server.Screen(user, time.Now()).Messages; len(seen) != 1 {
					t.Errorf("now: got %+v", seen)
				}
				answer := c.ok(text("x"))
				pause(15*time.Minute + time.Second)
				for _, err := range []error{
					c.server.Edit(user, first, "late"), c.server.Edit(user, answer, "foreign"), c.server.Edit(user, id, "gone"),
					c.server.Revoke(user, answer), c.server.Revoke(user, id),
				} {
					if err == nil {
						t.Error("got no error")
					}
				}
			})
		})
	}
}

func TestChangeNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.say(whatsapp.Incoming{Text: "hi"})
		if err := c.server.ChangeNumber(user, "15557654321", "US.new"); err != nil {
			t.Fatal(err)
		}
		if err := c.server.SetPerson(whatsapp.Person{UserID: "US.new", HidePhone: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.server.ChangeNumber("15557654321", "15557654322", "US.newer"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got := c.app.inbound()[1:]
		if m := got[0]; m.Type != "system" || m.From != phone || m.FromUserID != user || m.System.Type != "user_changed_number" || m.System.WaID != "15557654321" || m.System.UserID != "US.new" {
			t.Errorf("number: got %+v", m)
		}
		if m := got[1]; m.From != "" || m.FromUserID != "US.new" || m.System.Type != "user_changed_user_id" || m.System.WaID != "" || m.System.UserID != "US.newer" {
			t.Errorf("user id: got %+v", m)
		}
		if r := c.post(`{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `"}`); !r.Success {
			t.Errorf("read: got %s", r.Raw)
		}
		if r := c.post(text("x")); r.Error.Code != whatsapp.CodeUndeliverable {
			t.Errorf("old number: got %s", r.Raw)
		}
		c.ok(`{"messaging_product":"whatsapp","recipient":"US.newer","text":{"body":"x"}}`)
		for _, err := range []error{
			c.server.ChangeNumber("US.9", "15557654323", "US.10"), c.server.ChangeNumber("US.newer", "x", "US.10"),
			c.server.ChangeNumber("US.newer", "15557654323", "x"), c.server.ChangeNumber("US.newer", "15557654322", "US.10"),
		} {
			if err == nil {
				t.Error("got no error")
			}
		}
	})
}
