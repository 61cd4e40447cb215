package agent

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// askModel gets one answer of the turn's model. If an attempt fails after the provider began to work, it is made once
// more. The text of the failed attempt stays until the second answer is complete.
func (r *run) askModel(ctx context.Context) (Completion, error) {
	c, err := r.send(ctx, !r.stream)
	if err == nil || ctx.Err() != nil || !worthRepeating(err) || r.isCommitted() {
		return c, err
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the model's answer did not come to its end, asking once more", slog.Any("error", err))
	r.warned = true // that says why the usage is too small
	hold := !r.stream || r.reply.text.Len() > 0
	c, again := r.send(ctx, hold)
	if again != nil {
		return c, fmt.Errorf("ask once more after %q: %w", err.Error(), again)
	}
	return c, nil
}

// worthRepeating reports whether an attempt on which the provider was at work may succeed when it is made once more.
func worthRepeating(err error) bool {
	return workBegan(err) && (isSilence(err) || isKind(err, Broken, Retryable, RateLimited))
}

// restarted is the reason of a Reset after an answer that broke.
const restarted = "the model's answer starts over"

// begin prepares for a new answer. The text of a broken answer before it becomes void, and its calls have failed.
func (r *run) begin(calls bool) {
	r.place = len(r.grown)
	r.statuses.abandon()
	r.ids.next()
	if len(r.client.told) > 0 && r.reply.text.Len() == 0 {
		r.reply.reset(Reset{Reason: restarted})
	}
	r.reply = r.reply.again(restarted)
	r.client, r.reply.call = clientCalls{}, nil
	if calls {
		r.reply.call = r.identify
	}
	r.answered = r.model
}

// identify reports a call that is being written: as soon as its name is known, and again with each better description.
func (r *run) identify(d CallDelta) {
	const maxShown = 4 << 10 // bytes of arguments: what a call is about stands at their beginning
	if d.ID == "" || d.Name == "" {
		return
	}
	var tool ToolDef
	if at := slices.IndexFunc(r.tools, func(t ToolDef) bool { return t.Name == d.Name }); at >= 0 {
		tool = r.tools[at]
	}
	switch {
	case tool.client:
		r.client.tell(r.emit, Call{ID: r.ids.of(d.ID), Name: d.Name, Arguments: d.Arguments}, false)
	case len(d.Arguments) <= maxShown:
		r.statuses.set(r.ids.of(d.ID), SafeName(d.Name), tool.display(d.Arguments), ToolIdentified)
	}
}

// send asks the model for an answer. The request includes the messages that arrived meanwhile, and it has a size and shape
// that the provider accepts. With hold, nothing is emitted before the answer is complete.
func (r *run) send(ctx context.Context, hold bool) (Completion, error) {
	return r.retry(ctx, func(ctx context.Context) (Completion, error) {
		for {
			request, err := r.prepare(ctx)
			if err != nil {
				return Completion{}, err
			}
			request = r.withParams(request)
			estimate := request.tokens()
			r.context = r.model.learned.tokens(estimate)
			begin := sync.OnceFunc(func() { r.begin(len(request.Tools) > 0) })
			tell := func(d Delta) {
				begin()
				r.reply.add(d)
			}
			if hold {
				tell = nil
			}
			c, err := r.attempt(ctx, request, estimate, tell)
			if err == nil {
				begin()
				r.reply.add(Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
				if c.Usage != nil && c.Usage.Prompt > 0 {
					r.context = c.Usage.Prompt
				}
				r.learnRefusals(ctx)
				return c, nil
			}
			if !r.concede(ctx, request, err) {
				return c, err
			}
		}
	})
}

// retry makes attempts until one succeeds, the provider has begun to work on one, or a retry is useless.
func (r *run) retry(ctx context.Context, try func(context.Context) (Completion, error)) (Completion, error) {
	for attempt := 1; ; attempt++ {
		c, err := try(ctx)
		if err == nil || ctx.Err() != nil || workBegan(err) {
			return c, err
		}
		wait, again := retryWait(err, attempt, r.patience(), rand.Float64())
		if limit := r.opts.Limits.ModelCalls; !again || limit > 0 && r.calls+r.reserved >= limit {
			return c, attempted(err, attempt)
		}
		r.log.LogAttrs(ctx, slog.LevelWarn, "model call failed, trying again",
			slog.Int("attempt", attempt), slog.Duration("wait", wait), slog.Any("error", err))
		if err := r.wait(ctx, wait, modelError(err).RetryAfter > 0); err != nil {
			return c, err
		}
	}
}

// patience is the longest wait that a provider may ask for.
func (r *run) patience() time.Duration {
	if r.at+1 < len(r.order) {
		return maxRetryAfterInChain
	}
	return maxRetryAfter
}

// wait waits before another attempt. The turn's clock is paused if the provider asked for the wait.
func (r *run) wait(ctx context.Context, d time.Duration, told bool) error {
	if told {
		r.clock.pause()
		defer r.clock.resume()
	}
	return Sleep(ctx, d)
}

// attempted adds to an error the number of attempts, or that the provider asked for too long a wait.
func attempted(err error, attempts int) error {
	if wait := modelError(err).RetryAfter; wait > maxRetryAfter {
		return fmt.Errorf("told to wait %v, more than %v: %w", wait, maxRetryAfter, err)
	}
	if attempts > 1 {
		return fmt.Errorf("after %d attempts: %w", attempts, err)
	}
	return err
}
