package budget

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// table stores the claims of all processes in place of a shared store.
type table struct {
	mu     sync.Mutex
	claims []chat.Claim
	died   map[chat.ReplicaID]time.Time
}

// settle exchanges the claims of a process with the table. The parameter lost says whether the process's request or the
// table's response is lost; empty: neither.
func (tb *table) settle(b *Budget, id chat.ReplicaID, lost string) {
	tb.exchange(b, id, lost, b.Claims(), Divided)
}

// exchange replaces the claims of a process in the table by the result of the function decide.
func (tb *table) exchange(b *Budget, id chat.ReplicaID, lost string, mine []chat.Claim, decide func(mine, others []chat.Claim) []chat.Claim) {
	if lost == "request" {
		return
	}
	tb.mu.Lock()
	now := time.Now()
	var others []chat.Claim
	for _, c := range tb.claims {
		died, dead := tb.died[c.Replica]
		if c.Replica == id || dead && now.Sub(died) >= c.Window {
			continue
		}
		c.Dead = dead
		others = append(others, c)
	}
	for i := range mine {
		mine[i].Replica = id
	}
	mine = decide(mine, others)
	tb.claims = append(others, mine...)
	tb.mu.Unlock()
	if lost != "answer" {
		b.Grant(mine, others)
	}
}

func newTable() *table { return &table{died: make(map[chat.ReplicaID]time.Time)} }

// D3: several processes share a limit. The platform must never count more calls than the limit allows. The limit must
// hold for any requested calls, any starts and deaths of processes, and any lost requests and responses of the store.
func TestSharesNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(1, 30).Draw(rt, "count")
		limit := overall(count, ms(500, 20_000).Draw(rt, "window"), rapid.IntRange(1, count).Draw(rt, "burst"))
		processes := rapid.IntRange(1, 4).Draw(rt, "processes")
		latency := ms(0, 300).Draw(rt, "latency")
		pauses := rapid.SliceOfN(ms(0, 5000), processes, processes).Draw(rt, "pauses")
		callers := rapid.SliceOfN(rapid.IntRange(1, 20), processes, processes).Draw(rt, "callers")
		deaths := rapid.SliceOfN(ms(0, 60_000), processes, processes).Draw(rt, "deaths")
		retire := rapid.Bool().Draw(rt, "retire") // processes stop gracefully and give up their shares
		losses := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "request", "answer"}), 1, 40).Draw(rt, "losses")
		var mu sync.Mutex
		var arrivals []time.Time
		served := make([]int, processes)
		synctest.Test(t, func(*testing.T) {
			tb, end := newTable(), time.Now().Add(2*time.Minute)
			var wg sync.WaitGroup
			for p := range processes {
				wg.Go(func() {
					id, dies := chat.ReplicaID(p+1), time.Now().Add(deaths[p])
					for time.Now().Before(end) {
						b := New()
						b.Divide(nil, func() {})
						var calls sync.WaitGroup
						until := end
						if dies.After(time.Now()) && dies.Before(end) {
							until = dies
						}
						for range callers[p] {
							calls.Go(func() {
								for time.Now().Before(until) {
									time.Sleep(pauses[p])
									ticket := b.Request(call("a", chat.ClassFinal, limit))
									select {
									case <-ticket.Ready():
									case <-time.After(time.Until(until)):
									}
									if !granted(ticket) || !time.Now().Before(until) {
										ticket.Cancel()
										return
									}
									time.Sleep(latency / 2)
									mu.Lock()
									arrivals = append(arrivals, time.Now())
									served[p]++
									mu.Unlock()
									time.Sleep(latency - latency/2 + time.Millisecond)
									ticket.Done()
								}
							})
						}
						for n := p; time.Now().Before(until); n++ {
							tb.settle(b, id, losses[n%len(losses)])
							time.Sleep(time.Second)
						}
						if retire {
							tb.exchange(b, id, losses[p%len(losses)], b.Retire(), func(mine, _ []chat.Claim) []chat.Claim { return mine })
						}
						calls.Wait()
						tb.mu.Lock()
						tb.died[id] = time.Now()
						tb.mu.Unlock()
						id += 10 // the process starts again under another id
					}
				})
			}
			wg.Wait()
		})
		slices.SortFunc(arrivals, time.Time.Compare)
		for i := count; i < len(arrivals); i++ {
			if gap := arrivals[i].Sub(arrivals[i-count]); gap < limit.Window {
				rt.Fatalf("%d calls within %v, the limit is %d in %v", count+1, gap, count, limit.Window)
			}
		}
		for p, n := range served { // D12: every process that requests calls must make some
			if n == 0 && limit.Window*time.Duration(processes+2) < 20*time.Second && !slices.Contains(losses, "request") && !slices.Contains(losses, "answer") {
				rt.Fatalf("process %d made no call: %v", p, served)
			}
		}
	})
}

// A single process must get the whole limit at once. If there are several processes, the shares must follow the number
// of calls that each process wants.
func TestSharesFollowDemand(t *testing.T) {
	t.Parallel()
	limit := overall(30, time.Second, 30)
	claim := func(id chat.ReplicaID, wanted int) chat.Claim {
		return chat.Claim{Replica: id, Ops: limit.Ops, Window: limit.Window, Count: 30, Wanted: wanted}
	}
	for _, c := range []struct {
		name   string
		mine   chat.Claim
		others []chat.Claim
		want   int
	}{
		{"alone", claim(1, 0), nil, 30},
		{"nobody wants anything", claim(1, 0), []chat.Claim{claim(2, 0), claim(3, 0)}, 10},
		{"all want everything", claim(1, 90), []chat.Claim{claim(2, 100), claim(3, 80)}, 10},
		{"one wants much", claim(1, 90), []chat.Claim{claim(2, 3), claim(3, 0)}, 27},
		{"what is left over serves all", claim(1, 4), []chat.Claim{claim(2, 2)}, 16},
		{"a dead one is left what it holds", claim(1, 90), []chat.Claim{{Ops: limit.Ops, Window: limit.Window, Held: 12, Dead: true}}, 18},
		{"another limit is none of it", claim(1, 90), []chat.Claim{{Ops: limit.Ops, Window: time.Minute, Held: 12}}, 30},
	} {
		if got := Divided([]chat.Claim{c.mine}, c.others)[0]; got.Share != c.want || got.Held != c.want {
			t.Errorf("%s: got %+v, want a share of %d", c.name, got, c.want)
		}
	}
	one := func(id chat.ReplicaID, waiting time.Duration) chat.Claim {
		return chat.Claim{Replica: id, Ops: limit.Ops, Window: time.Minute, Count: 1, Wanted: int(id), Waiting: waiting}
	}
	if got := fairShares(one(1, time.Minute), []chat.Claim{one(2, time.Second), one(3, 0)})[1]; got != 1 {
		t.Errorf("the longest waiting one gets %d of 1", got)
	}
	if got := fairShares(one(3, 0), []chat.Claim{one(2, time.Second), one(1, time.Minute)})[3]; got != 0 {
		t.Errorf("one that does not wait gets %d of 1", got)
	}
	// Three calls for four processes: one call is free, and two processes want it.
	free := func(mine, other time.Duration) int {
		of := func(id chat.ReplicaID, share int, waiting time.Duration) chat.Claim {
			return chat.Claim{Replica: id, Ops: limit.Ops, Window: time.Minute, Count: 3, Wanted: 9, Share: share, Held: share, Waiting: waiting}
		}
		others := []chat.Claim{of(2, 1, time.Second), of(3, 1, time.Second), of(4, 0, other)}
		return Divided([]chat.Claim{of(1, 0, mine)}, others)[0].Share
	}
	if got := free(3*time.Second, time.Minute); got != 0 {
		t.Errorf("%d calls are taken from one that has waited longer", got)
	}
	if got := free(time.Minute, 3*time.Second); got != 1 {
		t.Errorf("the longest waiting one gets %d free calls, want 1", got)
	}
}

// A process without a share must make no call, but claim that it wants one. As soon as the process gets a share, it
// must make the call.
func TestNoCallWithoutAShare(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		asked := 0
		b.Divide(nil, func() { asked++ })
		limits := []chat.Limit{overall(2, time.Second, 2), perChat(5, time.Second, 5)}
		first := b.Request(call("a", chat.ClassFinal, limits...))
		if time.Sleep(time.Minute); granted(first) || asked != 1 {
			t.Fatalf("granted %t without a share, which was asked for %d times", granted(first), asked)
		}
		tb := newTable()
		tb.settle(b, 1, "")
		must(t, first)
		must(t, b.Request(call("a", chat.ClassFinal, limits...)))
		if got := b.Claims(); len(got) != 1 || got[0].Share != 2 || got[0].Held != 2 || got[0].Wanted != 2 {
			t.Errorf("claims %+v", got)
		}
		b.Divide(limits, func() {})
		last := b.Request(call("a", chat.ClassFinal, limits...))
		if time.Sleep(time.Minute); granted(last) {
			t.Error("granted with the share of an earlier lease")
		}
		last.Cancel()
	})
}
