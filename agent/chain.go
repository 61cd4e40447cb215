package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// restAfter is how many turns in a row a model must fail before it rests.
	restAfter = 2
	firstRest = time.Minute
	maxRest   = 15 * time.Minute
)

// rest says how long a model is not asked, where there is another one. The zero value has never failed.
type rest struct {
	failures int
	until    time.Time
}

// failed returns the rest of a model that failed now: none after the first failure, then a minute, doubled with each
// failure in a row. A model with a wrong key or an empty account rests at once. A provider's Retry-After is obeyed.
func (s rest) failed(now time.Time, err error) rest {
	s.failures++
	wait := time.Duration(0)
	over := s.failures - restAfter
	if isKind(err, Auth, Quota) {
		over = s.failures - 1
	}
	if over >= 0 {
		wait = min(firstRest<<min(over, 10), maxRest)
	}
	if wait = max(wait, min(modelError(err).RetryAfter, maxRest)); wait > 0 {
		s.until = now.Add(wait)
	}
	return s
}

func (s rest) over(now time.Time) bool { return !now.Before(s.until) }

// chained is a model of the chain with what was learned about it.
type chained struct {
	ModelOptions
	learned *learned

	mu   sync.Mutex
	rest rest
}

func (c *chained) rests(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.rest.over(now)
}

// failed counts a failure and returns until when the model rests; zero: it does not.
func (c *chained) failed(now time.Time, err error) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest = c.rest.failed(now, err); c.rest.over(now) {
		return time.Time{}
	}
	return c.rest.until
}

func (c *chained) worked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = rest{}
}

// order returns the models in the order in which a turn asks them: first the named model, or the first of the chain, then the
// others in the order of the chain. Models that rest come last.
func order(models []*chained, name string, now time.Time) []*chained {
	at := max(0, slices.IndexFunc(models, func(m *chained) bool { return m.Model.Name() == name }))
	var awake, resting []*chained
	for _, m := range append([]*chained{models[at]}, slices.Delete(slices.Clone(models), at, at+1)...) {
		if m.rests(now) {
			resting = append(resting, m)
		} else {
			awake = append(awake, m)
		}
	}
	return append(awake, resting...)
}

// ask gets one answer from the first model of the chain that gives one. The turn stays with that one.
func (r *run) ask(ctx context.Context) (Completion, error) {
	var before error // why the model before this one failed
	for {
		c, err := r.askModel(ctx)
		if err == nil {
			r.model.worked()
			return c, nil
		}
		if errors.Is(err, errCallLimit) && before != nil {
			return c, fmt.Errorf("%w, after: %w", err, before)
		}
		if !r.nextModel(ctx, err) {
			return c, err
		}
		before = err
	}
}

// nextModel switches the turn to the next model of the chain after a failure. It reports whether there is one.
func (r *run) nextModel(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, errCallLimit) || isKind(err, Filtered) || r.isCommitted() {
		return false // the turn itself ended, or another model would only get round a filter, or what was told must stand
	}
	next := r.at + 1
	if errors.Is(err, errTooLong) || errors.Is(err, errNoRoom) {
		for next < len(r.order) && !r.order[next].hasLargerWindow(r.model) {
			next++
		}
	} else if !isKind(err, BadRequest, BadImage) { // the request is at fault, not the model
		if until := r.model.failed(time.Now(), err); !until.IsZero() && len(r.order) > 1 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the model keeps failing, asking the others first for a while", slog.Time("until", until))
		}
	}
	if next >= len(r.order) {
		return false
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the model failed, asking the next one",
		slog.String("next", r.order[next].Model.Name()), slog.Any("error", err))
	r.use(next)
	return true
}

// hasLargerWindow reports whether the model can read more than another one.
func (c *chained) hasLargerWindow(than *chained) bool {
	return c.Window == 0 || than.Window > 0 && c.Window-c.MaxOutput > than.Window-than.MaxOutput
}

// use switches the turn to a model of the chain. Refusals of other models don't count for it.
func (r *run) use(at int) {
	r.at, r.model = at, r.order[at]
	name := r.model.Model.Name()
	r.log = r.opts.Log.With(slog.String("turn", r.turn.ID), slog.String("model", name))
	r.meter = r.meterOf(name)
	r.leftOut = nil
	r.refusals, r.refused, r.overflow = 0, 0, nil
}
