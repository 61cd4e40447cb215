package chat

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind classifies a failed call by what the caller may do next.
type ErrorKind uint8

// These are the kinds of errors. The zero value is Uncertain: if an adapter has not classified an error, the call may
// have taken effect.
const (
	Uncertain   ErrorKind = iota // the call may have taken effect: timeout, connection lost, status 5xx for a new message
	RateLimited                  // the call had no effect; RetryAfter says when to repeat it
	Temporary                    // the call certainly had no effect: dial failure, connection refused
	Rejected                     // the content was refused, usually because of its markup
	TooLong                      // the text was refused because it is too long
	Gone                         // the message does not exist any more
	Forbidden                    // the bot may not write in this chat
	Moved                        // the chat has a new id, which is in SendError.Moved
	Auth                         // the account's credentials were refused
	Conflict                     // another process receives messages with the same account
	Frozen                       // the message exists but can't be edited any more
)

// String returns the name of the kind in logs.
func (k ErrorKind) String() string {
	names := [...]string{
		"uncertain", "rate limited", "temporary", "rejected", "too long",
		"gone", "forbidden", "moved", "auth", "conflict", "frozen",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("ErrorKind(%d)", uint8(k))
}

// SendError is the error that an adapter returns for a failed call. SendError never contains a secret. The comment of a field
// begins with the kind of error for which the field is set.
type SendError struct {
	Kind       ErrorKind
	RetryAfter time.Duration   // RateLimited: how long to wait after the response
	Scope      Scope           // RateLimited: the scope that is blocked; 0 if the platform does not say
	Ops        Op              // RateLimited: the kinds of calls that the platform refuses in Scope; 0 means all kinds
	Moved      ChatID          // Moved: the chat's new id
	RateLimits []RateLimitInfo // RateLimited: the state of the limits, as the response reports it
	Err        error
}

// Error returns the kind and the cause.
func (e *SendError) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// ErrTooLarge means that an attachment is larger than the caller allows.
var ErrTooLarge = errors.New("the attachment is too large")

// AsSendError returns the SendError in err's chain. If err's chain contains no SendError, AsSendError returns one of
// the kind Uncertain, so that no caller repeats the call blindly.
func AsSendError(err error) *SendError {
	if se, ok := errors.AsType[*SendError](err); ok {
		return se
	}
	return &SendError{Kind: Uncertain, Err: err}
}
