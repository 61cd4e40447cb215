package budget

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

func TestBucketShapesABurst(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		start := time.Now()
		var got []time.Duration
		for range 6 {
			ticket := b.Request(call("a", chat.ClassFinal, perChat(20, 20*time.Second, 3)))
			<-ticket.Ready()
			ticket.Done()
			got = append(got, time.Since(start))
		}
		want := []time.Duration{0, 0, 0, time.Second, 2 * time.Second, 3 * time.Second}
		if !slices.Equal(got, want) {
			t.Errorf("grants at %v, want %v", got, want)
		}
	})
}

func TestWindowBoundsWhatTheBucketWouldAllow(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		// The bucket alone would allow 4 calls at once and 4 more in the next second.
		limit := perChat(4, time.Second, 4)
		var last []time.Time
		for i := range 12 {
			ticket := b.Request(call("a", chat.ClassFinal, limit))
			<-ticket.Ready()
			ticket.Done()
			last = append(last, time.Now())
			if i >= 4 && last[i].Sub(last[i-4]) < time.Second {
				t.Errorf("calls %d to %d within %v, want at most 4 in a second", i-4, i, last[i].Sub(last[i-4]))
			}
		}
	})
}

// A platform counts a call when the call arrives, which may be as late as the end of the call. So the budget must count
// the window from the end of a call.
func TestWindowBeginsWhenTheCallEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(2, time.Second, 2)
		first, second := b.Request(call("a", chat.ClassFinal, limit)), b.Request(call("a", chat.ClassFinal, limit))
		third := b.Request(call("a", chat.ClassFinal, limit))
		time.Sleep(5 * time.Second)
		if granted(third) {
			t.Fatal("a third call was granted while two that may still arrive fill the window")
		}
		must(t, first)
		must(t, second)
		if got := waited(third); got != time.Second {
			t.Errorf("third call after %v, want a window after the end of the first", got)
		}
	})
}

// A call that hangs must use up one call of the limit, and must not delay other calls further.
func TestHangingCallDelaysNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(2, time.Second, 2)
		hanging := b.Request(call("a", chat.ClassFinal, limit))
		must(t, b.Request(call("a", chat.ClassFinal, limit)))
		if got := waited(b.Request(call("a", chat.ClassFinal, limit))); got != time.Second {
			t.Errorf("waited %v beside a hanging call, want 1s", got)
		}
		must(t, hanging)
	})
}

func TestOnlyTheOpsOfALimitCount(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := chat.Limit{Scope: chat.ScopeChat, Ops: chat.OpSend, Count: 1, Window: time.Minute, Burst: 1}
		send := call("a", chat.ClassFinal, limit)
		edit := send
		edit.Op = chat.OpEdit
		must(t, b.Request(send))
		for range 5 {
			must(t, b.Request(edit))
		}
		if got := waited(b.Request(send)); got != time.Minute {
			t.Errorf("second send after %v, want 1m", got)
		}
	})
}

func TestMessageScopeCountsEachMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := chat.Limit{Scope: chat.ScopeMessage, Ops: chat.OpEdit, Count: 1, Window: time.Second, Burst: 1}
		one := call("a", chat.ClassFinal, limit)
		one.Op, one.Message = chat.OpEdit, "1"
		two := one
		two.Message = "2"
		must(t, b.Request(one))
		must(t, b.Request(two))
		if got := waited(b.Request(one)); got != time.Second {
			t.Errorf("second edit of a message after %v, want 1s", got)
		}
	})
}

// D11: previews use as many calls as they may. A final must still find room under the limit.
func TestHeadroom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		class    chat.Class
		capacity int
		want     int
	}{
		{chat.ClassFinal, 30, 0},
		{chat.ClassFirst, 30, 0},
		{chat.ClassPreview, 30, 1},
		{chat.ClassPreview, 3, 1},
		{chat.ClassPreview, 2, 1},
		{chat.ClassPreview, 1, 0},
		{chat.ClassTyping, 30, 2},
		{chat.ClassTyping, 3, 2},
		{chat.ClassTyping, 2, 1},
		{chat.ClassTyping, 1, 0},
		{chat.ClassTyping, 0, 0},
	} {
		ticket := &Ticket{call: chat.Call{Class: c.class}, since: now}
		if got := ticket.headroom(c.capacity, now); got != c.want {
			t.Errorf("%v leaves %d of %d to others, want %d", c.class, got, c.capacity, c.want)
		}
	}
}

// D11: previews and typing indicators must leave room for a final.
func TestPreviewsLeaveRoomForAFinal(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit chat.Limit
		class chat.Class
		want  int // number of calls of the class that are granted at once
	}{
		{"bucket, previews", perChat(20, 20*time.Second, 3), chat.ClassPreview, 2},
		{"bucket, typing", perChat(20, 20*time.Second, 3), chat.ClassTyping, 1},
		{"window, previews", perChat(5, time.Minute, 5), chat.ClassPreview, 4},
		{"endpoint, previews", overall(30, time.Second, 30), chat.ClassPreview, 29},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				got := 0
				for {
					ticket := b.Request(call("a", c.class, c.limit))
					if !granted(ticket) {
						ticket.Cancel()
						break
					}
					ticket.Done()
					got++
				}
				if got != c.want {
					t.Errorf("%d calls at once, want %d", got, c.want)
				}
				must(t, b.Request(call("a", chat.ClassFinal, c.limit)))
			})
		})
	}
}

// The platform refuses several calls that were running at the same time. The limit must slow down only once, because
// all these refusals have the same cause.
func TestManyRefusalsAtOnceSlowDownOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		c := call("a", chat.ClassFinal, perChat(20, 20*time.Second, 4))
		level := func() int { return b.meter(b.scope(key(chat.ScopeChat, c)), c.Limits[0]).slow.level }
		for range 4 {
			b.Block(c, chat.ScopeChat, 0, time.Second)
			time.Sleep(100 * time.Millisecond)
		}
		if got := level(); got != 10 {
			t.Errorf("level %d after refusals within a block, want 10", got)
		}
		time.Sleep(time.Second)
		b.Block(c, chat.ScopeChat, 0, time.Second)
		if got := level(); got != 5 {
			t.Errorf("level %d after one more, want 5", got)
		}
	})
}

func TestOnlyTheRefusedLimitIsLowered(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		c := call("a", chat.ClassFinal, perChat(20, 20*time.Second, 4), overall(30, time.Second, 30))
		b.Block(c, chat.ScopeEndpoint, 0, time.Second)
		if got := b.meter(b.scope(key(chat.ScopeEndpoint, c)), c.Limits[1]).slow.level; got != 15 {
			t.Errorf("level of the endpoint %d, want 15", got)
		}
		if got := b.meter(b.scope(key(chat.ScopeChat, c)), c.Limits[0]).slow.level; got != 0 {
			t.Errorf("level of the chat %d, want none", got)
		}
		typing := c
		typing.Op, typing.Limits = chat.OpTyping, []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpSend, Count: 1, Window: 1, Burst: 1}}
		b.Block(typing, chat.ScopeChat, 0, time.Second)
		if got := b.meter(b.scope(key(chat.ScopeChat, c)), typing.Limits[0]).slow.level; got != 0 {
			t.Errorf("level of a limit that does not count typing %d, want none", got)
		}
	})
}

// D3: after a restart, the budget must assume that the earlier process has used up the limit: it must grant no burst
// and no call too early. (TestAssumedCallsExceedNoLimit checks the calls of both processes together.)
func TestAssumedCallsAreCounted(t *testing.T) {
	for _, c := range []struct {
		limit chat.Limit
		gap   time.Duration // time until the first call after a restart, and between later calls
		most  int           // maximum number of calls in the first window after the restart
	}{
		{perChat(20, 20*time.Second, 3), time.Second, 19},
		{perChat(18, time.Minute, 3), time.Minute / 18, 18}, // 17, and one more because the interval is rounded down
		{perChat(5, 5*time.Second, 5), 5 * time.Second, 0},
		{perChat(30, time.Second, 30), time.Second, 0},
	} {
		t.Run(c.limit.Window.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				began := time.Now()
				b.Assume(call("a", chat.ClassFinal, c.limit))
				for calls := 0; ; calls++ {
					tk := b.Request(call("a", chat.ClassFinal, c.limit))
					<-tk.Ready()
					tk.Done()
					at := time.Since(began)
					if at >= c.limit.Window {
						if calls > c.most {
							t.Errorf("%+v: %d calls in the first window, want at most %d", c.limit, calls, c.most)
						}
						return
					}
					if want := time.Duration(calls+1) * c.gap; at < want {
						t.Errorf("%+v: call %d after %v, want %v", c.limit, calls+1, at, want)
					}
				}
			})
		})
	}
}

// Every second call arrives slowly, and then its connection is cut. The other calls arrive at once, and only their
// responses are slow. A call after a cut call must come a whole interval after the end of the cut call.
func TestCallWithoutAResponseCountsFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, limit := New(), chat.Limit{Scope: chat.ScopeChat, Ops: chat.OpSend, Count: 1, Window: time.Second, Burst: 1}
		var arrivals []time.Time
		for n := range 100 {
			ticket := b.Request(callUnder(limit, chat.ClassFinal))
			<-ticket.Ready()
			if n%2 == 0 {
				arrivals = append(arrivals, time.Now())
				time.Sleep(40 * time.Millisecond)
			} else {
				time.Sleep(40 * time.Millisecond)
				arrivals = append(arrivals, time.Now())
				ticket.Lost()
			}
			ticket.Done()
		}
		for n := 1; n < len(arrivals); n++ {
			if gap := arrivals[n].Sub(arrivals[n-1]); gap < limit.Window {
				t.Errorf("call %d arrives %v after the one before it", n, gap)
			}
		}
	})
}
