package chat_test

import (
	"strings"
	"testing"

	"telex/internal/chat"
)

func TestParseConversation(t *testing.T) {
	t.Parallel()
	for _, want := range []chat.Conversation{
		{Endpoint: "telegram", Chat: "1001"},
		{Endpoint: "telegram", Chat: "-1001234", Thread: "42"},
		{Endpoint: "support-bot", Chat: "C0123", Thread: "1712345678.123456"},
		{Endpoint: "x", Chat: "y", Thread: "a:b"},
	} {
		if got, err := chat.ParseConversation(want.String()); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", want, got, err, want)
		}
	}
	for _, s := range []string{"", ":", "telegram", "telegram:", ":1", "telegram:1:", "telegram::2", "telegram:user:5", "telegram:chat:-100"} {
		if got, err := chat.ParseConversation(s); err == nil || !strings.Contains(err.Error(), "endpoint:chat") {
			t.Errorf("%q: got %+v, %v, want an error that says how it is written", s, got, err)
		}
	}
}

func TestParsePerson(t *testing.T) {
	t.Parallel()
	for _, want := range []chat.Person{{Endpoint: "telegram", User: "1001"}, {Endpoint: "x", User: "a:b"}} {
		if got, err := chat.ParsePerson(want.String()); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", want, got, err, want)
		}
	}
	for _, s := range []string{"", "telegram", "1001", "telegram:1001", "telegram:user:", ":user:5", "telegram:chat:5", "telegram:*"} {
		if got, err := chat.ParsePerson(s); err == nil || !strings.Contains(err.Error(), "endpoint:user:ID") {
			t.Errorf("%q: got %+v, %v, want an error that says how it is written", s, got, err)
		}
	}
}
