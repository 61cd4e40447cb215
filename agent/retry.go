package agent

import (
	"time"
)

const (
	// maxAttempts is the maximum number of attempts to send a request, if each attempt fails before the first token of the
	// answer.
	maxAttempts = 4
	firstWait   = 500 * time.Millisecond
	maxBackoff  = 8 * time.Second
	// maxRetryAfter is the longest Retry-After that telex obeys. OpenAI's own clients ignore a longer Retry-After, too
	// (https://github.com/openai/openai-python, _base_client.py). If the provider asks for a longer wait, people get an error, or
	// an answer of the next model.
	maxRetryAfter = 60 * time.Second
	// maxRetryAfterInChain is the longest Retry-After that telex obeys if another model can be asked instead.
	maxRetryAfterInChain = 10 * time.Second
)

// retryWait decides whether to retry a call that failed before its first token, and how long to wait first. attempt is the
// number of attempts so far. retryWait returns false if the provider asks for a wait longer than maxWait. jitter is a random
// number in [0, 1), so that callers that failed at the same time do not retry at the same time. retryWait shortens a backoff
// by up to a quarter, or lengthens the provider's Retry-After by up to a tenth.
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
