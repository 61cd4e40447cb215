package main

import (
	"context"
	"math/rand/v2"
	"os"
	"time"

	"telex/internal/outside"
	"telex/internal/store"
	"telex/standin/fault"
	"telex/standin/telegram"
)

// strike determines when a daemon is killed. The trial calls the function of type strike before it starts the daemon. After the
// start of the daemon, the trial calls the function kill that the strike has returned.
type strike func(t *trial) kill

// kill waits for the situation in which the daemon must be killed, and then kills it. kill returns false if this situation
// can't occur any more.
type kill func(ctx context.Context, l *life) (bool, error)

// strikePatience is how long a strike waits for the situation in which it kills the daemon.
const strikePatience = 20 * time.Second

// atRandom kills the daemon at a random time after its start, at most span later.
func atRandom(random *rand.Rand, span time.Duration) strike {
	after := time.Duration(random.Float64() * float64(span))
	return func(*trial) kill {
		return func(ctx context.Context, l *life) (bool, error) {
			err := outside.Pause(ctx, time.Until(l.Started.Add(after)))
			l.Kill()
			return true, err
		}
	}
}

// atCall kills the daemon around the call that the fault f describes: before the call takes effect, after its effect, or after
// its response. After the effect or the response, atCall waits for the given delay before it kills the daemon. Before the
// effect, atCall kills the daemon without a delay, and the call never takes effect.
func atCall(f telegram.Fault, delay time.Duration) strike {
	return func(t *trial) kill {
		hit := make(chan struct{})
		f.Times = 1
		if f.Action == fault.PauseBefore {
			t.world.Telegram.Fault(f)
			return t.drop
		}
		f.Do = func(telegram.Call) { close(hit); <-t.struck }
		t.struck = make(chan struct{})
		t.world.Telegram.Fault(f)
		return func(ctx context.Context, l *life) (bool, error) {
			defer close(t.struck)
			if ok, err := t.until(ctx, l, hit); !ok {
				return false, err
			}
			err := outside.Pause(ctx, delay)
			l.Kill()
			return true, err
		}
	}
}

// drop waits until the platform's stand-in holds a call, and kills the daemon. Then drop removes the held call, so the call
// never takes effect.
func (t *trial) drop(ctx context.Context, l *life) (bool, error) {
	held, err := await(ctx, strikePatience, l.Exited, func() bool { return len(t.world.Telegram.Paused()) > 0 || t.complete() })
	if err != nil || !held || len(t.world.Telegram.Paused()) == 0 {
		return false, err
	}
	l.Kill()
	t.world.Telegram.Drop(0)
	return true, nil
}

// until waits until the channel hit is closed. until returns false if all questions were answered before hit was closed.
func (t *trial) until(ctx context.Context, l *life, hit <-chan struct{}) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, strikePatience)
	defer cancel()
	for {
		select {
		case <-hit:
			return true, nil
		case <-l.Exited:
			return false, nil
		case <-time.After(50 * time.Millisecond):
			if !t.complete() {
				continue
			}
			select { // the last call may be the one at which hit is closed, so look again
			case <-hit:
				return true, nil
			case <-time.After(200 * time.Millisecond):
				return false, nil
			}
		case <-ctx.Done():
			return false, nil
		}
	}
}

// once waits until the function came returns true. Then once waits for the further time after, and kills the daemon.
func once(after time.Duration, came func(t *trial) bool) strike {
	return func(t *trial) kill {
		return func(ctx context.Context, l *life) (bool, error) {
			hit, err := await(ctx, strikePatience, l.Exited, func() bool { return came(t) })
			if err == nil {
				err = outside.Pause(ctx, after)
			}
			l.Kill()
			return hit, err
		}
	}
}

// whileThinking kills the daemon when the given time has passed since the n-th request to the model.
func whileThinking(n int, after time.Duration) strike {
	return once(after, func(t *trial) bool { return t.world.Model.Stats().Requests >= n })
}

// whileShown kills the daemon when the given time has passed since the first answer became visible.
func whileShown(after time.Duration) strike {
	return once(after, func(t *trial) bool { return len(t.world.standing(t.questions[0].chat)) > 0 })
}

// whileBlocked makes the platform refuse a call with 429. whileBlocked kills the daemon after the given time, while
// the daemon still has to wait.
func whileBlocked(f telegram.Fault, after time.Duration) strike {
	f.Times, f.Action = 1, fault.RateLimit
	refused := func(t *trial) bool { return t.world.Telegram.Stats().Forced > 0 }
	wait := once(after, func(t *trial) bool { return refused(t) || t.complete() })
	return func(t *trial) kill {
		t.world.Telegram.Fault(f)
		return func(ctx context.Context, l *life) (bool, error) {
			hit, err := wait(t)(ctx, l)
			return hit && refused(t), err
		}
	}
}

// whenStored kills the daemon when the given time has passed since the daemon created its store. whenStored polls the
// clock instead of sleeping, because a timer could be late by more than the given time.
func whenStored(after time.Duration) strike {
	return func(*trial) kill {
		return func(ctx context.Context, l *life) (bool, error) {
			file, till := store.File(l.home.state()), l.Started.Add(strikePatience)
			for stored := false; time.Now().Before(till) && ctx.Err() == nil; {
				if _, err := os.Stat(file); err == nil && !stored {
					stored, till = true, time.Now().Add(after)
				}
			}
			l.Kill()
			return true, ctx.Err()
		}
	}
}
