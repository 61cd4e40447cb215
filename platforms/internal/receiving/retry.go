package receiving

import (
	"context"
	"time"

	"telex/internal/chat"
)

// Sleep waits for d or until ctx ends, and returns ctx's error. Only code that receives messages may call Sleep,
// because the calls that the gateway makes must not wait in an adapter.
func Sleep(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
	return ctx.Err()
}

// probeEvery is the time between two calls that Probe makes.
const probeEvery = 30 * time.Second

// Probe calls the function call every half minute, and after each success calls the function works. Probe ends with the
// first call that fails, and returns the error of this call. While another process receives a bot's messages, a process
// uses Probe to find out whether it can reach the platform.
func Probe(ctx context.Context, call func(context.Context) error, works func()) error {
	for {
		if err := call(ctx); err != nil {
			return err
		}
		works()
		if err := Sleep(ctx, probeEvery); err != nil {
			return err
		}
	}
}

// IsTransient reports whether a failed call may succeed later. IsTransient does not check whether repeating the call is
// safe; the caller must know this.
func IsTransient(err error) bool {
	switch chat.AsSendError(err).Kind {
	case chat.RateLimited, chat.Temporary, chat.Uncertain:
		return true
	}
	return false
}

// Retry calls the function call until the call succeeds or fails permanently, but at most tries times. After a rate
// limit, Retry waits as long as the platform asks. After any other error, Retry waits for a pause, which is the
// duration first after the first attempt and doubles with each further attempt. Retry returns the error of the last
// attempt, or ctx's error if ctx has ended.
func Retry(ctx context.Context, tries int, first time.Duration, call func() error) error {
	for n := range tries {
		err := call()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case n == tries-1, !IsTransient(err):
			return err
		}
		pause := first << n
		if e := chat.AsSendError(err); e.Kind == chat.RateLimited {
			pause = e.RetryAfter
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}
