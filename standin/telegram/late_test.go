package telegram_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

// The stand-in cuts the connection of sendMessage, and the call takes effect four seconds later. The message gets its
// id only when the call takes effect. Before this moment, a message in another chat takes the next id, because these
// chats share one sequence of ids. The test checks that the errors of edits show which ids exist in a chat, so that a
// bot can find its message.
func TestLateCreate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		s := c.server
		first := s.Say(telegram.Incoming{Chat: 1001, Text: "hello"})
		s.Fault(telegram.Fault{Method: "sendMessage", Action: telegram.ActLate, Delay: 4 * time.Second, Times: 1})
		if r := c.call("sendMessage", args{"chat_id": "1001", "text": "late"}); r.Err == nil {
			t.Errorf("an answer came: %+v", r)
		}
		edit := func(id int, text, want string) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if r := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": text}); r.Description != "Bad Request: "+want {
				t.Errorf("an edit of %d says %q, want %q", id, r.Description, want)
			}
		}
		other := s.Say(telegram.Incoming{Chat: 1002, Text: "somebody else"})
		edit(first+2, "late", "message to edit not found")
		time.Sleep(3 * time.Second)
		edit(first, "late", "message can't be edited")
		edit(other, "late", "message to edit not found") // the message is in another chat
		edit(other+1, "late", "message is not modified: specified new message content and reply markup are exactly "+
			"the same as a current content and reply markup of the message")
		if bad := s.Stats().Violations.Total(); bad > 0 {
			t.Errorf("%d violations", bad)
		}
	})
}
