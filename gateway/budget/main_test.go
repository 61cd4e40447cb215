package budget

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"telex/internal/chat"
)

func TestMain(m *testing.M) {
	// By default, the property tests try as many random schedules of calls as the constant checks says, because virtual
	// time makes the tests fast. The flag -rapid.checks sets another number.
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// inBubble runs f in virtual time, in parallel with other tests. inBubble fails if f leaves goroutines running.
func inBubble(t *testing.T, f func(t *testing.T, b *Budget)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, New()) })
}

// inBubbleOnce runs f in virtual time, as a part of a test.
func inBubbleOnce(t *testing.T, f func(b *Budget)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { f(New()) })
}

// perChat and overall return limits that count every kind of call.
func perChat(count int, window time.Duration, burst int) chat.Limit {
	return chat.Limit{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: count, Window: window, Burst: burst}
}

func overall(count int, window time.Duration, burst int) chat.Limit {
	return chat.Limit{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: count, Window: window, Burst: burst}
}

// call returns a call that sends a message to a chat.
func call(to chat.ChatID, class chat.Class, limits ...chat.Limit) chat.Call {
	return chat.Call{To: chat.Target{Chat: to}, Op: chat.OpSend, Class: class, Since: time.Now(), Limits: limits}
}

func granted(t *Ticket) bool {
	select {
	case <-t.Ready():
		return true
	default:
		return false
	}
}

// The function must ends the ticket's call. If the ticket was not granted, the function must fails the test.
func must(t *testing.T, ticket *Ticket) {
	t.Helper()
	if !granted(ticket) {
		t.Fatal("got a ticket that waits, want it granted")
	}
	ticket.Done()
}

// waited waits until the ticket is granted, and ends its call at once. waited returns how long the ticket had to wait.
func waited(ticket *Ticket) time.Duration {
	start := time.Now()
	<-ticket.Ready()
	ticket.Done()
	return time.Since(start)
}
