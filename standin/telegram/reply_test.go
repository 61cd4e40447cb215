package telegram_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"telex/standin/telegram"
)

// last returns the newest update.
func (c *client) last() string {
	c.t.Helper()
	r := c.call("getUpdates", args{"offset": "-1", "allowed_updates": `["message","edited_message","stopped_message_generation"]`})
	var list []json.RawMessage
	if err := json.Unmarshal(r.Result, &list); err != nil || len(list) != 1 {
		c.t.Fatalf("updates: %s (%v)", r.Raw, err)
	}
	return string(list[0])
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %s has no %s", what, text, part)
		}
	}
}

func TestPersonReplies(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	photo := []byte("picture")
	of := c.server.Say(telegram.Incoming{Chat: -1001, User: 7, FirstName: "Ann", Text: "🦊 the pier", Attachment: telegram.Attachment{Media: "photo", Content: photo}})
	c.server.Say(telegram.Incoming{Chat: -1001, Text: "@telex_bot why?", ReplyTo: of, Quote: "pier"})
	got := c.last()
	has(t, "a marked reply", got, `"quote":{"text":"pier","position":7,"is_manual":true}`, `"reply_to_message":{`, `"caption":"🦊 the pier"`, `"first_name":"Ann"`, `"file_id":"photo--1001-1"`)

	c.server.Say(telegram.Incoming{Chat: -1001, Text: "@telex_bot why?", ReplyTo: of})
	if got := c.last(); strings.Contains(got, `"quote"`) {
		t.Errorf("a reply to the whole message has a quote: %s", got)
	}
	for what, in := range map[string]telegram.Incoming{
		"what is not there": {Chat: -1001, Text: "x", ReplyTo: of, Quote: "pear"},
		"no message":        {Chat: -1001, Text: "x", ReplyTo: 99, Quote: "pier"},
		"too long a part":   {Chat: -1001, Text: "x", Quote: strings.Repeat("x", 1025), External: &telegram.External{Text: strings.Repeat("x", 2000)}},
	} {
		if id := c.server.Say(in); id != 0 {
			t.Errorf("a person quotes %s", what)
		}
	}

	other := &telegram.External{Forward: telegram.Forward{User: 8, Name: "Bo"}, Attachment: telegram.Attachment{Media: "document", FileName: "a.txt", Content: []byte("abc")}, Text: strings.Repeat("é", 1500)}
	c.server.Say(telegram.Incoming{Text: "why?", External: other})
	got = c.last()
	has(t, "another chat's message", got, `"external_reply":{"origin":{"type":"user"`, `"first_name":"Bo"`, `"file_name":"a.txt"`, `"quote":{"text":"`+strings.Repeat("é", 1024)+`","position":0}`)
	if strings.Contains(got, `"reply_to_message"`) {
		t.Errorf("another chat's message is one of this chat: %s", got)
	}
	if r := c.call("getFile", args{"file_id": "document-1001--" + lastID(got)}); !r.OK {
		t.Errorf("the file of another chat's message: %s", r.Raw)
	}
	c.server.Say(telegram.Incoming{Text: "why?", Quote: "éé", External: &telegram.External{Forward: telegram.Forward{Name: "Cy"}, Text: "aéé"}})
	has(t, "a marked part of another chat's message", c.last(), `"type":"hidden_user"`, `"quote":{"text":"éé","position":1,"is_manual":true}`)
}

// lastID returns the id of the message in an update.
func lastID(update string) string {
	var u struct {
		Message struct {
			ID json.Number `json:"message_id"`
		} `json:"message"`
	}
	_ = json.Unmarshal([]byte(update), &u)
	return u.Message.ID.String()
}

func TestPersonEdits(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	id := c.server.Say(telegram.Incoming{User: 7, Text: "the seas", Attachment: telegram.Attachment{Media: "photo", Content: []byte("x")}})
	if got := c.server.Say(telegram.Incoming{User: 7, EditOf: id, Text: "the tides"}); got != id {
		t.Fatalf("the edited message is %d, want %d", got, id)
	}
	has(t, "an edit", c.last(), `"edited_message":{`, `"caption":"the tides"`, `"edit_date":`, `"photo":[`)
	ours := c.call("sendMessage", args{"chat_id": "7", "text": "mine"}).message(t)
	passed := c.server.Say(telegram.Incoming{User: 7, Text: "x", Forward: &telegram.Forward{Name: "Bo"}})
	group := c.server.Say(telegram.Incoming{Chat: -1001, User: 7, Text: "x"})
	for what, in := range map[string]telegram.Incoming{
		"a message of the bot":        {User: 7, EditOf: ours, Text: "y"},
		"a forwarded message":         {User: 7, EditOf: passed, Text: "y"},
		"a message of another person": {Chat: -1001, User: 8, EditOf: group, Text: "y"},
	} {
		if c.server.Say(in) != 0 {
			t.Errorf("a person edits %s", what)
		}
	}
}

func TestReplyParametersQuote(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	c.server.Say(telegram.Incoming{Text: "The sea rises."})
	for parameters, want := range map[string]string{
		`{"message_id":1,"quote":"sea"}`:                                     "",
		`{"message_id":1,"quote":"pear"}`:                                    "Bad Request: QUOTE_TEXT_INVALID",
		`{"message_id":1,"quote":"pear","allow_sending_without_reply":true}`: "Bad Request: QUOTE_TEXT_INVALID",
		`{"message_id":9,"quote":"sea"}`:                                     "Bad Request: message to be replied not found",
		`{"message_id":9,"quote":"sea","allow_sending_without_reply":true}`:  "",
		`{"message_id":1,"quote":"` + strings.Repeat("x", 1025) + `"}`:       "Bad Request: QUOTE_TEXT_INVALID",
		`{"message_id":1,"quote":"The sea rises."}`:                          "",
	} {
		r := c.call("sendMessage", args{"chat_id": "1001", "text": "x", "reply_parameters": parameters})
		if r.Description != want {
			t.Errorf("%s: %q, want %q", parameters, r.Description, want)
		}
		if strings.Contains(parameters, `:1,`) && want == "" {
			has(t, parameters, r.Raw, `"reply_to_message":{"message_id":1`, `"is_manual":true`)
		}
	}
}

func TestReactions(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	id := c.server.Say(telegram.Incoming{Text: "hello"})
	for _, step := range []struct{ id, reaction, want, shown string }{
		{"1", `[{"type":"emoji","emoji":"👀"}]`, "", "👀"},
		{"1", `[{"type":"emoji","emoji":"🦊"}]`, "Bad Request: REACTION_INVALID", "👀"},
		{"1", `[{"type":"custom_emoji","custom_emoji_id":"5"}]`, "Bad Request: REACTION_INVALID", "👀"},
		{"1", `[{"type":"emoji","emoji":"👀"},{"type":"emoji","emoji":"👍"}]`, "Bad Request: REACTIONS_TOO_MANY", "👀"},
		{"1", `👀`, "Bad Request: can't parse reaction types JSON object", "👀"},
		{"9", `[]`, "Bad Request: message to react not found", "👀"},
		{"", `[]`, "Bad Request: message identifier is not specified", "👀"},
		{"1", `[]`, "", ""},
		{"1", `[{"type":"emoji","emoji":"👍"}]`, "", "👍"},
		{"1", ``, "", ""},
	} {
		r := c.call("setMessageReaction", args{"chat_id": "1001", "message_id": step.id, "reaction": step.reaction})
		if got := c.server.History(person)[id-1].Reaction; r.Description != step.want || got != step.shown {
			t.Errorf("%s to %q: %q and %q is shown, want %q and %q", step.reaction, step.id, r.Description, got, step.want, step.shown)
		}
	}
}

func TestStopDraft(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	c.server.Say(telegram.Incoming{User: person, Text: "hi"})
	draft := func(a args) {
		t.Helper()
		a["chat_id"], a["text"] = "1001", "The sea"
		if r := c.call("sendMessageDraft", a); !r.OK {
			t.Fatal(r.Raw)
		}
	}
	shown := func() []telegram.Draft { return c.server.Screen(person, time.Now()).Drafts }
	c.call("getUpdates", args{"allowed_updates": `["message","stopped_message_generation"]`})
	draft(args{"draft_id": "5"})
	if c.server.StopDraft(person, 5) {
		t.Error("a draft without a button was stopped")
	}
	draft(args{"draft_id": "6", "can_stop": "true"})
	if !c.server.StopDraft(person, 6) || len(shown()) != 0 {
		t.Errorf("a stopped draft is still shown: %+v", shown())
	}
	has(t, "a stopped draft", c.last(), `"stopped_message_generation":{"chat":{"id":1001,"type":"private"`, `"draft_id":6`)
	draft(args{"draft_id": "7", "can_stop": "true", "keep_on_stop": "true"})
	if !c.server.StopDraft(person, 7) || len(shown()) != 1 || shown()[0].Text != "The sea" || shown()[0].CanStop {
		t.Errorf("a kept draft is shown as %+v", shown())
	}
	if c.server.StopDraft(person, 7) {
		t.Error("a draft was stopped twice")
	}
	c.call("sendMessage", args{"chat_id": "1001", "text": "The sea"})
	if len(shown()) != 0 {
		t.Errorf("a kept draft is shown beside the message: %+v", shown())
	}
}
