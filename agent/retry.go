package agent

import (
	"time"
)

const (
	// maxAttempts is how often one model call is tried before its first token came.
	maxAttempts = 4
	firstWait   = 500 * time.Millisecond
	maxBackoff  = 8 * time.Second
	// maxRetryAfter is the longest wait that a provider may ask for: OpenAI's own clients
	// ignore longer ones (https://github.com/openai/openai-python, _base_client.py). A person
	// who waits for an answer is better served by an error, or by the next model.
	maxRetryAfter = 60 * time.Second
	// maxRetryAfterInChain is the same where there is a next model to ask.
	maxRetryAfterInChain = 10 * time.Second
)

// retryWait decides whether a call that failed before its first token is tried again after
// attempt tries, and how long to wait before; longest is how long a provider may ask for. jitter is in [0, 1) and spreads callers that
// failed together: a wait is shortened by up to a quarter, but never below what the provider
// asked for; that one is lengthened by up to a tenth.
func retryWait(err error, attempt int, longest time.Duration, jitter float64) (time.Duration, bool) {
	me := modelError(err)
	switch {
	case attempt >= maxAttempts, !isKind(err, Retryable, RateLimited, Broken), me.NoRetry, me.RetryAfter > longest:
		return 0, false
	case me.RetryAfter > 0:
		return me.RetryAfter + time.Duration(jitter*0.1*float64(me.RetryAfter)), true
	}
	wait := min(firstWait<<(attempt-1), maxBackoff)
	return wait - time.Duration(jitter*0.25*float64(wait)), true
}
