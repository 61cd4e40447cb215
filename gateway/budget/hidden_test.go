package budget

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
)

// secretive is a simulated platform that enforces limits other than those that it publishes.
type secretive struct {
	mu      sync.Mutex
	hidden  []chat.Limit
	named   bool // the platform's refusals name the blocked scope
	seen    map[scopeKey][]time.Time
	refused []arrival
	scopes  map[scopeKey]int // number of refusals in each scope
}

// answer handles a call: it counts the call, or refuses the call and returns the time until the limit has room.
func (s *secretive) answer(c chat.Call) (retryAfter time.Duration, scope chat.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, l := range s.hidden {
		k := key(l.Scope, c)
		s.seen[k] = slices.DeleteFunc(s.seen[k], func(at time.Time) bool { return now.Sub(at) >= l.Window })
		if n := len(s.seen[k]); n >= l.Count {
			s.refused = append(s.refused, arrival{now, c})
			s.scopes[k]++
			if s.named {
				scope = l.Scope
			}
			// Platforms report the time in whole seconds.
			return (s.seen[k][0].Add(l.Window).Sub(now) + time.Second - 1).Truncate(time.Second), scope
		}
	}
	for _, l := range s.hidden {
		s.seen[key(l.Scope, c)] = append(s.seen[key(l.Scope, c)], now)
	}
	return 0, 0
}

// The method use makes a reply's calls in a chat until the time end: nine previews, then a final that it repeats until the
// platform accepts it, and so on. The method use returns the number of accepted finals.
func (s *secretive) use(b *Budget, id chat.ChatID, limits []chat.Limit, end time.Time) (finals int) {
	for i := 0; time.Now().Before(end); i++ {
		c := call(id, chat.ClassPreview, limits...)
		c.Op, c.Message = chat.OpEdit, "1"
		if i%10 == 9 {
			c.Class = chat.ClassFinal
		}
		for {
			ticket := b.Request(c)
			<-ticket.Ready()
			time.Sleep(30 * time.Millisecond)
			retryAfter, scope := s.answer(c)
			time.Sleep(30 * time.Millisecond)
			if retryAfter > 0 {
				b.Block(c, scope, 0, retryAfter)
			}
			ticket.Done()
			if retryAfter == 0 {
				break
			}
			if c.Class == chat.ClassPreview {
				break // a newer preview follows
			}
		}
		if c.Class == chat.ClassFinal {
			finals++
		}
		time.Sleep(time.Second)
	}
	return finals
}

// D3: the platform secretly enforces half of the limits that it publishes. Each scope must slow down at its first refusal.
// A single refusal may be transient, so the budget tries the full limit again after a minute. The simulated platform,
// however, refuses calls again at the same number of calls. So the budget must try the full limit less and less often: five
// times in the first hour, then about once an hour.
func TestHiddenLimits(t *testing.T) {
	group := chat.Limit{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 20, Window: time.Minute, Burst: 5}
	private := chat.Limit{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 20, Window: 20 * time.Second, Burst: 3}
	message := chat.Limit{Scope: chat.ScopeMessage, Ops: chat.OpEdit, Count: 10, Window: 10 * time.Second, Burst: 10}
	all := overall(30, time.Second, 30)
	half := func(l chat.Limit) chat.Limit {
		l.Count /= 2
		return l
	}
	long := 3 * time.Hour
	if raced { // with the race detector, each simulated hour takes a minute
		long = 15 * time.Minute
	}
	for _, c := range []struct {
		name   string
		chats  int
		limits []chat.Limit
		hidden chat.Limit
		scopes int // number of scopes that slow down
		first  int // number of refusals until all scopes have slowed down: one for each scope, and one for each running call
	}{
		{"group", 1, []chat.Limit{group, all}, half(group), 1, 1},
		{"groups", 10, []chat.Limit{group, all}, half(group), 10, 10},
		{"private chats", 10, []chat.Limit{private, all}, half(private), 10, 10},
		{"message", 3, []chat.Limit{message, all}, half(message), 3, 3},
		{"endpoint", 40, []chat.Limit{private, all}, half(all), 1, 15},
		{"most of the endpoint", 40, []chat.Limit{private, all}, overall(27, time.Second, 27), 1, 15},
	} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, named %t", c.name, named), func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *Budget) {
					s := &secretive{hidden: []chat.Limit{c.hidden}, named: named, seen: map[scopeKey][]time.Time{}, scopes: map[scopeKey]int{}}
					start := time.Now()
					finals := make([]int, c.chats)
					var wg sync.WaitGroup
					for i := range c.chats {
						wg.Go(func() {
							finals[i] = s.use(b, chat.ChatID(fmt.Sprint(i)), c.limits, start.Add(long))
						})
					}
					wg.Wait()
					var early, later int
					var at []time.Duration
					for _, r := range s.refused {
						at = append(at, r.at.Sub(start))
						if r.at.Sub(start) < time.Hour {
							early++
						} else {
							later++
						}
					}
					atOnce := 0 // number of calls that were refused before the budget knew of the first refusal
					for _, d := range at {
						if d < at[0]+30*time.Second {
							atOnce++
						}
					}
					if atOnce > c.first || early > 6*c.first || later > 3*c.first || len(s.scopes) != c.scopes {
						t.Errorf("%d refusals in the first 30 s, %d in the first hour, %d in two more, in %d scopes: %v; want %d, %d, %d, %d",
							atOnce, early, later, len(s.scopes), at, c.first, 6*c.first, 3*c.first, c.scopes)
					}
					if got := slices.Min(finals); got < int(long/(3*time.Minute)) {
						t.Errorf("a chat had %d finals in %v, want none to starve", got, long)
					}
				})
			})
		}
	}
}

// The platform refuses calls without saying which scope's limit is exceeded. The budget must block the chat of the refused
// call. If the platform refuses calls in three chats that have hardly used their own limits, the budget must block the
// endpoint.
func TestManyRefusedChatsStandForTheEndpoint(t *testing.T) {
	limits := []chat.Limit{perChat(20, 20*time.Second, 3), overall(30, time.Second, 30)}
	refuse := func(b *Budget, id chat.ChatID, before int) chat.Block {
		for range before {
			ticket := b.Request(call(id, chat.ClassFinal, limits...))
			<-ticket.Ready()
			ticket.Done()
		}
		c := call(id, chat.ClassFinal, limits...)
		ticket := b.Request(c)
		<-ticket.Ready()
		defer ticket.Done()
		return b.Block(c, 0, 0, 10*time.Second)
	}
	t.Run("lightly used", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			first, second, third := refuse(b, "a", 0), refuse(b, "b", 0), refuse(b, "c", 0)
			if first.Chat != "a" || second.Chat != "b" || third.Scope != chat.ScopeEndpoint {
				t.Errorf("blocked %+v, %+v, %+v; want the two chats, then the endpoint", first, second, third)
			}
			if got := waited(b.Request(call("d", chat.ClassFinal, limits...))); got != 10*time.Second {
				t.Errorf("another chat waited %v, want 10s", got)
			}
			if got := b.meter(b.scope(key(chat.ScopeChat, call("a", 0))), limits[0]).slow; got.level != 0 {
				t.Errorf("the first chat goes on at %+v, want it forgiven", got)
			}
		})
	})
	t.Run("one chat again and again", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			for range 5 {
				b.Block(call("a", chat.ClassFinal, limits...), 0, 0, time.Second)
			}
			must(t, b.Request(call("b", chat.ClassFinal, limits...)))
		})
	})
	t.Run("too far apart", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			for _, id := range []chat.ChatID{"a", "b", "c"} {
				if got := refuse(b, id, 0); got.Scope != chat.ScopeChat {
					t.Errorf("blocked %+v, want the chat", got)
				}
				time.Sleep(suspectFor / 2)
			}
		})
	})
	t.Run("well used", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *Budget) {
			for _, id := range []chat.ChatID{"a", "b", "c", "d"} {
				if got := refuse(b, id, 3); got.Scope != chat.ScopeChat {
					t.Errorf("blocked %+v, want the chat", got)
				}
			}
		})
	})
}
