package agent

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Many calls report progress at the same time. The reports of each call stay in order. The newest report and the outcome of a
// call are never lost, and no report follows the outcome.
func TestProgressKeepsTheOrderOfEachCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 8).Draw(t, "told")
		p := newProgress(len(told))
		var tellers sync.WaitGroup
		for call, n := range told {
			tellers.Go(func() {
				for i := range n {
					p.addText(call, fmt.Sprint(i))
				}
				p.addOutcome(call, outcome{})
				p.addText(call, "late")
				p.addOutcome(call, outcome{err: errHangs})
			})
		}
		newest := make([]int, len(told))
		for i := range newest {
			newest[i] = -1
		}
		ends := 0
		for ends < len(told) {
			n := p.next()
			if told[n.call] < 0 {
				t.Fatalf("call %d told %+v after its end", n.call, n)
			}
			if n.outcome != nil {
				if newest[n.call] != told[n.call]-1 || n.outcome.err != nil {
					t.Fatalf("call %d ended after %d of %d, %v", n.call, newest[n.call]+1, told[n.call], n.outcome.err)
				}
				told[n.call] = -1
				ends++
				continue
			}
			var i int
			if _, err := fmt.Sscan(n.text, &i); err != nil || i <= newest[n.call] {
				t.Fatalf("call %d told %q after %d", n.call, n.text, newest[n.call])
			}
			newest[n.call] = i
		}
		tellers.Wait()
		if len(p.reports) != 0 {
			t.Fatalf("%d notes are left", len(p.reports))
		}
	})
}

// The reports of several calls are returned in the order of their arrival. If a text has not been read yet, a newer text of
// the same call replaces it.
func TestProgressInOrderOfArrival(t *testing.T) {
	t.Parallel()
	p := newProgress(3)
	p.addText(2, "a")
	p.addText(0, "b")
	p.addText(2, "c")
	p.addOutcome(2, outcome{})
	p.addText(1, "d")
	for _, want := range []string{"2 c", "0 b", "2 end", "1 d"} {
		n := p.next()
		got := fmt.Sprint(n.call, " ", n.text)
		if n.outcome != nil {
			got = fmt.Sprint(n.call, " end")
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
