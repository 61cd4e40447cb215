package budget

import (
	"testing"
	"time"

	"telex/internal/chat"
)

// grants requests n equal calls at once and returns the tickets that are granted at once. The calls of these tickets
// keep running.
func grants(b *Budget, n int, c chat.Call) (list []*Ticket) {
	for range n {
		if ticket := b.Request(c); granted(ticket) {
			list = append(list, ticket)
		} else {
			ticket.Cancel()
		}
	}
	return list
}

// Rate limits that the platform reports can make the declared limits stricter, but never looser.
func TestReportedLimits(t *testing.T) {
	const s = time.Second
	declared := perChat(10, 10*s, 10)
	send := call("a", chat.ClassFinal, declared)
	tell := func(b *Budget, w chat.RateLimitInfo) {
		ticket := b.Request(send)
		<-ticket.Ready()
		b.UpdateLimits(send, []chat.RateLimitInfo{w})
		ticket.Done()
	}
	for _, c := range []struct {
		name     string
		reported chat.RateLimitInfo
		now      int           // calls granted after the report
		wait     time.Duration // time until one more call is granted
	}{
		{"none are left", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: 0, Reset: 3 * s}, 0, 3 * s},
		{"some are left", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: 2, Reset: 3 * s}, 2, 3 * s},
		{"more than declared", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 50, Remaining: 49, Reset: 3 * s}, 9, 10 * s},
		{"no scope is the chat", chat.RateLimitInfo{Ops: chat.OpAll, Limit: 5, Remaining: 2, Reset: 3 * s}, 2, 3 * s},
		{"the endpoint", chat.RateLimitInfo{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Limit: 5, Remaining: 2, Reset: 3 * s}, 2, 3 * s},
		{"the message of a create is the chat", chat.RateLimitInfo{Scope: chat.ScopeMessage, Ops: chat.OpAll, Limit: 5, Remaining: 2, Reset: 3 * s}, 2, 3 * s},
		{"other calls", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpEdit, Limit: 5, Remaining: 2, Reset: 3 * s}, 9, 10 * s},
		{"no limit", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Remaining: 2, Reset: 3 * s}, 2, 3 * s},
		{"no reset", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: 2}, 9, 10 * s},
		{"nonsense", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: -5, Remaining: -2, Reset: 3 * s}, 0, 3 * s},
		{"believed for an hour at most", chat.RateLimitInfo{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Reset: 1e6 * s}, 0, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				tell(b, c.reported)
				first := grants(b, 20, send)
				if len(first) != c.now {
					t.Errorf("%d calls granted, want %d", len(first), c.now)
				}
				for _, ticket := range first {
					ticket.Done()
				}
				start := time.Now()
				next := b.Request(send)
				<-next.Ready()
				if got := time.Since(start); got != c.wait {
					t.Errorf("the next one waited %v, want %v", got, c.wait)
				}
				next.Cancel()
			})
		})
	}
}

// The first call after a reset begins a new period. If responses arrive in the wrong order, an older response must not
// allow calls that were already made.
func TestAllowancePeriods(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		const s = time.Second
		send := call("a", chat.ClassFinal, perChat(100, s, 100))
		reported := func(remaining int, reset time.Duration) {
			b.UpdateLimits(send, []chat.RateLimitInfo{{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: remaining, Reset: reset}})
		}
		check := func(what string, want int) {
			t.Helper()
			list := grants(b, 20, send)
			if len(list) != want {
				t.Errorf("%s: %d calls granted, want %d", what, len(list), want)
			}
			for _, ticket := range list {
				ticket.Done()
			}
		}
		two := grants(b, 2, send)
		reported(4, 5*s) // the response to one call does not count the other call yet
		check("while another is under way", 3)
		reported(3, 5*s)
		check("an answer from before", 0)
		for _, ticket := range two {
			ticket.Done()
		}
		time.Sleep(5 * s)
		check("after the reset", 5)
		check("all used", 0)
		time.Sleep(5*s - 1)
		check("before the next reset", 0)
		time.Sleep(time.Nanosecond)
		check("after the next reset", 5)
		reported(4, 5*s) // the platform's period began later than assumed
		check("the same period", 0)
		time.Sleep(5 * s)
		ticket := b.Request(send)
		ticket.Cancel()
		check("one was given back", 5)
	})
}

// Two calls are running while the platform resets the limit. The platform may count these calls in the new period, so
// the budget must count them in the new period too.
func TestAllowanceAtAReset(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		send := call("a", chat.ClassFinal, perChat(100, time.Second, 100))
		b.UpdateLimits(send, []chat.RateLimitInfo{{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: 5, Reset: 5 * time.Second}})
		under := grants(b, 2, send)
		time.Sleep(5 * time.Second)
		list := grants(b, 20, send)
		if len(list) != 3 {
			t.Errorf("%d calls granted beside 2 under way, want 3 of 5", len(list))
		}
		for _, ticket := range append(under, list...) {
			ticket.Done()
		}
	})
}

// D11: previews must leave the last calls that the platform still allows to the final.
func TestAllowanceKeepsRoomForAFinal(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		send := call("a", chat.ClassPreview, perChat(100, time.Second, 100))
		b.UpdateLimits(send, []chat.RateLimitInfo{{Scope: chat.ScopeChat, Ops: chat.OpAll, Limit: 5, Remaining: 3, Reset: 5 * time.Second}})
		list := grants(b, 20, send)
		if len(list) != 2 {
			t.Errorf("%d previews granted, want 2 of 3", len(list))
		}
		for _, ticket := range list {
			ticket.Done()
		}
		send.Class = chat.ClassFinal
		must(t, b.Request(send))
	})
}
