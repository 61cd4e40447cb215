package telegram_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		c.server.Say(telegram.Incoming{Chat: person, Text: "hello"})
		zero := time.Now()
		c.call("sendChatAction", args{"chat_id": "1001", "action": "typing"})
		pause(2 * time.Second)
		c.call("sendMessageDraft", args{"chat_id": "1001", "draft_id": "7", "text": "", "can_stop": "true"})
		pause(2 * time.Second)
		c.call("sendMessageDraft", args{"chat_id": "1001", "draft_id": "7", "text": "Half", "can_stop": "true"})
		pause(2 * time.Second)
		c.call("sendChatAction", args{"chat_id": "1001", "action": "typing"})
		pause(time.Second)
		id := c.call("sendMessage", args{"chat_id": "1001", "text": "Whole"}).message(t)
		pause(time.Second)
		c.server.Delete(person, id)
		for _, look := range []struct {
			after               time.Duration
			action, draft, text string
		}{
			{0, "typing", "-", ""},
			{2 * time.Second, "typing", "", ""},
			{4 * time.Second, "typing", "Half", ""},
			{5500 * time.Millisecond, "", "Half", ""},
			{6 * time.Second, "typing", "Half", ""},
			{7 * time.Second, "", "-", "Whole"},
			{8 * time.Second, "", "-", ""},
		} {
			got := c.server.Screen(person, zero.Add(look.after))
			draft, text := "-", ""
			for _, d := range got.Drafts {
				draft = d.Text
			}
			for _, m := range got.Messages {
				if m.FromBot {
					text = m.Text()
				}
			}
			if got.Action != look.action || draft != look.draft || text != look.text {
				t.Errorf("after %v: got action %q, draft %q, text %q, want %+v", look.after, got.Action, draft, text, look)
			}
		}
		history := c.server.History(person)
		if last := history[len(history)-1]; last.Alive() || last.DeletedBy != "person" || !last.Deleted.Equal(zero.Add(8*time.Second)) {
			t.Errorf("history: got %+v, want it deleted after 8s", last)
		}
	})
}

func TestDraftEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		draft := args{"chat_id": "1001", "draft_id": "7", "text": "x", "can_stop": "true"}
		c.call("sendMessageDraft", draft)
		pause(30 * time.Second)
		if got := c.server.Screen(person, time.Now()).Drafts; len(got) != 0 {
			t.Errorf("after 30s: got %+v, want no draft", got)
		}
		if c.server.StopDraft(person, 7) {
			t.Error("stop of a draft that is gone: got true")
		}
		c.call("sendMessageDraft", draft)
		if !c.server.StopDraft(person, 7) {
			t.Error("stop: got false, want true")
		}
		if raw := c.call("getUpdates", nil).Raw; !strings.Contains(raw, `"stopped_message_generation":{"chat":{"id":1001`) {
			t.Errorf("updates: got %s, want the stop", raw)
		}
	})
}

func TestSay(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{ReadAll: true})
	first := c.server.Say(telegram.Incoming{Chat: person, Username: "ada", FirstName: "Ada", Text: "/ask 😀 @telex_bot"})
	c.server.Say(telegram.Incoming{Chat: person, Text: "changed", EditOf: first})
	c.server.Say(telegram.Incoming{Chat: person, Text: "read it", Attachment: telegram.Attachment{Media: "document", FileName: "a.txt"}})
	c.server.Say(telegram.Incoming{Chat: person, Attachment: telegram.Attachment{Media: "voice"}})
	c.server.Say(telegram.Incoming{Chat: -1000000000002, ThreadID: 7, Text: "in a topic"})
	root := c.server.Say(telegram.Incoming{Chat: -1000000000003, Text: "root"})
	c.server.Say(telegram.Incoming{Chat: -1000000000003, ReplyTo: root, Text: "in a thread"})
	c.server.Block(person, true)
	raw := c.call("getUpdates", nil).Raw
	for _, want := range []string{
		`"text":"/ask 😀 @telex_bot","entities":[{"type":"bot_command","offset":0,"length":4},{"type":"mention","offset":8,"length":10}]`,
		`"from":{"id":1001,"is_bot":false,"first_name":"Ada","username":"ada","language_code":"en"},"chat":{"id":1001,"type":"private","username":"ada","first_name":"Ada"}`,
		`"edited_message":{"message_id":1,`,
		`"file_name":"a.txt"},"caption":"read it"`,
		`"voice":{"file_id":`,
		`"message_thread_id":7,"from":`,
		`"is_topic_message":true`,
		`{"message_id":2,"message_thread_id":1,"from":{"id":1001,"is_bot":false,"first_name":"Ada","username":"ada","language_code":"en"},"chat":{"id":-1000000000003`,
		`"new_chat_member":{"user":{"id":1234567890,"is_bot":true,"first_name":"Telex","username":"telex_bot"},"status":"kicked"}`,
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("updates lack %s\nin %s", want, raw)
		}
	}
	if got := c.server.Say(telegram.Incoming{Chat: person, EditOf: 999, Text: "x"}); got != 0 {
		t.Errorf("edit of nothing: got %d, want 0", got)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	c := free(t)
	events := c.server.Watch(t.Context())
	c.call("sendMessage", args{"chat_id": "1001", "text": "x"})
	c.server.Say(telegram.Incoming{Chat: 5, Text: "new"})
	var got []string
	last := int64(0)
	for e := range events {
		if e.Seq <= last {
			t.Errorf("sequence: got %d after %d", e.Seq, last)
		}
		last = e.Seq
		got = append(got, e.Kind)
		if len(got) == 4 {
			break
		}
	}
	if want := "message call chat message"; strings.Join(got, " ") != want {
		t.Errorf("events: got %v, want %s", got, want)
	}
}
