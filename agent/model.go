package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Model is one model behind one API. Implementations are safe for concurrent use and report
// trouble as *ModelError. They never retry: Run does.
type Model interface {
	// Name is what people call this model; it goes to Result.Model.
	Name() string
	// Stream asks for an answer and tells it piece by piece. It calls emit from its own
	// goroutine only, never after it returned, and for every piece of data that the provider
	// sent: an empty Delta says only that the provider is alive. A provider that can't stream is
	// asked for the answer in one piece. Cancelling ctx closes the connection at once.
	Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error)
}

// Request is what a model is asked.
type Request struct {
	System   string // system prompt; empty: none
	Messages []Message
	Tools    []ToolSpec // that it may call
	// MaxOutput is how many tokens the answer may have, where that is fewer than the model may
	// write anyway; 0: no matter.
	MaxOutput int
	// Params are the asker's; MaxOutput of them is in the field above.
	Params Params
	// Live says that each piece of the answer is wanted as soon as it arrives.
	Live bool
}

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name, Description string
	Parameters        json.RawMessage // JSON Schema of an object
}

// Delta is a piece of an answer.
type Delta struct {
	Text      string
	Reasoning string
	Refusal   string
	// Whole says that the answer will come in one piece: until then there is nothing to hear of it.
	Whole bool
	// Call is the state of a tool call that is still being written: its name, and the arguments up to here.
	// The calls of an answer are told apart by their position in it, from 0 on. Nil: none is told of.
	Call *CallDelta
}

// CallDelta is a tool call that is being written.
type CallDelta struct {
	Position  int
	ID        string // as it will stand in Completion.ToolCalls; empty as long as it is not known
	Name      string
	Arguments string // all that came so far
}

// Completion is a finished answer.
type Completion struct {
	// Text, Reasoning and Refusal are what emit was not told.
	Text      string
	Reasoning string
	Refusal   string
	// ToolCalls are the calls in the order in which the model made them, with the arguments as they came: an
	// answer that ended at its length may have cut the last ones.
	ToolCalls []ToolCall
	Finish    Finish
	Usage     *Usage // nil when the provider sent none
	Refused   int    // requests that the provider refused before it took one of another shape
}

// Finish is why the model itself ended its answer.
type Finish uint8

// The ways an answer ends. Tool calls are told by Completion.ToolCalls, because providers end
// them with different reasons.
const (
	FinishStop Finish = iota
	FinishLength
	FinishFiltered
)

// ErrorKind is what can be done about a ModelError.
type ErrorKind string

// The kinds.
const (
	Retryable     ErrorKind = "retryable"      // not reached, overloaded, 5xx: the same request may work later
	RateLimited   ErrorKind = "rate_limited"   // works again after RetryAfter
	Broken        ErrorKind = "broken"         // the answer began and did not end
	NoTools       ErrorKind = "no_tools"       // works without tools
	ContextLength ErrorKind = "context_length" // the conversation is too long
	TooLarge      ErrorKind = "too_large"      // more tokens than the account may use in a minute: a smaller request works
	Filtered      ErrorKind = "filtered"       // the provider's content filter
	BadImage      ErrorKind = "bad_image"      // an image can't be read, or the request is too large with it
	Quota         ErrorKind = "quota"          // the account has no money left
	Auth          ErrorKind = "auth"           // the key is wrong or may not do this
	BadRequest    ErrorKind = "bad_request"    // anything else that the same request will meet again
)

// ModelError is a model call that failed. Its text never holds secrets.
type ModelError struct {
	Kind       ErrorKind
	RetryAfter time.Duration // told by the provider; 0: not told
	NoRetry    bool          // the provider says that trying again is of no use
	NotSent    bool          // the request did not reach the provider
	Limit      int           // ContextLength, TooLarge: tokens that a request may have; 0: not told
	Status     int           // HTTP status; 0: there was no answer
	Usage      *Usage        // that the provider told all the same; nil: none
	Refused    int           // requests of other shapes that the provider refused before this one
	Err        error
}

// Error says what happened, for operators.
func (e *ModelError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("%s: HTTP %d: %v", e.Kind, e.Status, e.Err)
}

// modelError returns the ModelError in the chain of an error, or a zero ModelError if the chain has no ModelError.
func modelError(err error) ModelError {
	if me, ok := errors.AsType[*ModelError](err); ok {
		return *me
	}
	return ModelError{}
}

// Unwrap returns what the error was made of.
func (e *ModelError) Unwrap() error { return e.Err }
