package tool

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

// What a person can have remembered: small enough for all of it to go to a model.
const (
	MaxFacts = 100 // of a person
	MaxFact  = 500 // bytes of one
)

// Fact is something that a person asked to be remembered.
type Fact struct {
	ID   string // short, unique among the person's, never used again
	Text string // one line
	At   time.Time
}

// Facts keeps facts for each person. Its methods are safe for concurrent use and return once what they did is
// durable. Errors are told to the model; they hold no secret.
type Facts interface {
	// Facts returns what is remembered for a person, oldest first.
	Facts(ctx context.Context, person string) ([]Fact, error)
	// Add remembers a line for a person, and returns it with its ID and time.
	Add(ctx context.Context, person, text string) (Fact, error)
	// Remove forgets one and says whether it was there.
	Remove(ctx context.Context, person, id string) (bool, error)
}

// Notes keeps facts in memory, for tests and for a bot without a store. The zero Notes is empty.
type Notes struct {
	mu    sync.Mutex
	facts map[string][]Fact
	last  int
}

var _ Facts = (*Notes)(nil)

// Facts returns what is remembered for a person, oldest first.
func (n *Notes) Facts(_ context.Context, person string) ([]Fact, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.facts[person]), nil
}

// Add remembers a line for a person.
func (n *Notes) Add(_ context.Context, person, text string) (Fact, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.facts == nil {
		n.facts = map[string][]Fact{}
	}
	n.last++
	fact := Fact{ID: strconv.Itoa(n.last), Text: text, At: time.Now()}
	n.facts[person] = append(n.facts[person], fact)
	return fact, nil
}

// Remove forgets one and says whether it was there.
func (n *Notes) Remove(_ context.Context, person, id string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.facts[person])
	n.facts[person] = slices.DeleteFunc(n.facts[person], func(f Fact) bool { return f.ID == id })
	return len(n.facts[person]) < before, nil
}
