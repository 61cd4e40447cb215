package budget

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// job is one call of a random schedule.
type job struct {
	start    time.Duration // when the call is requested
	up, down time.Duration // travel time of the call to the platform, and of the response back
	call     chat.Call
	refuse   time.Duration // if not 0, the platform answers with status 429 and this retry_after
	scope    chat.Scope
	patience time.Duration // the test cancels the ticket if it is not granted within this time; 0: never
}

// network describes the latency of calls. A call travels at least the time up to the platform, and its response travels back
// at least the time down. Each call takes longer by up to the time jitter, and rarely by some seconds.
type network struct{ up, down, jitter time.Duration }

// arrival is a call as the platform counts it.
type arrival struct {
	at   time.Time
	call chat.Call
}

// closure is a response with status 429 that a caller has received.
type closure struct {
	from, until time.Time
	scope       scopeKey
}

func ms(low, high int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(low, high), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
}

func jobs(t *rapid.T, net network) []job {
	limit := func(s chat.Scope, op chat.Op) chat.Limit {
		l := chat.Limit{Scope: s, Ops: op, Count: rapid.IntRange(1, 8).Draw(t, "count"), Window: ms(100, 3000).Draw(t, "window")}
		l.Burst = rapid.IntRange(1, l.Count).Draw(t, "burst")
		return l
	}
	limits := []chat.Limit{
		limit(chat.ScopeMessage, chat.OpEdit),
		limit(chat.ScopeChat, chat.OpSend|chat.OpEdit|chat.OpDraft),
		limit(chat.ScopeEndpoint, chat.OpAll),
	}
	late := func(t *rapid.T) time.Duration {
		d := time.Duration(rapid.Int64Range(0, int64(net.jitter/2)).Draw(t, "jitter"))
		if rapid.IntRange(0, 29).Draw(t, "spike") == 0 {
			d += ms(1000, 10_000).Draw(t, "spike of")
		}
		return d
	}
	one := rapid.Custom(func(t *rapid.T) job {
		j := job{start: ms(0, 12_000).Draw(t, "start"), up: net.up + late(t), down: net.down + late(t)}
		j.call = chat.Call{
			To:     chat.Target{Chat: rapid.SampledFrom([]chat.ChatID{"a", "b"}).Draw(t, "chat")},
			Op:     rapid.SampledFrom([]chat.Op{chat.OpSend, chat.OpEdit, chat.OpTyping, chat.OpDraft, chat.OpDelete}).Draw(t, "op"),
			Class:  chat.Class(rapid.IntRange(0, 3).Draw(t, "class")),
			Calls:  rapid.IntRange(0, 4).Draw(t, "calls"),
			Limits: limits,
		}
		if j.call.Op == chat.OpEdit {
			j.call.Message = rapid.SampledFrom([]chat.MessageID{"1", "2"}).Draw(t, "message")
		}
		switch rapid.IntRange(0, 19).Draw(t, "fate") {
		case 0:
			j.refuse, j.scope = ms(1, 5000).Draw(t, "retry after"), chat.Scope(rapid.IntRange(0, 3).Draw(t, "scope"))
		case 1, 2:
			j.patience = ms(1, 2000).Draw(t, "patience")
		}
		return j
	})
	n := rapid.SampledFrom([]int{5, 30, 60, 120}).Draw(t, "number of jobs") // without a given number, rapid draws short lists
	return rapid.SliceOfN(one, n, n).Draw(t, "jobs")
}

// play runs the jobs. play returns the arrivals of the calls at the platform, the blocks and the starts of the calls.
// left is the number of tickets that are still in the budget at the end.
func play(jobs []job) (arrivals []arrival, blocks []closure, starts []arrival, left int) {
	b := New()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() {
			time.Sleep(j.start)
			c := j.call
			c.Since = time.Now()
			ticket := b.Request(c)
			var impatient <-chan time.Time
			if j.patience > 0 {
				impatient = time.After(j.patience)
			}
			select {
			case <-ticket.Ready():
			case <-impatient:
				ticket.Cancel()
				return
			}
			mu.Lock()
			starts = append(starts, arrival{time.Now(), c})
			mu.Unlock()
			time.Sleep(j.up)
			mu.Lock()
			arrivals = append(arrivals, arrival{time.Now(), c})
			mu.Unlock()
			time.Sleep(j.down)
			if j.refuse > 0 {
				b.Block(c, j.scope, 0, j.refuse)
				now := time.Now()
				mu.Lock()
				blocks = append(blocks, closure{now, now.Add(j.refuse), key(j.scope, c)})
				mu.Unlock()
			}
			ticket.Done()
		})
	}
	wg.Wait()
	return arrivals, blocks, starts, len(b.waiting)
}

// strict counts the calls under one limit in one scope, as a platform does.
type strict struct {
	times []time.Time
	full  time.Time // when the bucket of the limit is full again
}

// take counts a call. If the call violates the limit, the method take returns a description of the violation. A call that
// comes too early by less than the duration in the parameter early is allowed.
func (s *strict) take(l chat.Limit, at time.Time, early time.Duration) string {
	wrong := ""
	if n := len(s.times) - l.Count; n >= 0 && at.Sub(s.times[n]) < l.Window-early {
		wrong = fmt.Sprintf("%d calls in %v", l.Count+1, at.Sub(s.times[n]))
	}
	interval := l.Window / time.Duration(l.Count)
	if s.full.Before(at) {
		s.full = at
	}
	if debt := s.full.Sub(at) - time.Duration(l.Burst-1)*interval; debt > early {
		wrong += fmt.Sprintf(" %v too early for the bucket", debt)
	}
	s.times, s.full = append(s.times, at), s.full.Add(interval)
	return wrong
}

// crowded returns the violations of limits that a platform would find. A platform counts a call when the call arrives.
func crowded(arrivals []arrival, early time.Duration) []string {
	var out []string
	scopes := map[string]*strict{}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return a.at.Compare(b.at) })
	for _, a := range arrivals {
		for _, l := range a.call.Limits {
			if l.Ops&a.call.Op == 0 || l.Scope == chat.ScopeMessage && a.call.Message == "" {
				continue
			}
			k := fmt.Sprint(key(l.Scope, a.call))
			if scopes[k] == nil {
				scopes[k] = &strict{}
			}
			if wrong := scopes[k].take(l, a.at, early); wrong != "" {
				out = append(out, fmt.Sprintf("scope %s, limit %d in %v, burst %d: %s", k, l.Count, l.Window, l.Burst, wrong))
			}
		}
	}
	return out
}

// check runs a random schedule of calls. check fails if a call arrives earlier than the platform's limits and blocks
// allow, or if tickets are still in the budget at the end.
func check(t *testing.T, rt *rapid.T, n network, early time.Duration) {
	schedule := jobs(rt, n)
	var wrong []string
	synctest.Test(t, func(*testing.T) {
		arrivals, blocks, starts, left := play(schedule)
		wrong = crowded(arrivals, early)
		for _, s := range starts {
			for _, b := range blocks {
				if slices.Contains(keys(s.call), b.scope) && s.at.After(b.from) && s.at.Before(b.until) {
					wrong = append(wrong, fmt.Sprintf("call at %v within the block of %v from %v to %v", s.at, b.scope, b.from, b.until))
				}
			}
		}
		if left > 0 {
			wrong = append(wrong, fmt.Sprintf("%d tickets are left", left))
		}
	})
	if len(wrong) > 0 {
		rt.Fatal(strings.Join(wrong, "\n"))
	}
}

// D3, D4: calls take a random time on the network, and some tickets are cancelled. No call may arrive too early, as
// long as the fastest observed call is at most a third slower than the fastest possible call. No call may start in a
// blocked scope, and every call must be made or cancelled in the end.
func TestNoWindowIsCrowded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := network{up: ms(0, 700).Draw(rt, "up"), down: ms(0, 700).Draw(rt, "down")}
		n.jitter = time.Duration(rapid.Int64Range(0, int64((n.up+n.down)/3)).Draw(rt, "jitter"))
		check(t, rt, n, 0)
	})
}

// If the fastest observed call is more than a third slower than the fastest possible call, calls may arrive too early,
// but by no more than the difference.
func TestWindowOnAJitteryNetwork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := network{up: ms(0, 100).Draw(rt, "up"), down: ms(0, 100).Draw(rt, "down"), jitter: ms(0, 1000).Draw(rt, "jitter")}
		possible := n.up + n.down
		check(t, rt, n, max(0, (possible+n.jitter)*3/4-possible))
	})
}

// If nothing but the platform's limit delays calls, the calls must arrive at the full published rate, whatever the latency is.
func TestFullRateAtAnyLatency(t *testing.T) {
	for _, c := range []struct {
		latency time.Duration
		most    time.Duration // maximum duration of 300 calls at 30 per second, after the first seconds
	}{
		{0, 9 * time.Second},
		{60 * time.Millisecond, 9*time.Second + 9*15*time.Millisecond},
		{200 * time.Millisecond, 9*time.Second + 9*50*time.Millisecond},
		{time.Second, 9*time.Second + 9*250*time.Millisecond},
	} {
		t.Run(c.latency.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				limit := overall(30, time.Second, 30)
				var mu sync.Mutex
				var arrivals []arrival
				send := func(n int) {
					var wg sync.WaitGroup
					for i := range n {
						wg.Go(func() {
							ticket := b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassFinal, limit))
							<-ticket.Ready()
							time.Sleep(c.latency / 2)
							mu.Lock()
							arrivals = append(arrivals, arrival{time.Now(), ticket.call})
							mu.Unlock()
							time.Sleep(c.latency / 2)
							ticket.Done()
						})
					}
					wg.Wait()
				}
				send(150) // enough calls to measure the shortest round trip
				time.Sleep(5 * time.Second)
				start := time.Now()
				send(300)
				if got, most := time.Since(start), c.most+c.latency; got > most {
					t.Errorf("300 calls took %v, want at most %v", got, most)
				}
				for _, wrong := range crowded(arrivals, 0) {
					t.Error(wrong)
				}
			})
		})
	}
}
