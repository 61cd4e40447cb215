package tool

import (
	"context"
	"time"
)

// Limits of a person's facts. All of them must fit into a model's request.
const (
	MaxFacts = 100 // per person
	MaxFact  = 500 // bytes per fact
)

// Fact is something that a person asked to be remembered.
type Fact struct {
	ID   string // short, unique among the person's facts, never reused
	Text string // one line
	At   time.Time
}

// Facts stores facts for each person. Its methods are safe for concurrent use and return when their changes are durable.
// The model reads their errors, which contain no secrets.
type Facts interface {
	// Facts returns a person's facts, oldest first.
	Facts(ctx context.Context, person string) ([]Fact, error)
	// Add stores a fact for a person, and returns it with its ID and time.
	Add(ctx context.Context, person, text string) (Fact, error)
	// Remove deletes a fact and reports whether it existed.
	Remove(ctx context.Context, person, id string) (bool, error)
}
