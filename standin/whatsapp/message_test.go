package whatsapp_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/whatsapp"
)

// TestConversation is the way of most bots: a question by webhook, a read receipt with typing, an answer, its statuses.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{})
		asked := c.say(whatsapp.Incoming{Text: "hello"})
		synctest.Wait()
		got := c.app.inbound()
		if len(got) != 1 || got[0].ID != asked || got[0].From != phone || got[0].FromUserID != user || got[0].Type != "text" || got[0].Text.Body != "hello" {
			t.Fatalf("webhook: got %+v", got)
		}
		if r := c.post(`{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `","typing_indicator":{"type":"text"}}`); !r.Success {
			t.Errorf("read: got %s", r.Raw)
		}
		if screen := c.server.Screen(user, time.Now()); !screen.Typing || screen.Messages[0].Read.IsZero() {
			t.Errorf("after the receipt: got %+v", screen)
		}
		pause(time.Second)
		r := c.post(send(`"recipient_type":"individual","type":"text","text":{"body":"hi","preview_url":false},"biz_opaque_callback_data":"x","context":{"message_id":"` + asked + `"}`))
		if len(r.Contacts) != 1 || r.Contacts[0].Input != phone || r.Contacts[0].WaID != phone || r.Contacts[0].UserID != "" || len(r.Messages) != 1 {
			t.Fatalf("send: got %d %s", r.Status, r.Raw)
		}
		screen := c.server.Screen(phone, time.Now())
		if screen.Typing || len(screen.Messages) != 2 || screen.Messages[1].Shown() != "hi" || screen.Messages[1].ReplyTo != asked || !screen.Messages[1].FromBot {
			t.Errorf("after the answer: got %+v", screen)
		}
		c.server.Read(user)
		synctest.Wait()
		var statuses []string
		for _, s := range c.app.statuses() {
			statuses = append(statuses, s.Status)
			if s.ID != r.Messages[0].ID || s.RecipientID != phone || s.RecipientUserID != user || s.Opaque != "x" {
				t.Errorf("status: got %+v", s)
			}
		}
		if len(statuses) != 3 || statuses[0] != "sent" || statuses[1] != "delivered" || statuses[2] != "read" {
			t.Errorf("statuses: got %q", statuses)
		}
		if st := c.server.Stats(); st.Messages != 1 || st.Reads != 1 || st.Typings != 1 || st.Violations.Total() != 0 || st.Pending != 0 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

func TestTypingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.say(whatsapp.Incoming{Text: "hello"})
		body := `{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `","typing_indicator":{"type":"text"}}`
		c.ok(body)
		began := time.Now()
		pause(20 * time.Second)
		c.ok(body)
		for after, want := range map[time.Duration]bool{0: true, 44 * time.Second: true, 46 * time.Second: false} {
			if got := c.server.Screen(user, began.Add(after)).Typing; got != want {
				t.Errorf("after %v: got %v, want %v", after, got, want)
			}
		}
		if r := c.get(base + "?fields=verified_name"); r.Status != http.StatusOK {
			t.Errorf("number: got %s", r.Raw)
		}
	})
}
