package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Actions of faults. They have the same meaning on every platform.
const (
	// Latency makes the call slower by Delay before it takes effect.
	Latency = "latency"
	// Status answers with Status. With AfterEffect the call takes effect first.
	Status = "status"
	// Error answers with an error of the API. With AfterEffect the call takes effect first.
	Error = "error"
	// RateLimit answers 429 with RetryAfter, and closes the call's scope until that time is over.
	RateLimit = "rate_limit"
	// CutBefore drops the connection, and the call has no effect.
	CutBefore = "cut_before"
	// CutAfter drops the connection after the call took effect.
	CutAfter = "cut_after"
	// CutMiddle ends the connection in the middle of a download.
	CutMiddle = "cut_middle"
	// Drip sends a download at Rate.
	Drip = "drip"
	// Hang never answers: the call has no effect and the connection stays open until the client, Restart or Close
	// ends it.
	Hang = "hang"
	// DeleteFirst lets the person delete the addressed message right before the call.
	DeleteFirst = "delete_first"
	// NotFound answers as if the addressed message, or its chat, did not exist.
	NotFound = "not_found"
	// Malformed answers with half of the JSON after the call took effect.
	Malformed = "malformed"
	// PauseBefore, PauseAfter and PauseAnswered hold the call before its effect, after its effect, or after the client has
	// the whole answer. A test kills the client at these moments. The pause ends with Resume or Drop, or when Do returns.
	PauseBefore   = "pause_before"
	PauseAfter    = "pause_after"
	PauseAnswered = "pause_answered"
)

// Everywhere returns the actions that every platform has, and the actions in more.
func Everywhere(more ...string) []string {
	return append(more, Latency, RateLimit, Status, CutBefore, CutAfter, CutMiddle, Hang, DeleteFirst, Malformed, PauseBefore, PauseAfter, PauseAnswered)
}

// Fault is a rule: which calls C it hits, and what happens to them. If several rules would hit a call, only the oldest
// one does. All rules that select the call count it. Not every platform supports every field and action.
type Fault[C any] struct {
	// Method selects calls by the method's name. Several names are separated by "|". "" selects all calls.
	Method string `json:"method"`
	// Channel selects calls by their place. Chat does so on platforms whose places have numbers. Zero selects all calls.
	Channel string `json:"channel"`
	Chat    int64  `json:"chat"`
	// Contains selects calls whose text contains this string.
	Contains string `json:"contains"`
	// Nth hits only the n-th selected call (from 1). Every hits each n-th selected call.
	Nth   int `json:"nth"`
	Every int `json:"every"`
	// Times is how often the rule hits; 0: without limit.
	Times int `json:"times"`
	// For is how long the rule exists from now on; 0: without limit. In JSON, for_ms replaces it.
	For   time.Duration `json:"-"`
	ForMS int           `json:"for_ms"`

	Action string `json:"action"`
	// Status, Code and Description are those of an error answer. Error is the platform's name of an error.
	Status      int    `json:"status"`
	Code        int    `json:"code"`
	Description string `json:"description"`
	Error       string `json:"error"`
	// RetryAfter is in seconds; 0 means 1.
	RetryAfter float64 `json:"retry_after"`
	// Scope is the scope that a rate limit closes.
	Scope string `json:"scope"`
	// Delay is the latency. In JSON, delay_ms replaces it.
	Delay   time.Duration `json:"-"`
	DelayMS int           `json:"delay_ms"`
	// Rate is the rate of a slow download, in bytes per second.
	Rate int `json:"rate"`
	// AfterEffect says that the call takes effect before its error answer.
	AfterEffect bool `json:"after_effect"`
	// Do, if set, is called at a pause, which ends when Do returns instead of at a call of Resume. Do may call any method
	// of the server except Close, because Close waits for Do.
	Do func(C) `json:"-"`
}

// When returns which of the selected calls the fault hits.
func (f *Fault[C]) When() When {
	return When{Nth: f.Nth, Every: f.Every, Times: f.Times, For: Lasts(f.For, f.ForMS)}
}

// AnswersLate reports whether the call takes effect before its error answer.
func (f *Fault[C]) AnswersLate() bool {
	return f.AfterEffect && (f.Action == Status || f.Action == Error)
}

// Check returns what is wrong with a fault. actions are the valid actions.
func (f *Fault[C]) Check(actions ...string) error {
	switch {
	case !slices.Contains(actions, f.Action):
		return fmt.Errorf("unknown fault action %q", f.Action)
	case f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.RetryAfter < 0 || f.DelayMS < 0 || f.For < 0 || f.ForMS < 0:
		return fmt.Errorf("fault %s: negative number", f.Action)
	case f.Action == Status && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault status: %d is not an error status", f.Status)
	case f.Action == Drip && f.Rate < 1:
		return errors.New("fault drip: rate must be 1 byte per second or more")
	}
	return nil
}
