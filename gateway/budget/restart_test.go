package budget

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// restarts describes a test in which three processes show replies of eight seconds under one limit. The processes may
// be restarted, one after the other.
type restarts struct {
	limit chat.Limit
	every time.Duration // time between the beginnings of two replies in a process
	turn  time.Duration // time between two restarts, from the second minute on; 0: no process restarts
}

// serve lets the processes run for six minutes. serve returns the longest time that a call waited, from the second
// minute on, and the number of calls.
func (r restarts) serve() (longest time.Duration, calls int) {
	var mu sync.Mutex
	tb, start := newTable(), time.Now()
	end := start.Add(6 * time.Minute)
	var wg sync.WaitGroup
	for p := range time.Duration(3) {
		wg.Go(func() {
			stops, next := end, start.Add(p*r.every/3)
			if r.turn > 0 {
				stops = start.Add(time.Minute + p*4*time.Second)
			}
			for id := chat.ReplicaID(p); time.Now().Before(end); id += 10 {
				b := New()
				b.Divide([]chat.Limit{r.limit}, func() {})
				left := make(chan struct{})
				go func() {
					for ; time.Now().Before(stops); time.Sleep(time.Second) {
						tb.settle(b, id, "")
					}
					close(left)
				}()
				for ; next.Add(9 * time.Second).Before(stops); next = next.Add(r.every) {
					time.Sleep(time.Until(next))
					for ; time.Since(next) < 8*time.Second; time.Sleep(1500 * time.Millisecond) {
						wait := waited(b.Request(call("a", chat.ClassPreview, r.limit)))
						mu.Lock()
						if calls++; time.Since(start) > time.Minute {
							longest = max(longest, wait)
						}
						mu.Unlock()
					}
				}
				<-left
				tb.exchange(b, id, "", b.Retire(), func(mine, _ []chat.Claim) []chat.Claim { return mine })
				tb.mu.Lock()
				tb.died[id] = time.Now()
				tb.mu.Unlock()
				time.Sleep(2 * time.Second)
				stops = stops.Add(r.turn)
				next = time.Now().Add(2 * time.Second)
			}
		})
	}
	wg.Wait()
	return longest, calls
}

// Three processes share a limit and are restarted one after the other. No call may wait more than two seconds longer
// than with a fair division of the limit, whether the limit's window is a second or a minute. The other processes may
// use the share of a stopped process as soon as the platform no longer counts its calls.
func TestRestartsInTurn(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]restarts{
		"a limit of a minute, hardly used": {limit: overall(46, time.Minute, 5), every: 50 * time.Second},
		"a limit of a minute, well used":   {limit: overall(46, time.Minute, 5), every: 30 * time.Second},
		"a limit of a second":              {limit: overall(30, time.Second, 30), every: 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calm, calls := r.serve()
				r.turn = time.Minute
				longest, more := r.serve()
				t.Logf("%d calls, and %d with restarts; one waited %v, and %v with restarts", calls, more, calm, longest)
				// fair is how long a call has to wait if all three processes make calls all the time.
				if fair := 3 * r.limit.Window / time.Duration(r.limit.Count); calm > fair || longest > fair+2*time.Second {
					t.Errorf("a call waited %v without restarts and %v with them, want at most %v and two seconds more", calm, longest, fair)
				}
			})
		})
	}
}

// A call waits while its process gets a larger share again and again. The call must not wait longer than it would with
// the first share.
func TestLargerShareDelaysNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := overall(46, time.Minute, 5)
		b.Divide([]chat.Limit{limit}, func() {})
		others := slices.Repeat([]chat.Claim{{Ops: limit.Ops, Window: limit.Window, Wanted: 1}}, 3)
		share := func(n int) {
			b.Grant([]chat.Claim{{Ops: limit.Ops, Window: limit.Window, Count: limit.Count, Share: n}}, others)
		}
		share(12)
		next := b.Request(call("a", chat.ClassPreview, limit))
		for granted(next) {
			next.Done()
			next = b.Request(call("a", chat.ClassPreview, limit))
		}
		began := time.Now()
		for n := range 30 {
			time.Sleep(500 * time.Millisecond)
			share(13 + n)
		}
		must(t, next)
		if waited := next.began.Sub(began); waited > limit.Window/12 {
			t.Errorf("it waited %v, want at most the %v that it needed with the smaller share", waited, limit.Window/12)
		}
	})
}

// While the processes exchange shares of the endpoint's limits, the calls in a single chat must keep their pace.
func TestSharesLeaveAChatAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limit := perChat(20, time.Minute, 3)
		calls := func(exchange func()) (n int) {
			for end := time.Now().Add(50 * time.Second); ; n++ {
				ticket := b.Request(call("a", chat.ClassFinal, limit))
				for !granted(ticket) {
					time.Sleep(100 * time.Millisecond)
				}
				if time.Now().After(end) {
					ticket.Cancel()
					return n
				}
				time.Sleep(500 * time.Millisecond)
				exchange()
				time.Sleep(500 * time.Millisecond)
				ticket.Done()
			}
		}
		for range 400 { // enough calls to measure the shortest round trip
			ticket := b.Request(call("b", chat.ClassFinal))
			time.Sleep(time.Second)
			ticket.Done()
		}
		want := calls(func() {})
		time.Sleep(2 * time.Minute)
		b.Divide(nil, func() {})
		if got := calls(func() { b.Grant(nil, nil) }); got != want {
			t.Errorf("%d calls while shares are exchanged, want %d", got, want)
		}
	})
}
