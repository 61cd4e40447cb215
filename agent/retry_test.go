package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestRetryWait(t *testing.T) {
	t.Parallel()
	plain := errors.New("x")
	for _, tt := range []struct {
		name    string
		err     error
		attempt int
		jitter  float64
		want    time.Duration
		again   bool
	}{
		{"first", &ModelError{Kind: Retryable}, 1, 0, 500 * time.Millisecond, true},
		{"grows", &ModelError{Kind: Retryable}, 3, 0, 2 * time.Second, true},
		{"jitter shortens", &ModelError{Kind: Retryable}, 3, 0.5, 1750 * time.Millisecond, true},
		{"wrapped", fmt.Errorf("y: %w", &ModelError{Kind: Broken, Err: plain}), 1, 0, 500 * time.Millisecond, true},
		{"told", &ModelError{Kind: RateLimited, RetryAfter: 7 * time.Second}, 1, 0, 7 * time.Second, true},
		{"told, jitter lengthens", &ModelError{Kind: RateLimited, RetryAfter: 10 * time.Second}, 1, 0.5, 10*time.Second + 500*time.Millisecond, true},
		{"told the longest", &ModelError{Kind: RateLimited, RetryAfter: time.Minute}, 1, 0, time.Minute, true},
		{"told too long", &ModelError{Kind: RateLimited, RetryAfter: 61 * time.Second}, 1, 0, 0, false},
		{"told not to", &ModelError{Kind: Retryable, NoRetry: true}, 1, 0, 0, false},
		{"fourth", &ModelError{Kind: Retryable}, 4, 0, 0, false},
		{"quota", &ModelError{Kind: Quota}, 1, 0, 0, false},
		{"auth", &ModelError{Kind: Auth}, 1, 0, 0, false},
		{"bad request", &ModelError{Kind: BadRequest}, 1, 0, 0, false},
		{"context length", &ModelError{Kind: ContextLength}, 1, 0, 0, false},
		{"not a model's", plain, 1, 0, 0, false},
	} {
		got, again := retryWait(tt.err, tt.attempt, maxRetryAfter, tt.jitter)
		if got != tt.want || again != tt.again {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, got, again, tt.want, tt.again)
		}
	}
}
