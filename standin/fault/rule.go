package fault

import (
	"fmt"
	"slices"
	"time"
)

// Actions of faults that mean the same on every platform.
const (
	// Latency makes the call slower by Delay before it takes effect.
	Latency = "latency"
	// Status answers with Status. With AfterEffect the call takes effect first.
	Status = "status"
	// Error answers with an error of the API. With AfterEffect the call takes effect first.
	Error = "error"
	// RateLimit answers 429 with RetryAfter, and closes what the call counts in until that is over.
	RateLimit = "rate_limit"
	// CutBefore drops the connection, and the call has no effect.
	CutBefore = "cut_before"
	// CutAfter drops the connection after the call took effect.
	CutAfter = "cut_after"
	// CutMiddle breaks a download off after half of the content.
	CutMiddle = "cut_middle"
	// Drip sends a download at Rate.
	Drip = "drip"
	// Hang never answers: the call has no effect and the connection stays open until the client, Restart or Close
	// ends it.
	Hang = "hang"
	// DeleteFirst lets the person delete the addressed message just before.
	DeleteFirst = "delete_first"
	// NotFound answers as if the addressed message, or its chat, did not exist.
	NotFound = "not_found"
	// Malformed answers half of the JSON after the call took effect.
	Malformed = "malformed"
	// PauseBefore, PauseAfter and PauseAnswered hold the call before it takes effect, after that, or once the client
	// has the whole answer: the moments at which a test kills the client. They end with Resume or Drop, or when Do
	// returns.
	PauseBefore   = "pause_before"
	PauseAfter    = "pause_after"
	PauseAnswered = "pause_answered"
)

// Rule is what the faults of all platforms say alike: how often one hits the calls C that it chooses, and what
// happens to them.
type Rule[C any] struct {
	When
	Action string
	// Status is that of the answer.
	Status int
	// RetryAfter is in seconds.
	RetryAfter float64
	// Delay is the latency.
	Delay time.Duration
	// Rate is in bytes per second.
	Rate int
	// AfterEffect lets the call take effect before it is answered with an error.
	AfterEffect bool
	// Do, if set, is called at the moment of a pause instead of waiting for Resume, and ends the pause when it returns.
	Do func(C)
}

// AnswersLate tells whether the call takes effect before it is answered with an error.
func (r Rule[C]) AnswersLate() bool {
	return r.AfterEffect && (r.Action == Status || r.Action == Error)
}

// Check tells what is wrong with a rule, which may have one of the actions.
func (r Rule[C]) Check(actions ...string) error {
	switch {
	case !slices.Contains(actions, r.Action):
		return fmt.Errorf("unknown fault action %q", r.Action)
	case r.Nth < 0 || r.Every < 0 || r.Times < 0 || r.RetryAfter < 0 || r.Delay < 0 || r.For < 0:
		return fmt.Errorf("fault %s: negative number", r.Action)
	case r.Action == Status && (r.Status < 400 || r.Status > 599):
		return fmt.Errorf("fault status: %d is no error status", r.Status)
	case r.Action == Drip && r.Rate < 1:
		return fmt.Errorf("fault drip: rate must be 1 byte per second or more")
	}
	return nil
}
