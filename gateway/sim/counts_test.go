package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// counts says how often what happened.
type counts map[string]int

func (c counts) add(what string, n int) { c[what] += n }

// total adds up the counts of many schedules.
type total struct {
	mu     sync.Mutex
	counts counts
}

func (t *total) add(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, n := range c {
		t.counts.add(k, n)
	}
}

func (t *total) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "%9d  %s\n", t.counts[k], k)
	}
	return b.String()
}

// summarize counts what a schedule was.
func (w *world) summarize() {
	w.counts.add("schedules", 1)
	w.counts.add("schedules: "+w.s.kind.name, 1)
	w.counts.add("schedules by measure: "+string(w.s.measure), 1)
	w.counts.add("schedules by style: "+string(w.s.style), 1)
	w.counts.add("processes", len(w.lives))
	w.counts.add("calls", len(w.calls))
	w.counts.add("turns", len(w.order))
	w.counts.add("messages that people wrote", len(w.messages))
	for _, t := range w.order {
		if !t.released.IsZero() {
			w.counts.add("reply: none, asked again with the next message", 1)
		}
	}
}
