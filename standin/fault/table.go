package fault

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// When determines which of the selected calls a rule hits. With the zero value of When, the rule hits all selected
// calls.
type When struct {
	Nth, Every int           // Nth: only the n-th selected call, counted from 1. Every: each n-th selected call
	Times      int           // how often the rule hits; 0: without limit
	For        time.Duration // how long the rule exists from now on; 0: without limit
}

// Table contains the rules of a stand-in: faults of type F, each with its When. The zero value contains no rules. A
// Table is safe for concurrent use.
type Table[F any] struct {
	mu    sync.Mutex
	next  int
	rules []*rule[F]
}

type rule[F any] struct {
	fault F
	when  When
	until time.Time // zero: without limit
	alone bool      // the rules after this one don't count the calls that this rule hits
	seen  int       // number of selected calls
	hits  int
}

// Add adds a rule and returns its id. The first rule gets the id 1.
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

// Shadow adds a rule that takes precedence over all others until the given time. The other rules don't count the calls
// that this rule hits.
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

// Reset removes all rules. After Reset, the ids of rules begin again at 1.
func (t *Table[F]) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules, t.next = nil, 0
}

// Match counts a call in every rule that selects the call. Match returns a copy of the first rule that hits the call,
// or nil.
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

// due reports whether the rule hits the call that it has just counted.
func (r *rule[F]) due() bool {
	return (r.when.Nth == 0 || r.seen == r.when.Nth) &&
		(r.when.Every == 0 || r.seen%r.when.Every == 0) &&
		(r.when.Times == 0 || r.hits < r.when.Times)
}

// Named reports whether name is in list. The names in list are separated by "|". An empty list contains every name.
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
