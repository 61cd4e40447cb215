package telegram_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

// TestHeldCalls holds a call of each method that changes what people see, and then ends the call at this point, as if
// the client had been killed.
func TestHeldCalls(t *testing.T) {
	for _, tc := range []struct {
		action, stage string
		drop          bool
		effect        bool // whether the call must have an effect after its release
		answered      bool
	}{
		{fault.PauseBefore, "before", false, true, true},
		{fault.PauseBefore, "before", true, false, false},
		{fault.PauseAfter, "after", false, true, true},
		{fault.PauseAfter, "after", true, true, false},
		{fault.PauseAnswered, "answered", false, true, true},
		{fault.PauseAnswered, "answered", true, true, true},
	} {
		for _, method := range []string{"sendMessage", "editMessageText", "sendMessageDraft", "sendDocument"} {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				own := strconv.Itoa(c.call("sendMessage", args{"chat_id": "1001", "text": "mine"}).message(t))
				c.server.Fault(telegram.Fault{Method: method, Contains: "fresh", Times: 1, Action: tc.action})
				calls := map[string]func() reply{
					"sendMessage":      func() reply { return c.call(method, args{"chat_id": "1001", "text": "fresh"}) },
					"editMessageText":  func() reply { return c.call(method, args{"chat_id": "1001", "message_id": own, "text": "fresh"}) },
					"sendMessageDraft": func() reply { return c.call(method, args{"chat_id": "1001", "draft_id": "7", "text": "fresh"}) },
					"sendDocument":     func() reply { return c.upload("a.txt", []byte("x"), args{"chat_id": "1001", "caption": "fresh"}) },
				}
				shown := func() bool {
					screen := c.server.Screen(person, time.Now())
					for _, d := range screen.Drafts {
						if d.Text == "fresh" {
							return true
						}
					}
					for _, m := range screen.Messages {
						if m.Text() == "fresh" {
							return true
						}
					}
					return false
				}
				done := make(chan reply, 1)
				go func() { done <- calls[method]() }()
				synctest.Wait()
				held := c.server.Paused()
				if len(held) != 1 || held[0].Stage != tc.stage || shown() != (tc.stage != "before") {
					t.Fatalf("%s %s: held are %+v, shown %t", method, tc.action, held, shown())
				}
				release := c.server.Resume
				if tc.drop {
					release = c.server.Drop
				}
				if n := release(held[0].ID); n != 1 {
					t.Errorf("%s %s, drop %t: let go of %d calls, want 1", method, tc.action, tc.drop, n)
				}
				if r := <-done; r.OK != tc.answered {
					t.Errorf("%s %s, drop %t: got %s (%v), want an answer: %t", method, tc.action, tc.drop, r.Raw, r.Err, tc.answered)
				}
				if shown() != tc.effect {
					t.Errorf("%s %s, drop %t: shown %t, want %t", method, tc.action, tc.drop, shown(), tc.effect)
				}
			})
		}
	}
}
