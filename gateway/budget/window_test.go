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
	start, up, down time.Duration // when it is requested; how long it travels there and back
	call            chat.Call
	refuse          time.Duration // the platform answers 429 with this retry_after
	scope           chat.Scope
	patience        time.Duration // cancelled when it was not granted by then; 0: never
}

// arrival is a call as the platform counts it.
type arrival struct {
	at   time.Time
	call chat.Call
}

// block is a refusal as the caller learned of it.
type block struct {
	from, until time.Time
	scope       scopeKey
}

func jobs(t *rapid.T) []job {
	ms := func(low, high int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(low, high), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	}
	limit := func(s chat.Scope, op chat.Op) chat.Limit {
		l := chat.Limit{Scope: s, Ops: op, Count: rapid.IntRange(1, 8).Draw(t, "count"), Window: ms(100, 3000).Draw(t, "window")}
		l.Burst = rapid.IntRange(1, l.Count).Draw(t, "burst")
		return l
	}
	limits := []chat.Limit{
		limit(chat.ScopeMessage, chat.OpEdit),
		limit(chat.ScopeChat, chat.OpSend|chat.OpEdit),
		limit(chat.ScopeEndpoint, chat.OpAll),
	}
	one := rapid.Custom(func(t *rapid.T) job {
		j := job{start: ms(0, 8000).Draw(t, "start"), up: ms(0, 900).Draw(t, "up"), down: ms(0, 900).Draw(t, "down")}
		j.call = chat.Call{
			To:     chat.Target{Chat: rapid.SampledFrom([]chat.ChatID{"a", "b"}).Draw(t, "chat")},
			Op:     rapid.SampledFrom([]chat.Op{chat.OpSend, chat.OpEdit, chat.OpTyping}).Draw(t, "op"),
			Class:  chat.Class(rapid.IntRange(0, 3).Draw(t, "class")),
			Limits: limits,
		}
		if j.call.Op == chat.OpEdit {
			j.call.Message = rapid.SampledFrom([]chat.MessageID{"1", "2"}).Draw(t, "message")
		}
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0:
			j.refuse, j.scope = ms(1, 5000).Draw(t, "retry after"), chat.Scope(rapid.IntRange(0, 3).Draw(t, "scope"))
		case 1, 2:
			j.patience = ms(1, 2000).Draw(t, "patience")
		}
		return j
	})
	return rapid.SliceOfN(one, 1, 60).Draw(t, "jobs")
}

// play runs the jobs and returns what the platform saw and what was refused. All end.
func play(jobs []job) (arrivals []arrival, blocks []block, starts []arrival, left int) {
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
				b.Block(c, j.scope, j.refuse)
				now := time.Now()
				s := j.scope
				if s == 0 || s == chat.ScopeMessage && c.Message == "" {
					s = chat.ScopeChat
				}
				mu.Lock()
				blocks = append(blocks, block{now, now.Add(j.refuse), key(s, c)})
				mu.Unlock()
			}
			ticket.Done()
		})
	}
	wg.Wait()
	return arrivals, blocks, starts, len(b.waiting)
}

// crowded returns a description of each window at the platform that holds too many calls.
func crowded(arrivals []arrival) []string {
	var out []string
	seen := map[string][]time.Time{}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return a.at.Compare(b.at) })
	for _, a := range arrivals {
		for _, l := range a.call.Limits {
			if l.Ops&a.call.Op == 0 || l.Scope == chat.ScopeMessage && a.call.Message == "" {
				continue
			}
			k := fmt.Sprint(key(l.Scope, a.call))
			seen[k] = append(seen[k], a.at)
			if n := len(seen[k]) - 1 - l.Count; n >= 0 && a.at.Sub(seen[k][n]) < l.Window {
				out = append(out, fmt.Sprintf("scope %s: %d calls in %v, limit %d in %v", k, l.Count+1, a.at.Sub(seen[k][n]), l.Count, l.Window))
			}
		}
	}
	return out
}

// D3, D4: whatever the network delays and whoever gives up, no window at the platform holds
// more calls than its limit, nothing starts in a blocked scope, and everybody is served.
func TestNoWindowIsCrowded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		schedule := jobs(rt)
		var wrong []string
		synctest.Test(t, func(*testing.T) {
			arrivals, blocks, starts, left := play(schedule)
			wrong = crowded(arrivals)
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
	})
}
