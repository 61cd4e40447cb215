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

// askModel gets one answer from the turn's model. If an attempt fails after the provider began to work on it, askModel makes
// a second attempt. People still see the text of the failed attempt until the second answer is complete.
func (r *run) askModel(ctx context.Context) (Completion, error) {
	c, err := r.send(ctx, !r.stream)
	if err == nil || ctx.Err() != nil || !worthRepeating(err) || r.isCommitted() {
		return c, err
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the model's answer broke off, asking once more", slog.Any("error", err))
	r.usageWarned = true // the log line above explains why the counted usage is too small
	hold := !r.stream || r.reply.text.Len() > 0
	c, again := r.send(ctx, hold)
	if again != nil {
		return c, fmt.Errorf("ask once more after %q: %w", err.Error(), again)
	}
	return c, nil
}

// worthRepeating reports whether to repeat a failed attempt: the provider had begun to work on it, and a second attempt may
// succeed.
func worthRepeating(err error) bool {
	return workBegan(err) && (isSilence(err) || isKind(err, Broken, Retryable, RateLimited))
}

// answerRestarted is the reason in the Reset event that voids the text of an answer that broke off.
const answerRestarted = "the model's answer starts over"

// beginAnswer prepares for a new answer. If an earlier answer broke off, beginAnswer voids the text of that answer and marks
// its tool calls as failed.
func (r *run) beginAnswer(calls bool) {
	r.answerIndex = len(r.newMessages)
	r.statuses.failUnfinished()
	r.ids.nextAnswer()
	if len(r.client.sentArguments) > 0 && r.reply.text.Len() == 0 {
		r.reply.reset(Reset{Reason: answerRestarted})
	}
	r.reply = r.reply.restart(answerRestarted)
	r.client, r.reply.onCall = clientCalls{}, nil
	if calls {
		r.reply.onCall = r.reportCall
	}
	r.answeringModel = r.model
}

// reportCall emits the state of a tool call while the model is still writing the call. The first event is emitted as soon as
// the tool's name is known. Later events describe the call in more detail, because more of its arguments have arrived.
func (r *run) reportCall(d CallDelta) {
	const maxShown = 4 << 10 // bytes of arguments, which are enough for the description of the call
	if d.ID == "" || d.Name == "" {
		return
	}
	var tool ToolDef
	if at := slices.IndexFunc(r.tools, func(t ToolDef) bool { return t.Name == d.Name }); at >= 0 {
		tool = r.tools[at]
	}
	switch {
	case tool.client:
		r.client.emitNew(r.emit, Call{ID: r.ids.turnID(d.ID), Name: d.Name, Arguments: d.Arguments}, false)
	case len(d.Arguments) <= maxShown:
		r.statuses.set(r.ids.turnID(d.ID), SafeName(d.Name), tool.display(d.Arguments), ToolIdentified)
	}
}

// send asks the model for an answer. The request includes the messages that people wrote since the last request. If the
// provider refuses the request, send changes it and sends it again. If hold is set, send emits nothing until the answer is
// complete.
func (r *run) send(ctx context.Context, hold bool) (Completion, error) {
	return r.retry(ctx, func(ctx context.Context) (Completion, error) {
		for {
			request, err := r.prepare(ctx)
			if err != nil {
				return Completion{}, err
			}
			request = r.withParams(request)
			estimate := request.tokens()
			r.contextTokens = r.model.facts.tokens(estimate)
			begin := sync.OnceFunc(func() { r.beginAnswer(len(request.Tools) > 0) })
			onDelta := func(d Delta) {
				begin()
				r.reply.add(d)
			}
			if hold {
				onDelta = nil
			}
			c, err := r.attempt(ctx, request, estimate, onDelta)
			if err == nil {
				begin()
				r.reply.add(Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
				if c.Usage != nil && c.Usage.Prompt > 0 {
					r.contextTokens = c.Usage.Prompt
				}
				r.learnRefusals(ctx)
				return c, nil
			}
			if !r.adaptRequest(ctx, request, err) {
				return c, err
			}
		}
	})
}

// retry calls try until an attempt succeeds. retry gives up if the provider had begun to work on the failed attempt, or if
// another attempt would be useless.
func (r *run) retry(ctx context.Context, try func(context.Context) (Completion, error)) (Completion, error) {
	for attempt := 1; ; attempt++ {
		c, err := try(ctx)
		if err == nil || ctx.Err() != nil || workBegan(err) {
			return c, err
		}
		wait, again := retryWait(err, attempt, r.maxRetryWait(), rand.Float64())
		if limit := r.opts.Limits.ModelCalls; !again || limit > 0 && r.modelCalls+r.reservedCalls >= limit {
			return c, withAttempts(err, attempt)
		}
		r.log.LogAttrs(ctx, slog.LevelWarn, "model call failed, trying again",
			slog.Int("attempt", attempt), slog.Duration("wait", wait), slog.Any("error", err))
		if err := r.wait(ctx, wait, modelError(err).RetryAfter > 0); err != nil {
			return c, err
		}
	}
}

// maxRetryWait returns the longest Retry-After that the turn obeys. If another model can answer instead, maxRetryWait returns
// a shorter wait.
func (r *run) maxRetryWait() time.Duration {
	if r.modelIndex+1 < len(r.order) {
		return maxRetryAfterInChain
	}
	return maxRetryAfter
}

// wait waits before another attempt. If the provider asked for the wait, the wait does not count against the turn's time
// limit.
func (r *run) wait(ctx context.Context, d time.Duration, providerAsked bool) error {
	if providerAsked {
		r.clock.pause()
		defer r.clock.resume()
	}
	return Sleep(ctx, d)
}

// withAttempts adds the number of attempts to an error. If the provider asked for a wait that exceeds maxRetryAfter,
// withAttempts adds the length of this wait instead.
func withAttempts(err error, attempts int) error {
	if wait := modelError(err).RetryAfter; wait > maxRetryAfter {
		return fmt.Errorf("retry after %v, more than %v: %w", wait, maxRetryAfter, err)
	}
	if attempts > 1 {
		return fmt.Errorf("after %d attempts: %w", attempts, err)
	}
	return err
}
