package tool

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

// notes is a Facts that stores the facts in memory. The zero value is empty.
type notes struct {
	mu    sync.Mutex
	known map[string][]Fact
	last  int
}

var _ Facts = (*notes)(nil)

// Facts returns a person's facts, oldest first.
func (n *notes) Facts(_ context.Context, person string) ([]Fact, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.known[person]), nil
}

// Add stores a fact for a person.
func (n *notes) Add(_ context.Context, person, text string) (Remembered, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := index(n.known[person], text); i >= 0 {
		return Remembered{Fact: n.known[person][i], Known: true}, nil
	}
	if len(n.known[person]) >= MaxFacts {
		return Remembered{Full: true}, nil
	}
	if n.known == nil {
		n.known = map[string][]Fact{}
	}
	n.last++
	fact := Fact{ID: strconv.Itoa(n.last), Text: text, At: time.Now()}
	n.known[person] = append(n.known[person], fact)
	return Remembered{Fact: fact}, nil
}

// Remove deletes a fact and reports whether it existed.
func (n *notes) Remove(_ context.Context, person, id string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.known[person])
	n.known[person] = slices.DeleteFunc(n.known[person], func(f Fact) bool { return f.ID == id })
	return len(n.known[person]) < before, nil
}
