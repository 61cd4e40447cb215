package telegram_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{Latency: 60 * time.Millisecond})
		began := time.Now()
		go func() {
			time.Sleep(7 * time.Second)
			c.server.Say(telegram.Incoming{Chat: person, Text: "/ask hello"})
		}()
		list := c.call("getUpdates", args{"timeout": "30"}).updates(t)
		if got, want := time.Since(began), 7*time.Second+30*time.Millisecond; got != want {
			t.Errorf("long poll took %v, want %v", got, want)
		}
		if len(list) != 1 || list[0].Message.Text != "/ask hello" {
			t.Fatalf("updates: got %+v, want the one message", list)
		}
		sent := time.Now()
		id := c.call("sendMessage", args{"chat_id": "1001", "text": "Hel ▌"}).message(t)
		pause(time.Second)
		edit := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": "Hello"})
		if !edit.OK {
			t.Fatalf("edit: got %s, want ok", edit.Raw)
		}
		for _, look := range []struct {
			after time.Duration
			want  string
		}{
			{29 * time.Millisecond, ""},
			{30 * time.Millisecond, "Hel ▌"},
			{time.Second + 89*time.Millisecond, "Hel ▌"},
			{time.Second + 90*time.Millisecond, "Hello"},
		} {
			got := ""
			for _, m := range c.server.View(person, sent.Add(look.after)) {
				if m.FromBot {
					got = m.Text()
				}
			}
			if got != look.want {
				t.Errorf("seen after %v: got %q, want %q", look.after, got, look.want)
			}
		}
		if st := c.server.Stats(); st.Violations.Total() != 0 || st.Messages != 1 || st.Edits != 1 {
			t.Errorf("stats: got %+v, want one message, one edit, no violation", st)
		}
	})
}
