package chat

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind classifies a failed call by what may be done next.
type ErrorKind uint8

// The kinds. The zero value is Uncertain, the one that promises nothing.
const (
	Uncertain   ErrorKind = iota // may have happened: timeout, connection lost, 5xx on a create
	RateLimited                  // not done; RetryAfter says when
	Temporary                    // certainly not done: dial failure, connection refused
	Rejected                     // the content was refused, most often its markup
	TooLong                      // the text was refused for its length
	Gone                         // the message does not exist any more
	Forbidden                    // the bot may not write in this chat
	Moved                        // the chat has a new id, in SendError.Moved
	Auth                         // the account's credentials were refused
	Conflict                     // another process uses the same account to receive
	Frozen                       // the message exists but can't be edited any more
)

// String returns the kind as it stands in logs.
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

// SendError is how an adapter reports a failed call. It never contains a secret.
type SendError struct {
	Kind       ErrorKind
	RetryAfter time.Duration   // RateLimited: wait this long, counted from the answer
	Scope      Scope           // RateLimited: what is blocked; 0 when the platform does not say
	Ops        Op              // RateLimited: the kinds of calls that are blocked there; 0: all
	Moved      ChatID          // Moved: the chat's new id
	RateLimits []RateLimitInfo // RateLimited: the limits as the refusal reports them; see Receipt
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

// AsSendError returns the SendError in err's chain. Any other error counts as Uncertain: an
// adapter that could not classify must not cause a blind repetition.
func AsSendError(err error) *SendError {
	if se, ok := errors.AsType[*SendError](err); ok {
		return se
	}
	return &SendError{Kind: Uncertain, Err: err}
}
