package receiving

import (
	"context"
	"time"

	"telex/internal/chat"
)

// Sleep waits for d or until ctx ends, and returns ctx's error. Only receiving may wait: calls that the gateway makes never do.
func Sleep(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
	return ctx.Err()
}

// IsTransient reports whether the failure of a call that may be repeated without harm may be over later.
func IsTransient(err error) bool {
	switch chat.AsSendError(err).Kind {
	case chat.RateLimited, chat.Temporary, chat.Uncertain:
		return true
	}
	return false
}

// Retry makes a call until it succeeds or fails for good, at most so many times. Between two tries it waits as long as a rate
// limit asks, else for first, then twice as long, and so on. It returns the error of the last try, or ctx's once ctx has ended.
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
