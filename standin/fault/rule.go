package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Actions of faults. Each action has the same meaning on every platform.
const (
	// Latency delays the call by Delay before the call takes effect.
	Latency = "latency"
	// Status answers the call with the HTTP status in the field Status. With AfterEffect, the call takes effect before the
	// client gets this status.
	Status = "status"
	// Error answers the call with an error of the platform's API. With AfterEffect, the call takes effect before the
	// client gets this error.
	Error = "error"
	// RateLimit answers the call with 429 and RetryAfter. Until the time RetryAfter is over, the stand-in refuses
	// further calls in the scope of the call.
	RateLimit = "rate_limit"
	// CutBefore drops the connection before the call takes effect, so the call has no effect.
	CutBefore = "cut_before"
	// CutAfter drops the connection after the call took effect.
	CutAfter = "cut_after"
	// CutMiddle ends the connection in the middle of a download.
	CutMiddle = "cut_middle"
	// Drip sends a download slowly, at Rate bytes per second.
	Drip = "drip"
	// Hang never answers the call. The call has no effect, and its connection stays open until the client, Restart
	// or Close ends it.
	Hang = "hang"
	// DeleteFirst makes a person delete a message right before a call that refers to the message.
	DeleteFirst = "delete_first"
	// NotFound answers as if the message to which the call refers, or its chat, did not exist.
	NotFound = "not_found"
	// Malformed answers with only the first half of the JSON, after the call took effect.
	Malformed = "malformed"
	// PauseBefore, PauseAfter and PauseAnswered hold the call before its effect, after its effect, or after the client has
	// the whole answer. A test can kill the client while the call is held. The call is held until Resume or Drop is called,
	// or Do returns.
	PauseBefore   = "pause_before"
	PauseAfter    = "pause_after"
	PauseAnswered = "pause_answered"
)

// Everywhere returns the actions that every stand-in supports, and the actions in the parameter more.
func Everywhere(more ...string) []string {
	return append(more, Latency, RateLimit, Status, CutBefore, CutAfter, CutMiddle, Hang, DeleteFirst, Malformed, PauseBefore, PauseAfter, PauseAnswered)
}

// Fault is a rule that determines which calls of type C are hit, and what happens to them. If several rules match a
// call, only the oldest of these rules hits the call. Each rule counts the calls that it selects. Not every platform
// supports every field and action.
type Fault[C any] struct {
	// Method selects calls by the method's name. Several names in Method are separated by "|". An empty Method selects all
	// calls.
	Method string `json:"method"`
	// Channel selects calls by their chat. On platforms that identify a chat by a number, the field Chat selects calls by
	// their chat. The zero value of both fields selects all calls.
	Channel string `json:"channel"`
	Chat    int64  `json:"chat"`
	// Contains selects calls whose text contains this string.
	Contains string `json:"contains"`
	// With Nth, the rule hits only the n-th selected call, counted from 1. With Every, the rule hits each n-th
	// selected call.
	Nth   int `json:"nth"`
	Every int `json:"every"`
	// Times is how often the rule hits; 0: without limit.
	Times int `json:"times"`
	// For is how long the rule exists from now on; 0: without limit. In JSON, the field for_ms replaces the field For.
	For   time.Duration `json:"-"`
	ForMS int           `json:"for_ms"`

	Action string `json:"action"`
	// Status, Code and Description are the HTTP status, the platform's error code, and the text of an error answer.
	// Error is the platform's name of an error.
	Status      int    `json:"status"`
	Code        int    `json:"code"`
	Description string `json:"description"`
	Error       string `json:"error"`
	// RetryAfter is the retry time in a 429, in seconds. 0 means 1.
	RetryAfter float64 `json:"retry_after"`
	// Scope is the name of the scope in which the action RateLimit refuses further calls.
	Scope string `json:"scope"`
	// Delay is the delay of the action Latency. In JSON, the field delay_ms replaces the field Delay.
	Delay   time.Duration `json:"-"`
	DelayMS int           `json:"delay_ms"`
	// Rate is the speed of the action Drip, in bytes per second.
	Rate int `json:"rate"`
	// AfterEffect means that the call takes effect although its answer is an error.
	AfterEffect bool `json:"after_effect"`
	// Do, if set, is called while the call is held. The call continues when Do returns, without a call of Resume. Do may
	// call any method of the server except Close, because Close waits for Do.
	Do func(C) `json:"-"`
}

// When returns which of the selected calls the fault hits.
func (f *Fault[C]) When() When {
	return When{Nth: f.Nth, Every: f.Every, Times: f.Times, For: Lasts(f.For, f.ForMS)}
}

// AnswersLate reports whether the fault lets the call take effect and then answers with an error.
func (f *Fault[C]) AnswersLate() bool {
	return f.AfterEffect && (f.Action == Status || f.Action == Error)
}

// Check returns an error if a fault is invalid. actions are the valid actions.
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
