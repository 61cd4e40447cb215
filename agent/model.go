package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Model is one model behind one API. Implementations are safe for concurrent use and report failures as *ModelError. A Model
// does not retry after a temporary failure, because Run does.
type Model interface {
	// Name is the model's configured name, which becomes Result.Model.
	Name() string
	// Stream asks for an answer and emits it piece by piece. Stream calls emit only in the goroutine of its caller, and never
	// after it has returned. Whenever the provider sends data, Stream emits a Delta. An empty Delta shows that the provider
	// is alive. If the provider can't stream, Stream requests the answer in one piece. Cancelling ctx closes the connection
	// at once.
	Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error)
}

// Request is a request for one answer of a model.
type Request struct {
	System   string // system prompt; empty: none
	Messages []Message
	Tools    []ToolSpec // tools that the model may call
	// MaxOutput is the maximum length of the answer in tokens, if it is lower than the model's configured limit. 0 means the
	// configured limit.
	MaxOutput int
	// Params are the caller's parameters, as in Turn.Params. Params.MaxOutput is ignored, because Request.MaxOutput replaces
	// it.
	Params Params
	// Live says that each piece of the answer must be emitted as soon as it arrives.
	Live bool
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name, Description string
	Parameters        json.RawMessage // JSON Schema of the arguments, which are an object
}

// Delta is a piece of an answer.
type Delta struct {
	Text      string
	Reasoning string
	Refusal   string
	// Whole announces that the answer will arrive in one piece. If Whole is set, the provider may be silent until the answer is
	// complete.
	Whole bool
	// Call is the new state of a tool call that is being written; nil: no call changed.
	Call *CallDelta
}

// CallDelta is a tool call that is being written.
type CallDelta struct {
	Position  int    // index of the call in its answer, from 0
	ID        string // as in Completion.ToolCalls; empty if not known yet
	Name      string
	Arguments string // all arguments received so far
}

// Completion is a finished answer.
type Completion struct {
	// Text, Reasoning and Refusal are the parts of the answer that were not emitted.
	Text      string
	Reasoning string
	Refusal   string
	// ToolCalls are the calls in the model's order. The arguments of the calls are not validated. If the answer reached its
	// length limit, the last arguments may be cut off.
	ToolCalls []ToolCall
	Finish    Finish
	Usage     *Usage // nil: the provider reported none
	Refused   int    // requests that the provider refused because of their form, before it accepted another form
}

// Finish is the reason why an answer ended, as the provider reports it.
type Finish uint8

// The reasons why an answer ends. No constant says that an answer ends with tool calls, because providers report different
// reasons in this case. Completion.ToolCalls shows whether there are calls.
const (
	FinishStop Finish = iota
	FinishLength
	FinishFiltered
)

// ErrorKind classifies ModelErrors by what the caller can do about them.
type ErrorKind string

// These constants are the kinds of a ModelError.
const (
	Retryable     ErrorKind = "retryable"      // the provider is unreachable or overloaded, or sent 5xx: the same request may succeed later
	RateLimited   ErrorKind = "rate_limited"   // the same request may succeed after RetryAfter
	Broken        ErrorKind = "broken"         // the answer began and broke off
	NoTools       ErrorKind = "no_tools"       // a request without tools may succeed
	ContextLength ErrorKind = "context_length" // the conversation is too long
	TooLarge      ErrorKind = "too_large"      // the request exceeds the account's token limit per minute
	Filtered      ErrorKind = "filtered"       // the provider's content filter stopped the request or the answer
	BadImage      ErrorKind = "bad_image"      // an image can't be read, or makes the request too large
	Quota         ErrorKind = "quota"          // the account has no money left
	Auth          ErrorKind = "auth"           // the API key is wrong or has no permission
	BadRequest    ErrorKind = "bad_request"    // any other error that the same request would cause again
)

// ModelError says why a model call failed. The text of a ModelError never contains secrets.
type ModelError struct {
	Kind       ErrorKind
	RetryAfter time.Duration // reported by the provider; 0: not reported
	NoRetry    bool          // the provider says that a retry is useless
	NotSent    bool          // the request did not reach the provider
	Limit      int           // for ContextLength and TooLarge: tokens that a request may have; 0: not reported
	Status     int           // HTTP status; 0: there was no response
	Usage      *Usage        // reported by the provider despite the failure; nil: not reported
	Refused    int           // requests that the provider refused because of their form, before this one
	Err        error
}

func (e *ModelError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("%s: HTTP %d: %v", e.Kind, e.Status, e.Err)
}

// modelError returns the ModelError in the chain of an error, or a zero one if there is none.
func modelError(err error) ModelError {
	if me, ok := errors.AsType[*ModelError](err); ok {
		return *me
	}
	return ModelError{}
}

// Unwrap returns the cause of a ModelError.
func (e *ModelError) Unwrap() error { return e.Err }
