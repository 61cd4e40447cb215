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

// Remembered is what came of a text to remember. If it is neither Known nor Full, it is stored now.
type Remembered struct {
	Fact       // the new one, or the one that is Known
	Known bool // the person has a fact with this text already; upper and lower case don't matter
	Full  bool // the person has MaxFacts other facts
}

// Facts stores facts for each person. Its methods are safe for concurrent use and return when their changes are durable.
// The model reads their errors, which contain no secrets.
type Facts interface {
	// Facts returns a person's facts, oldest first.
	Facts(ctx context.Context, person string) ([]Fact, error)
	// Add stores a fact for a person, with an ID and the time, unless it is Known or the person's facts are Full. The
	// check holds for all calls together, although the calls of a step run at the same time and other processes may use
	// the same store.
	Add(ctx context.Context, person, text string) (Remembered, error)
	// Remove deletes a fact and reports whether it existed.
	Remove(ctx context.Context, person, id string) (bool, error)
}
