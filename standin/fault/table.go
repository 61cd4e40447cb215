package fault

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// When says which of the calls that a rule chooses it hits. The zero value hits all.
type When struct {
	Nth, Every int           // only the n-th of them (from 1), only each n-th one.
	Times      int           // how often it hits; 0 is without end.
	For        time.Duration // how long it holds from now on, 0 without end.
}

// Table holds the rules of a stand-in: faults of the kind F, each with its When. The zero value is empty. It may be
// called from any goroutine.
type Table[F any] struct {
	mu    sync.Mutex
	next  int
	rules []*rule[F]
}

type rule[F any] struct {
	fault F
	when  When
	until time.Time // zero: without end.
	alone bool      // the rules after it don't count what it hits.
	seen  int       // calls that it chose.
	hits  int
}

// Add adds a rule and returns its id, from 1 up.
func (t *Table[F]) Add(f F, when When) int {
	r := &rule[F]{fault: f, when: when}
	if when.For > 0 {
		r.until = time.Now().Add(when.For)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = append(t.rules, r)
	t.next++
	return t.next
}

// Shadow adds a rule that goes before all others until then; they don't count what it hits.
func (t *Table[F]) Shadow(f F, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = slices.Insert(t.rules, 0, &rule[F]{fault: f, until: until, alone: true})
	t.next++
}

// Clear removes all rules.
func (t *Table[F]) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = nil
}

// Reset is Clear, and ids begin anew.
func (t *Table[F]) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules, t.next = nil, 0
}

// Match counts a call that arrived at a time in every rule that chooses it, and returns the first that hits, nil
// for none. It is a copy.
func (t *Table[F]) Match(at time.Time, chooses func(F) bool) *F {
	t.mu.Lock()
	defer t.mu.Unlock()
	var hit *F
	for _, r := range t.rules {
		if !r.until.IsZero() && !at.Before(r.until) || !chooses(r.fault) {
			continue
		}
		r.seen++
		if hit != nil || !r.due() {
			continue
		}
		r.hits++
		f := r.fault
		if hit = &f; r.alone {
			return hit
		}
	}
	return hit
}

// due tells whether the rule hits the call that it has just seen.
func (r *rule[F]) due() bool {
	return (r.when.Nth == 0 || r.seen == r.when.Nth) &&
		(r.when.Every == 0 || r.seen%r.when.Every == 0) &&
		(r.when.Times == 0 || r.hits < r.when.Times)
}

// Named tells whether name is one of those in list, which are separated by "|"; an empty list has them all.
func Named(list, name string) bool {
	if list == "" {
		return true
	}
	for one := range strings.SplitSeq(list, "|") {
		if strings.EqualFold(strings.TrimSpace(one), name) {
			return true
		}
	}
	return false
}
