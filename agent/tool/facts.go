package tool

import (
	"context"
	"time"
)

// Limits of the facts about a person. All facts together must fit into a request to a model.
const (
	MaxFacts = 100 // maximum number of facts per person
	MaxFact  = 500 // bytes per fact
)

// Fact is something that a person asked the bot to remember.
type Fact struct {
	ID   string // short, unique among the person's facts, never reused
	Text string // one line
	At   time.Time
}

// Remembered is the result of Facts.Add. If neither Known nor Full is set, Add has stored the fact.
type Remembered struct {
	Fact       // the new fact, or the known one
	Known bool // the person has a fact with this text already; upper and lower case don't matter
	Full  bool // the person has MaxFacts other facts
}

// Facts stores facts for each person. The methods of Facts are safe for concurrent use. Each method returns when its changes
// are durable. The model reads the errors of the methods, so the errors must contain no secrets.
type Facts interface {
	// Facts returns a person's facts, oldest first.
	Facts(ctx context.Context, person string) ([]Fact, error)
	// Add stores a fact for a person, and gives it an ID and the current time. Add stores nothing if the fact is Known or the
	// person's facts are Full. Add must check and store in one transaction, because the tool calls of a step run at the same
	// time, and other processes may use the same store.
	Add(ctx context.Context, person, text string) (Remembered, error)
	// Remove deletes a fact and reports whether it existed.
	Remove(ctx context.Context, person, id string) (bool, error)
}
