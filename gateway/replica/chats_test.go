package replica_test

import (
	"slices"
	"testing"
	"time"

	"telex/gateway/replica"
	"telex/internal/chat"
)

// A replica gives up a chat when nothing has happened in the chat for a while. A process that is stopping gives up a
// chat as soon as no turn runs in it.
func TestIdleChatsAreReleased(t *testing.T) {
	t.Parallel()
	now := time.Now()
	of := func(id chat.ChatID) chat.Conversation { return chat.Conversation{Endpoint: "tg", Chat: id} }
	threads := of("busy")
	threads.Thread = "t"
	chats := replica.NewChats()
	fill := func() {
		chats.Touch(of("old"), now.Add(-time.Hour))
		chats.Touch(of("new"), now.Add(-time.Second))
		chats.Touch(threads, now.Add(-time.Hour))
	}
	busy := func(c chat.Conversation) bool { return c == of("busy") }
	idle := func(leaving bool, want ...chat.Conversation) {
		t.Helper()
		got := chats.Idle(now, func(chat.Conversation) bool { return leaving }, busy)
		slices.SortFunc(got, func(a, b chat.Conversation) int { return len(a.Chat) - len(b.Chat) })
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	fill()
	idle(false, of("old"))
	idle(false)
	idle(true, of("new"))
	if n := chats.Len(); n != 1 {
		t.Errorf("%d chats are left", n)
	}
	now = now.Add(time.Minute) // the busy chat was busy until now
	busy = func(chat.Conversation) bool { return false }
	idle(false)
	now = now.Add(time.Hour)
	idle(false, of("busy"))
}
