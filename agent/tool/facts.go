package tool

import (
	"context"
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
