package replica

import (
	"testing"
	"time"

	"telex/internal/chat"
)

// Accepted must remember a message for rememberFor, and forget it some time later.
func TestAccepted(t *testing.T) {
	t.Parallel()
	a, now := NewAccepted(), time.Now()
	key := func(id chat.MessageID) MessageKey {
		return Key(chat.Conversation{Endpoint: "tg", Chat: "1"}, chat.Inbound{ID: id})
	}
	a.Add(key("1"), now)
	a.Add(key("2"), now.Add(rememberFor-time.Second))
	a.Add(key("3"), now.Add(rememberFor))
	if !a.Remove(key("1")) || a.Remove(key("1")) || a.Remove(key("4")) {
		t.Error("a message is not known exactly once")
	}
	a.Add(key("5"), now.Add(2*rememberFor))
	if a.Remove(key("2")) || !a.Remove(key("3")) || !a.Remove(key("5")) {
		t.Error("old messages are not forgotten, or new ones are")
	}
}
