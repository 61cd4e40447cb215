package budget

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
)

// D3, D11: many chats stream under Telegram's limits, and their replies end at the same moment. The test counts each
// call when it arrives at the simulated platform. No call may arrive too early. Until the end, previews use all of the
// 30 calls per second, except the calls that they leave to finals. The finals may take only a little longer than at 30
// calls per second, although previews have just used the limit.
func TestCrowdThatEndsTogether(t *testing.T) {
	for _, c := range []struct {
		chats   int
		latency time.Duration
		most    time.Duration // maximum time until 95 % of the finals have arrived
	}{
		{50, 60 * time.Millisecond, 1650 * time.Millisecond},
		{150, 60 * time.Millisecond, 4900 * time.Millisecond},
		{150, 0, 4800 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d chats, latency %v", c.chats, c.latency), func(t *testing.T) {
			// Vary the moment at which the replies end, relative to the previews.
			for shift := time.Duration(0); shift < time.Second; shift += 170 * time.Millisecond {
				inBubbleOnce(t, func(b *Budget) {
					end := time.Now().Add(8*time.Second + shift)
					took, arrivals := crowd(b, c.chats, 8*time.Second+shift, c.latency)
					previews := 0
					for _, a := range arrivals {
						if d := end.Sub(a.at); d > 0 && d <= 5*time.Second {
							previews++
						}
					}
					if want := 5 * 28; previews < want {
						t.Errorf("%d previews in the 5s before the end, want at least %d", previews, want)
					}
					slices.Sort(took)
					if got := took[c.chats*95/100]; got > c.most {
						t.Errorf("finals after %v took %v at p95, want at most %v", shift, got, c.most)
					}
					for _, wrong := range crowded(arrivals, 0) {
						t.Error(wrong)
					}
				})
			}
		})
	}
}

// crowd lets chats show previews until the replies of all chats end with a final. crowd returns how long each final
// took to arrive, and the arrivals of all calls.
func crowd(b *Budget, chats int, end, latency time.Duration) (took []time.Duration, arrivals []arrival) {
	limits := []chat.Limit{perChat(20, 20*time.Second, 3), overall(30, time.Second, 30)}
	start := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	arrive := func(ticket *Ticket) time.Time {
		time.Sleep(latency / 2)
		at := time.Now()
		mu.Lock()
		arrivals = append(arrivals, arrival{at, ticket.call})
		mu.Unlock()
		time.Sleep(latency / 2)
		ticket.Done()
		return at
	}
	for i := range chats {
		wg.Go(func() {
			over := time.After(end)
			for {
				began := time.Now()
				ticket := b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassPreview, limits...))
				select {
				case <-ticket.Ready():
					arrive(ticket)
				case <-over:
					ticket.Cancel()
				}
				if time.Since(start) < end {
					select {
					case <-time.After(time.Until(began.Add(1500 * time.Millisecond))):
						continue
					case <-over:
					}
				}
				break
			}
			ticket := b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassFinal, limits...))
			<-ticket.Ready()
			at := arrive(ticket)
			mu.Lock()
			took = append(took, at.Sub(start.Add(end)))
			mu.Unlock()
		})
	}
	wg.Wait()
	return took, arrivals
}
