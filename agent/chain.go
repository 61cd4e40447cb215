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
	// cooldownAfter is the number of failures in a row after which a model gets a cooldown.
	cooldownAfter = 2
	firstCooldown = time.Minute
	maxCooldown   = 15 * time.Minute
)

// cooldown is a period after repeated failures of a model. During its cooldown, a model is asked only if all other models fail.
// The zero value means that the model has not failed.
type cooldown struct {
	failures int
	until    time.Time
}

// afterFailure returns the cooldown after one more failure in a row. The first failure causes no cooldown, the second one
// causes a cooldown of a minute, and each further failure doubles the cooldown, up to maxCooldown. If the API key is wrong or
// the account has no money, the first failure already causes a cooldown. A cooldown lasts at least as long as the provider's
// Retry-After.
func (s cooldown) afterFailure(now time.Time, err error) cooldown {
	s.failures++
	wait := time.Duration(0)
	over := s.failures - cooldownAfter
	if isKind(err, Auth, Quota) {
		over = s.failures - 1
	}
	if over >= 0 {
		wait = min(firstCooldown<<min(over, 10), maxCooldown)
	}
	if wait = max(wait, min(modelError(err).RetryAfter, maxCooldown)); wait > 0 {
		s.until = now.Add(wait)
	}
	return s
}

func (s cooldown) over(now time.Time) bool { return !now.Before(s.until) }

// chainModel is one of the agent's models, which together form the chain. chainModel also contains the model's cooldown and
// the facts known about the model.
type chainModel struct {
	ModelOptions
	facts *modelFacts

	mu       sync.Mutex
	cooldown cooldown
}

func (c *chainModel) coolingDown(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.cooldown.over(now)
}

// recordFailure counts a failure of the model, and returns when the model's cooldown ends. The zero time means that the model
// has no cooldown.
func (c *chainModel) recordFailure(now time.Time, err error) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cooldown = c.cooldown.afterFailure(now, err); c.cooldown.over(now) {
		return time.Time{}
	}
	return c.cooldown.until
}

func (c *chainModel) recordSuccess() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cooldown = cooldown{}
}

// order returns the models in the order in which a turn asks them. The first model is the one with the given name, or the first
// model of the chain if no model has this name. The other models follow in the order of the chain. Models with a cooldown come
// last.
func order(models []*chainModel, name string, now time.Time) []*chainModel {
	at := max(0, slices.IndexFunc(models, func(m *chainModel) bool { return m.Model.Name() == name }))
	var ready, coolingDown []*chainModel
	for _, m := range append([]*chainModel{models[at]}, slices.Delete(slices.Clone(models), at, at+1)...) {
		if m.coolingDown(now) {
			coolingDown = append(coolingDown, m)
		} else {
			ready = append(ready, m)
		}
	}
	return append(ready, coolingDown...)
}

// ask asks one model of the chain after the other, until a model has answered. The turn's later requests go to the model that
// has answered.
func (r *run) ask(ctx context.Context) (Completion, error) {
	var previous error // why the model before this one failed
	for {
		c, err := r.askModel(ctx)
		if err == nil {
			r.model.recordSuccess()
			return c, nil
		}
		if errors.Is(err, errCallLimit) && previous != nil {
			return c, fmt.Errorf("%w, after: %w", err, previous)
		}
		if !r.nextModel(ctx, err) {
			return c, err
		}
		previous = err
	}
}

// nextModel switches the turn to the next model of the chain after a failure. nextModel returns false if no other model may
// be asked.
func (r *run) nextModel(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, errCallLimit) || isKind(err, Filtered) || r.isCommitted() {
		// After Filtered, another model would only circumvent the provider's filter. A committed text can't be replaced by
		// the text of another model.
		return false
	}
	next := r.modelIndex + 1
	if errors.Is(err, errTooLong) || errors.Is(err, errNoRoom) {
		for next < len(r.order) && !r.order[next].hasLargerWindow(r.model) {
			next++
		}
	} else if !isKind(err, BadRequest, BadImage) { // these two are mistakes in the request, not failures of the model
		if until := r.model.recordFailure(time.Now(), err); !until.IsZero() && len(r.order) > 1 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the model keeps failing, asking the others first for a while", slog.Time("until", until))
		}
	}
	if next >= len(r.order) {
		return false
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the model failed, asking the next one",
		slog.String("next", r.order[next].Model.Name()), slog.Any("error", err))
	r.switchModel(next)
	return true
}

// hasLargerWindow reports whether the model accepts longer requests than another one.
func (c *chainModel) hasLargerWindow(than *chainModel) bool {
	return c.Window == 0 || than.Window > 0 && c.Window-c.MaxOutput > than.Window-than.MaxOutput
}

// switchModel switches the turn to a model of the chain. Requests to the new model again contain the parts that the previous
// model refused.
func (r *run) switchModel(at int) {
	r.modelIndex, r.model = at, r.order[at]
	name := r.model.Model.Name()
	r.log = r.opts.Log.With(slog.String("turn", r.turn.ID), slog.String("model", name))
	r.meter = r.meterOf(name)
	r.leftOut = nil
	r.lengthRefusals, r.refusedSize, r.lengthError = 0, 0, nil
}
