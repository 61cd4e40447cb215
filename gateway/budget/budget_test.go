package budget

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// D11: finals go first, then first displays, then previews, then typing indicators, in whatever order the calls were
// requested.
func TestUrgentClassesGoFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := overall(1, time.Second, 1)
		must(t, b.Request(call("z", chat.ClassFinal, limit)))
		var tickets []*Ticket
		for _, class := range []chat.Class{chat.ClassTyping, chat.ClassPreview, chat.ClassFirst, chat.ClassFinal} {
			tickets = append(tickets, b.Request(call(chat.ChatID(class.String()), class, limit)))
		}
		for i, ticket := range slices.Backward(tickets) {
			<-ticket.Ready()
			for _, later := range tickets[:i] {
				if granted(later) {
					t.Errorf("%v went before %v", later.call.Class, ticket.call.Class)
				}
			}
			ticket.Done()
		}
	})
}

// D12: among calls of the same class, the budget must first grant the call whose content is oldest. If the contents
// have the same age, the budget must first grant the call that was requested first.
func TestStalestGoesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := overall(1, time.Second, 1)
		must(t, b.Request(call("z", chat.ClassFinal, limit)))
		now := time.Now()
		var tickets []*Ticket
		for i, age := range []time.Duration{1, 3, 2, 3} {
			c := call(chat.ChatID(fmt.Sprint(i)), chat.ClassPreview, limit)
			c.Since = now.Add(-age)
			tickets = append(tickets, b.Request(c))
		}
		var got []int
		for range tickets {
			time.Sleep(time.Second)
			synctest.Wait()
			for i, ticket := range tickets {
				if granted(ticket) && !slices.Contains(got, i) {
					got = append(got, i)
					ticket.Done()
				}
			}
		}
		if want := []int{1, 3, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	})
}

// D12: a ticket that waits for its own chat's limit must not delay any later ticket. The endpoint's limit must delay
// only the calls that it counts.
func TestEndpointLimitDelaysOnlyItsCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := overall(1, time.Second, 1)
		limit.Ops = chat.OpSend
		must(t, b.Request(call("z", chat.ClassFinal, limit)))
		b.Block(call("a", chat.ClassFinal, limit), chat.ScopeChat, 0, 10*time.Second)
		first := b.Request(call("a", chat.ClassFinal, limit))
		second := b.Request(call("b", chat.ClassPreview, limit))
		b.Block(call("c", chat.ClassFinal, limit), chat.ScopeChat, 0, 500*time.Millisecond)
		typing := call("c", chat.ClassTyping, limit)
		typing.Op = chat.OpTyping
		if got := waited(b.Request(typing)); got != 500*time.Millisecond {
			t.Errorf("a call that the endpoint does not count waited %v, want 500ms", got)
		}
		if got := waited(second); got != 500*time.Millisecond {
			t.Errorf("waited %v more behind a ticket that its own chat holds, want 500ms", got)
		}
		first.Cancel()
	})
}

// D12: many replies share one limit. The replies must take turns, so that none of them waits too long.
func TestNobodyStarves(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		const replies, rate, seconds = 60, 10, 60
		limit := overall(rate, time.Second, rate)
		for range rate { // use up the limit, so that all replies have to queue
			must(t, b.Request(call("z", chat.ClassFinal, limit)))
		}
		longest := make([]time.Duration, replies)
		served := make([]int, replies)
		end := time.Now().Add(seconds * time.Second)
		for i := range replies {
			go func() {
				for time.Now().Before(end) {
					ticket := b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassPreview, limit))
					longest[i] = max(longest[i], waited(ticket))
					served[i]++
				}
			}()
		}
		time.Sleep((seconds + replies) * time.Second)
		synctest.Wait()
		// The 60 replies share the 9 calls per second that previews may use.
		if got, want := slices.Max(longest), 8*time.Second; got > want {
			t.Errorf("longest wait %v, want at most %v", got, want)
		}
		if low, high := slices.Min(served), slices.Max(served); high-low > 2 {
			t.Errorf("replies were served %d to %d times, want about equally often", low, high)
		}
	})
}

// D4, F19: before a block ends, the budget must grant no call in the blocked scope. When the block ends, the budget
// must grant the waiting calls at once. A block must not delay calls in other scopes.
func TestBlockAppliesToItsScope(t *testing.T) {
	message := func(to chat.ChatID, id chat.MessageID) chat.Call {
		c := call(to, chat.ClassFinal)
		c.Op, c.Message = chat.OpEdit, id
		return c
	}
	inThread := func(to chat.ChatID, thread chat.ThreadID) chat.Call {
		c := message(to, "1")
		c.To.Thread, c.Limits = thread, []chat.Limit{{Scope: chat.ScopeThread, Ops: chat.OpAll, Count: 5, Window: time.Second, Burst: 5}}
		return c
	}
	for _, c := range []struct {
		name    string
		refused chat.Call
		scope   chat.Scope
		held    []chat.Call
		free    []chat.Call
	}{
		{
			"chat", message("a", "1"), chat.ScopeChat,
			[]chat.Call{message("a", "1"), message("a", "2"), message("a", "")},
			[]chat.Call{message("b", "1"), message("b", "")},
		},
		{
			"unnamed is the chat", message("a", "1"), 0,
			[]chat.Call{message("a", "1"), message("a", "")},
			[]chat.Call{message("b", "1")},
		},
		{
			"message", message("a", "1"), chat.ScopeMessage,
			[]chat.Call{message("a", "1")},
			[]chat.Call{message("a", "2"), message("a", ""), message("b", "1")},
		},
		{
			"message of a create is the chat", message("a", ""), chat.ScopeMessage,
			[]chat.Call{message("a", ""), message("a", "1")},
			[]chat.Call{message("b", "")},
		},
		{
			"thread", inThread("a", "t"), chat.ScopeThread,
			[]chat.Call{inThread("a", "t")},
			[]chat.Call{inThread("a", "u"), inThread("a", ""), inThread("b", "t")},
		},
		{
			"thread where no limit counts over one is the chat", message("a", "1"), chat.ScopeThread,
			[]chat.Call{message("a", "1"), inThread("a", "t")},
			[]chat.Call{message("b", "1")},
		},
		{
			"the chat is its threads too", inThread("a", "t"), chat.ScopeChat,
			[]chat.Call{inThread("a", "t"), inThread("a", "u")},
			[]chat.Call{inThread("b", "t")},
		},
		{
			"endpoint", message("a", "1"), chat.ScopeEndpoint,
			[]chat.Call{message("a", "1"), message("b", "")},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				b.Block(c.refused, c.scope, 0, 37*time.Second)
				for _, f := range c.free {
					must(t, b.Request(f))
				}
				var held []*Ticket
				for _, h := range c.held {
					if got := time.Until(b.BlockedUntil(h)); got != 37*time.Second {
						t.Errorf("BlockedUntil in %v, want 37s", got)
					}
					held = append(held, b.Request(h))
				}
				time.Sleep(37*time.Second - 1)
				synctest.Wait()
				for _, h := range held {
					if granted(h) {
						t.Error("granted before the block was over")
					}
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				for _, h := range held {
					must(t, h)
				}
			})
		})
	}
}

func TestBlockLengths(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []time.Duration
		want   time.Duration
	}{
		{"none", nil, 0},
		{"one", []time.Duration{3 * time.Second}, 3 * time.Second},
		{"a shorter one does not shorten it", []time.Duration{time.Minute, time.Second}, time.Minute},
		{"a longer one lengthens it", []time.Duration{time.Second, time.Minute}, time.Minute},
		{"one that does not say how long", []time.Duration{0}, minBlock},
		{"nonsense", []time.Duration{-time.Hour}, minBlock},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				ticket := b.Request(call("other", chat.ClassFinal))
				must(t, ticket)
				for _, d := range c.blocks {
					b.Block(call("a", chat.ClassFinal), chat.ScopeChat, 0, d)
				}
				if got := waited(b.Request(call("a", chat.ClassFinal))); got != c.want {
					t.Errorf("waited %v, want %v", got, c.want)
				}
			})
		})
	}
}

// D4: a restarted process must obey the blocks that the earlier process stored. The store keeps the end of a block as a
// wall-clock time, and the clock may be wrong by years.
func TestRestore(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		want  time.Duration
	}{
		{"under way", 90 * time.Second, 90*time.Second + restoreMargin},
		{"over", -time.Second, 0},
		{"hours", 6 * time.Hour, 6*time.Hour + restoreMargin},
		{"the clock was set back since", 50 * 365 * 24 * time.Hour, maxRestored + restoreMargin},
		{"the clock was set forward since", -50 * 365 * 24 * time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				until := time.Now().Add(c.after).Round(0) // a store keeps no monotonic time
				b.Restore(chat.Block{Scope: chat.ScopeChat, Chat: "a", Until: until})
				b.Restore(chat.Block{Scope: chat.ScopeChat, Chat: "a", Until: until.Add(-time.Minute)})
				if got := waited(b.Request(call("a", chat.ClassFinal))); got != c.want {
					t.Errorf("waited %v, want %v", got, c.want)
				}
			})
		})
	}
}

// If the wall clock jumps, the age of a call's content must not change. If Call.Since is in the future or missing, the
// content counts as new.
func TestAgeOfContent(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		now := time.Now()
		for _, c := range []struct{ since, want time.Time }{
			{now.Add(-time.Minute).Round(0), now.Add(-time.Minute)},
			{now.Add(time.Hour).Round(0), now},
			{time.Time{}, now},
		} {
			ticket := b.Request(chat.Call{To: chat.Target{Chat: "a"}, Op: chat.OpSend, Since: c.since})
			if !ticket.since.Equal(c.want) {
				t.Errorf("content of %v counts from %v, want %v", c.since, ticket.since, c.want)
			}
			ticket.Done()
		}
	})
}

// A block must also apply to tickets that were already waiting when it began.
func TestBlockAppliesToWaitingTickets(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(1, time.Second, 1)
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		ticket := b.Request(call("a", chat.ClassFinal, limit))
		b.Block(call("a", chat.ClassFinal), chat.ScopeChat, 0, time.Minute)
		if got := waited(ticket); got != time.Minute {
			t.Errorf("waited %v, want 1m", got)
		}
	})
}

func TestCancelLeavesTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(1, time.Second, 1)
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		first, second := b.Request(call("a", chat.ClassFinal, limit)), b.Request(call("a", chat.ClassFinal, limit))
		first.Cancel()
		if got := waited(second); got != time.Second {
			t.Errorf("waited %v behind a cancelled ticket, want 1s", got)
		}
		if granted(first) {
			t.Error("a cancelled ticket was granted")
		}
	})
}

func TestCancelGivesBackAGrant(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limits := []chat.Limit{perChat(2, time.Minute, 2), overall(1, time.Minute, 1)}
		ticket := b.Request(call("a", chat.ClassFinal, limits...))
		next := b.Request(call("b", chat.ClassFinal, limits...))
		time.Sleep(100 * time.Millisecond)
		if !granted(ticket) || granted(next) {
			t.Fatalf("granted %t and %t, want the first alone", granted(ticket), granted(next))
		}
		ticket.Cancel()
		must(t, next)
		for range 10 { // repeated calls of Cancel and Done must not fill the bucket above its size
			ticket.Cancel()
			ticket.Done()
		}
		if other := b.Request(call("c", chat.ClassFinal, limits...)); granted(other) {
			t.Error("a grant was given back twice")
		} else {
			other.Cancel()
		}
		must(t, b.Request(call("b", chat.ClassFinal, limits[0])))
		if got := b.Request(call("b", chat.ClassFinal, limits[0])); granted(got) {
			t.Error("more calls than the limit")
		} else {
			got.Cancel()
		}
	})
}

func TestDoneCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(3, time.Second, 3)
		ticket := b.Request(call("a", chat.ClassFinal, limit))
		ticket.Done()
		ticket.Done()
		ticket.Cancel()
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		if got := waited(b.Request(call("a", chat.ClassFinal, limit))); got != time.Second {
			t.Errorf("fourth call after %v, want 1s", got)
		}
	})
}

// While no ticket waits, the budget must not run a timer.
func TestNoTimerWithoutWaitingTickets(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(1, time.Hour, 1)
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		ticket := b.Request(call("a", chat.ClassFinal, limit))
		if !b.timer.Reset(time.Hour) {
			t.Fatal("no timer runs for a ticket that waits")
		}
		ticket.Cancel()
		if b.timer.Stop() {
			t.Error("a timer runs though nobody waits")
		}
		hanging := b.Request(call("b", chat.ClassFinal, limit))
		waiting := b.Request(call("b", chat.ClassFinal, limit))
		if b.timer.Stop() {
			t.Error("a timer runs for a ticket that only an event can help")
		}
		waiting.Cancel()
		hanging.Cancel()
	})
}

func TestSweepForgetsIdleScopesOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(20, 20*time.Second, 3)
		c := func(id chat.ChatID) chat.Call { return call(id, chat.ClassFinal, limit) }
		must(t, b.Request(c("idle")))
		running := b.Request(c("running"))
		b.Block(call("blocked", chat.ClassFinal), chat.ScopeChat, 0, time.Minute)
		b.Block(c("lowered"), chat.ScopeChat, 0, time.Second)
		b.scope(key(chat.ScopeChat, c("empty")))
		has := func(id chat.ChatID) bool { return b.scopes[key(chat.ScopeChat, c(id))] != nil }
		check := func(ids ...chat.ChatID) {
			t.Helper()
			b.sweep(time.Now())
			for _, id := range []chat.ChatID{"idle", "running", "blocked", "lowered", "empty"} {
				if got, want := has(id), slices.Contains(ids, id); got != want {
					t.Errorf("scope %s is known: %t, want %t", id, got, want)
				}
			}
		}
		check("idle", "running", "blocked", "lowered")
		time.Sleep(20*time.Second - 1)
		check("idle", "running", "blocked", "lowered")
		time.Sleep(time.Nanosecond)
		check("running", "blocked", "lowered")
		time.Sleep(100 * time.Second)
		check("running", "blocked", "lowered")
		if got := time.Since(b.BlockedUntil(c("blocked"))); got != time.Minute {
			t.Errorf("the block ended %v ago, want 1m", got)
		}
		time.Sleep(time.Nanosecond)
		check("running", "lowered")
		running.Done()
		time.Sleep(30 * time.Minute)
		check("lowered")
		time.Sleep(time.Hour) // a refusal from now on would be unrelated to the earlier ones
		check()
	})
}

// The sweep must keep the scopes that a ticket still uses, even if no limit applies to them.
func TestSweepKeepsUsedScopes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		b.Block(call("z", chat.ClassFinal), chat.ScopeEndpoint, 0, time.Hour)
		waiting := b.Request(call("a", chat.ClassFinal))
		b.sweep(time.Now())
		b.Block(call("a", chat.ClassFinal), chat.ScopeChat, 0, 2*time.Hour)
		if got := waited(waiting); got != 2*time.Hour {
			t.Errorf("waited %v, want the block of the chat to hold it for 2h", got)
		}
		running := b.Request(call("b", chat.ClassFinal))
		b.sweep(time.Now())
		if b.scopes[key(chat.ScopeChat, call("b", 0))] == nil {
			t.Error("the scope of a call under way was forgotten")
		}
		running.Done()
	})
}

// The budget must remove the scopes of silent chats while other chats are active, so that its memory does not grow
// without bound.
func TestManyChatsAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(20, 20*time.Second, 3)
		for i := range 10 * sweepEvery {
			must(t, b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassFinal, limit)))
			time.Sleep(100 * time.Millisecond)
		}
		if got, most := len(b.scopes), sweepEvery+200; got > most {
			t.Errorf("%d scopes are known, want at most %d", got, most)
		}
	})
}
