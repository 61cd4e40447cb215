package agent

import (
	"time"
)

const (
	// maxAttempts is how often one model call is tried before its first token.
	maxAttempts = 4
	firstWait   = 500 * time.Millisecond
	maxBackoff  = 8 * time.Second
	// maxRetryAfter is the longest wait that a provider may ask for: OpenAI's own clients
	// ignore longer ones (https://github.com/openai/openai-python, _base_client.py). A person
	// who waits for an answer is better served by an error, or by the next model.
	maxRetryAfter = 60 * time.Second
	// maxRetryAfterInChain is the longest such wait if there is a next model to ask.
	maxRetryAfterInChain = 10 * time.Second
)

// retryWait decides whether to retry a call that failed before its first token, and how long to wait first. attempt is
// the number of attempts so far. It does not retry if the provider asks for more than maxWait. jitter is in [0, 1) and
// spreads callers that failed together. It shortens a backoff by up to a quarter, or lengthens the provider's
// Retry-After by up to a tenth.
func retryWait(err error, attempt int, maxWait time.Duration, jitter float64) (time.Duration, bool) {
	me := modelError(err)
	switch {
	case attempt >= maxAttempts, !isKind(err, Retryable, RateLimited, Broken), me.NoRetry, me.RetryAfter > maxWait:
		return 0, false
	case me.RetryAfter > 0:
		return me.RetryAfter + time.Duration(jitter*0.1*float64(me.RetryAfter)), true
	}
	wait := min(firstWait<<(attempt-1), maxBackoff)
	return wait - time.Duration(jitter*0.25*float64(wait)), true
}
