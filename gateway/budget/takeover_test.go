package budget

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// spell is a period in which one of two processes owns a chat and makes calls there.
type spell struct {
	lasts  time.Duration
	pauses []time.Duration // pauses before the calls, repeated cyclically; none: the process makes every call as soon as it may
	class  chat.Class
}

// takeTurns makes two processes own a chat in turns. Each period ends without a handover, so the next owner does not
// know which calls the other process made. takeTurns returns the times of all calls.
func takeTurns(limit chat.Limit, spells []spell) (calls []time.Time) {
	processes := [2]*Budget{New(), New()}
	for n, s := range spells {
		b, ends := processes[n%2], time.Now().Add(s.lasts)
		if n > 0 {
			b.Assume(callUnder(limit, s.class))
		}
		for i := 0; ; i++ {
			if len(s.pauses) > 0 {
				time.Sleep(min(s.pauses[i%len(s.pauses)], time.Until(ends)))
			}
			ticket := b.Request(callUnder(limit, s.class))
			select {
			case <-ticket.Ready():
			case <-time.After(time.Until(ends)):
			}
			if !time.Now().Before(ends) || !granted(ticket) {
				ticket.Cancel()
				break
			}
			calls = append(calls, time.Now())
			ticket.Done()
		}
	}
	return calls
}

// callUnder returns a call that counts only under one limit.
func callUnder(l chat.Limit, class chat.Class) chat.Call {
	c := call("a", class, l)
	c.To.Thread = "t"
	return c
}

// tooMany describes the first calls that exceed the limit's token bucket or its window. A process that takes over a
// chat assumes that a short window is full, so a short window may contain only Count calls. For a longer window, only
// the bucket applies, so a window may contain Count+Burst-1 calls.
func tooMany(l chat.Limit, calls []time.Time) string {
	const rounding = time.Microsecond // possible rounding error of the times at which a bucket gains its tokens
	most, interval := l.Count+l.Burst-1, l.Window/time.Duration(l.Count)
	if l.Window <= shortWindow {
		most = l.Count
	}
	for i, from := range calls {
		for j, to := range calls[i:] {
			if over := time.Duration(j+1-l.Burst)*interval - to.Sub(from); over > rounding {
				return fmt.Sprintf("%d calls in %v, %v too early for the bucket", j+1, to.Sub(from), over)
			}
		}
		if j := i + most; j < len(calls) && calls[j].Sub(from) < l.Window-rounding {
			return fmt.Sprintf("%d calls in %v, want at most %d", most+1, calls[j].Sub(from), most)
		}
	}
	return ""
}

// D3: two processes own a chat in turns. The calls of both processes together must comply with one token bucket of the limit.
// A short window may contain at most Count calls, and a long window at most Count+Burst-1. The adapters choose Count and
// Burst of long windows so that Count+Burst-1 equals the published limit.
func TestAssumedCallsExceedNoLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := chat.Limit{
			Scope: rapid.SampledFrom([]chat.Scope{chat.ScopeThread, chat.ScopeChat, chat.ScopeEndpoint}).Draw(rt, "scope"),
			Ops:   chat.OpAll, Count: rapid.IntRange(1, 40).Draw(rt, "count"),
		}
		limit.Burst = rapid.IntRange(1, limit.Count).Draw(rt, "burst")
		limit.Window = rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute}).Draw(rt, "window")
		interval := limit.Window / time.Duration(limit.Count)
		spells := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) spell {
			return spell{
				lasts: time.Duration(rapid.Int64Range(0, int64(limit.Window*3/2)).Draw(t, "lasts")),
				pauses: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
					return time.Duration(rapid.Int64Range(0, int64(3*interval)).Draw(t, "pause"))
				}), 0, 5).Draw(t, "pauses"),
				class: rapid.SampledFrom([]chat.Class{chat.ClassFinal, chat.ClassFirst, chat.ClassPreview}).Draw(t, "class"),
			}
		}), 2, 6).Draw(rt, "spells")
		var wrong string
		synctest.Test(t, func(*testing.T) { wrong = tooMany(limit, takeTurns(limit, spells)) })
		if wrong != "" {
			rt.Fatalf("limit %d in %v, burst %d: %s", limit.Count, limit.Window, limit.Burst, wrong)
		}
	})
}

// A process gets a chat back from another process. The process must not use the tokens that its own bucket has gained in the
// meantime, not even a fraction of a token. The other process may have used the tokens that the bucket of the first process
// has gained.
func TestAssumedCallsLeaveNoFraction(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(20, 20*time.Second, 1)
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		time.Sleep(990 * time.Millisecond)
		b.Assume(call("a", chat.ClassFinal, limit))
		if got := waited(b.Request(call("a", chat.ClassFinal, limit))); got < time.Second {
			t.Errorf("a call after %v, want 1s", got)
		}
	})
}

// A chat returns to a process that has already assumed calls at an earlier takeover. The assumed calls are older than
// the calls that the other process has made since then. So the process that gets the chat back must assume calls again.
func TestAssumedCallsAreAssumedAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Budget) {
		limit := perChat(22, time.Second, 10)
		if wrong := tooMany(limit, takeTurns(limit, []spell{
			{lasts: 1}, {}, {}, {lasts: 590_909_096, pauses: []time.Duration{0, 136_363_635}}, {lasts: limit.Window},
		})); wrong != "" {
			t.Error(wrong)
		}
	})
}

// The test tries the worst cases under the platforms' limits: the earlier process used its burst, or all calls of a window,
// just before it ended. From the first interval on, the next process must make calls at the limit's rate, without longer
// pauses. If the window is short, the next process assumes that it is full, so the pause may be as long as the window.
func TestAssumedCallsAfterTheWorst(t *testing.T) {
	for _, limit := range []chat.Limit{
		perChat(20, 20*time.Second, 3), perChat(18, time.Minute, 3), perChat(45, 45*6*time.Second, 10), perChat(5, 5*time.Second, 5),
		overall(30, time.Second, 30), overall(46, time.Minute, 5),
	} {
		interval := limit.Window / time.Duration(limit.Count)
		for name, before := range map[string]spell{
			"a burst":           {lasts: time.Millisecond},
			"all of a window":   {lasts: limit.Window},
			"a burst at an end": {lasts: 2 * limit.Window, pauses: append(slices.Repeat([]time.Duration{interval}, limit.Count-limit.Burst), interval*time.Duration(limit.Burst), 0, 0)},
		} {
			t.Run(fmt.Sprintf("%d in %v after %s", limit.Count, limit.Window, name), func(t *testing.T) {
				inBubble(t, func(t *testing.T, _ *Budget) {
					taken := time.Now().Add(before.lasts)
					calls := takeTurns(limit, []spell{before, {lasts: 2 * limit.Window}})
					if wrong := tooMany(limit, calls); wrong != "" {
						t.Error(wrong)
					}
					last := taken
					for _, at := range calls {
						if !at.After(taken) {
							continue
						}
						want := interval
						if limit.Window <= shortWindow {
							want = limit.Window
						}
						if gap := at.Sub(last); gap > want+time.Millisecond {
							t.Errorf("no call for %v, %v after the other process, want one within %v", gap, last.Sub(taken), want)
						}
						last = at
					}
				})
			})
		}
	}
}
