package budget

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// D11, D12: a random number of replies share an endpoint. A preview must wait for about one call of each other reply,
// and not longer. A final that is first in the queue must not wait for any preview.
func TestFairness(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies := rapid.IntRange(2, 40).Draw(rt, "replies")
		rate := rapid.IntRange(2, 30).Draw(rt, "rate")
		latency := ms(0, 300).Draw(rt, "latency")
		pauses := rapid.SliceOfN(ms(0, 3000), replies, replies).Draw(rt, "pauses")
		finalEvery := rapid.IntRange(3, 50).Draw(rt, "final every")
		limits := []chat.Limit{overall(rate, time.Second, rate), perChat(20, 10*time.Second, 5)}
		preview, final := make([]time.Duration, replies), make([]time.Duration, replies)
		synctest.Test(t, func(*testing.T) {
			b := New()
			var wg sync.WaitGroup
			end := time.Now().Add(time.Minute)
			for i := range replies {
				wg.Go(func() {
					shown := time.Now()
					for n := 1; time.Now().Before(end); n++ {
						time.Sleep(pauses[i])
						c := call(chat.ChatID(fmt.Sprint(i)), chat.ClassPreview, limits...)
						c.Since = shown
						longest := &preview[i]
						if n%finalEvery == 0 {
							c.Class, longest = chat.ClassFinal, &final[i]
						}
						asked := time.Now()
						ticket := b.Request(c)
						<-ticket.Ready()
						shown = time.Now()
						*longest = max(*longest, shown.Sub(asked))
						time.Sleep(latency)
						ticket.Done()
					}
				})
			}
			wg.Wait()
		})
		// In each window, the budget grants as many calls as the variable rate says. A window in this test lasts one latency
		// longer than the limit's window. Previews leave one call of each window to finals. One more call is subtracted
		// because of rounding.
		window := time.Second + latency
		perWindow := max(1, rate-2)
		finals := replies/finalEvery + 1 // number of finals during one round, in which each reply makes one preview
		rounds := time.Duration((replies+finals)/perWindow + 3)
		if got, most := slices.Max(preview), rounds*window+2*time.Second; got > most {
			rt.Errorf("a preview of %d replies at %d/s waited %v, want at most %v", replies, rate, got, most)
		}
		// In the worst case, all other replies end at the same moment.
		if got, most := slices.Max(final), time.Duration(replies/rate+2)*window+2*time.Second; got > most {
			rt.Errorf("a final of %d replies at %d/s waited %v, want at most %v", replies, rate, got, most)
		}
	})
}

// D12: in the same chat, other replies make many calls that are more urgent than a preview. The preview must still be
// shown soon after it has waited for the duration patience.
func TestQuestionsStarveNoPreview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, limit := New(), perChat(3, 20*time.Second, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for range 2 { // so that one urgent call always waits
			asking.Go(func() {
				for ctx.Err() == nil {
					makeOne(ctx, b, call("chat", chat.ClassFirst, limit))
				}
			})
		}
		time.Sleep(time.Minute)
		start := time.Now()
		makeOne(ctx, b, call("chat", chat.ClassPreview, limit))
		if waited := time.Since(start); waited > patience+20*time.Second {
			t.Errorf("the preview waited %v", waited)
		}
		cancel()
		asking.Wait()
	})
}

// makeOne requests one call, and makes the call when it is granted. If ctx ends earlier, makeOne makes no call.
func makeOne(ctx context.Context, b *Budget, c chat.Call) {
	ticket := b.Request(c)
	select {
	case <-ticket.Ready():
		time.Sleep(10 * time.Millisecond)
		ticket.Done()
	case <-ctx.Done():
		ticket.Cancel()
	}
}

// parts makes the n calls of one final, one after the other, and returns how long all of them took.
func parts(b *Budget, to chat.Target, n int, latency time.Duration, limits ...chat.Limit) time.Duration {
	start := time.Now()
	for i := range n {
		c := chat.Call{To: to, Op: chat.OpSend, Class: chat.ClassFinal, Calls: n - i, Since: start, Limits: limits}
		ticket := b.Request(c)
		<-ticket.Ready()
		time.Sleep(latency)
		ticket.Done()
		time.Sleep(10 * time.Millisecond) // a real reply stores its record in this time
	}
	return time.Since(start)
}

// Several finals of many parts compete. The budget must complete one final after the other, because otherwise all
// finals would end late.
func TestFinalsOfManyPartsAreNotInterleaved(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		const finals, each = 5, 6
		limit := overall(10, time.Second, 10)
		took := make([]time.Duration, finals)
		var wg sync.WaitGroup
		for i := range finals {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				took[i] = parts(b, chat.Target{Chat: chat.ChatID(fmt.Sprint(i))}, each, 20*time.Millisecond, limit)
			})
		}
		wg.Wait()
		for i, d := range took {
			// most is the time of all windows that the calls of earlier finals and of this final need.
			if most := time.Duration((i+1)*each-1)/10*(time.Second+20*time.Millisecond) + each*50*time.Millisecond; d > most {
				t.Errorf("final %d took %v, want at most %v; all: %v", i, d, most, took)
			}
		}
	})
}

// A final announces how many calls it needs. Previews and later finals must leave room for the announced calls.
func TestReservation(t *testing.T) {
	limit := perChat(6, time.Minute, 6)
	ask := func(b *Budget, thread chat.ThreadID, class chat.Class, calls int) *Ticket {
		c := call("a", class, limit)
		c.To.Thread, c.Calls = thread, calls
		if thread == "x" {
			c.Since = c.Since.Truncate(time.Hour) // all calls of a reply have the same Since
		}
		return b.Request(c)
	}
	t.Run("holds while the call runs and for the next", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			first := ask(b, "x", chat.ClassFinal, 5)
			time.Sleep(time.Second)
			young, preview := ask(b, "y", chat.ClassFinal, 1), ask(b, "z", chat.ClassPreview, 0)
			must(t, first)
			if !granted(young) || granted(preview) {
				t.Fatalf("granted %t and %t, want the last free place to go to the final", granted(young), granted(preview))
			}
			second := ask(b, "y", chat.ClassFinal, 1)
			for n := 4; n > 0; n-- {
				time.Sleep(reserveTime / 2)
				if granted(second) {
					t.Fatal("a younger final took a place that was announced")
				}
				must(t, ask(b, "x", chat.ClassFinal, n))
			}
			for _, ticket := range []*Ticket{young, second, preview} {
				ticket.Cancel()
			}
		})
	})
	t.Run("lapses", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			must(t, ask(b, "x", chat.ClassFinal, 6))
			if got := waited(ask(b, "y", chat.ClassFinal, 1)); got != reserveTime {
				t.Errorf("waited %v for a reply that does not go on, want %v", got, reserveTime)
			}
		})
	})
	t.Run("ends with a call that is not made", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			ticket := ask(b, "x", chat.ClassFinal, 6)
			young := ask(b, "y", chat.ClassFinal, 1)
			ticket.Cancel()
			must(t, young)
		})
	})
	t.Run("does not hold an older final up", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			ticket := ask(b, "x", chat.ClassFinal, 6)
			c := call("a", chat.ClassFinal, limit)
			c.To.Thread, c.Since = "y", time.Now().Add(-2*time.Hour)
			must(t, b.Request(c))
			ticket.Done()
		})
	})
	t.Run("is not more than there is", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			ticket := ask(b, "x", chat.ClassFinal, 100)
			young := ask(b, "y", chat.ClassFinal, 1)
			time.Sleep(time.Hour)
			ticket.Done()
			if got := waited(young); got > reserveTime {
				t.Errorf("waited %v, want at most %v", got, reserveTime)
			}
		})
	})
}
