package gateway_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// Thousands of strangers write to the bot. A person with access must still be told why a message is not answered: the
// limits on notices to such people must not depend on strangers.
func TestStrangersDoNotSilenceNoticesToMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Allow: []access.Rule{{Endpoint: "tg", User: "7"}}}
			o.Limits = access.Limits{TurnsPerMinute: 1}
		})
		for i := range 2000 {
			in := ask("let me in")
			in.To.Chat, in.Sender.ID = chat.ChatID(strconv.Itoa(1000+i)), chat.UserID(strconv.Itoa(1000+i))
			h.say(t, in)
		}
		for _, q := range []string{"a", "b"} {
			in := ask(q)
			in.To.Chat, in.Sender.ID = "7", "7"
			h.say(t, in)
			later(3 * time.Second)
		}
		equal(t, "messages", h.sees(), []string{"re: a", gateway.DefaultTexts()[gateway.TextTooFast]})
	})
}

// A person with access pastes a long text, which arrives in pieces, and strangers write in between. The pieces of the
// long text must still form one question.
func TestStrangersDoNotSplitAMembersPaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Allow: []access.Rule{{Endpoint: "tg", User: "7"}}}
		})
		piece := func(user chat.UserID, text string, addressed bool) chat.Inbound {
			in := inGroup(ask(text), user)
			in.Addressed, in.More = addressed, true
			return in
		}
		for i := range 2000 {
			h.say(t, piece(chat.UserID(strconv.Itoa(1000+i)), "let me in", true))
		}
		h.say(t, piece("7", "one", true))
		h.say(t, piece("7", "two", false))
		later(5 * time.Second)
		equal(t, "questions", h.questions(), []string{"one\n\ntwo"})
	})
}
