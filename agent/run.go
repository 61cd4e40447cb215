package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// run is one turn under way.
type run struct {
	opts    Options
	model   ModelOptions
	log     *slog.Logger
	clock   *turnClock
	emit    func(Event)
	request Request
	stream  bool

	reply  *reply
	tokens TokenCounter // of all answers, the broken ones too
	usage  Usage
	calls  int
	warned bool // that usage is missing
}

func newRun(a *Agent, t Turn, clock *turnClock, emit func(Event)) *run {
	model := a.model(t.Model)
	r := &run{
		opts:    a.opts,
		model:   model,
		log:     a.opts.Log.With(slog.String("turn", t.ID), slog.String("model", model.Model.Name())),
		clock:   clock,
		emit:    emit,
		request: Request{System: t.System, Messages: t.Messages},
		stream:  t.Stream,
	}
	if r.request.System == "" {
		r.request.System = a.opts.System
	}
	r.reply = newReply(a.opts.ThinkTags, &r.tokens, emit)
	return r
}

// cutError is a stream that ended early, after its first token.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// ask gets one answer: streamed where the turn wants it and the provider can, else whole. A
// stream that breaks is asked for once more, whole; what it had told stays until that answer
// is there.
func (r *run) ask(ctx context.Context) (Completion, error) {
	if !r.stream {
		return r.whole(ctx)
	}
	c, err := r.streamed(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return c, err
	case isKind(err, NoStreaming):
		r.calls-- // refused before anything was done
		return r.whole(ctx)
	case canAskAgain(err):
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model's stream broke, asking again without streaming", slog.Any("error", err))
		r.warned = true // that says why the usage is too small
		c, again := r.whole(ctx)
		if again != nil {
			return c, fmt.Errorf("ask again after a broken stream: %w", again)
		}
		return c, nil
	default:
		return c, err
	}
}

// canAskAgain says whether a failed stream is worth one call without streaming: it was cut
// after its first token, or broke each time before it.
func canAskAgain(err error) bool {
	if _, cut := errors.AsType[*cutError](err); cut {
		return isKind(err, Broken) || isKind(err, Retryable) || isKind(err, RateLimited)
	}
	return isKind(err, Broken)
}

// mostText is how long an answer may get, in bytes: several times what any model can write. A
// provider that never stops must not fill the memory.
const mostText = 2 << 20

// errTooMuch ends the stream of an answer that got longer than mostText.
var errTooMuch = errors.New("the answer is longer than any may be")

// streamed asks for a streamed answer and tells it as it comes.
func (r *run) streamed(ctx context.Context) (Completion, error) {
	return r.call(ctx, func(ctx context.Context) (Completion, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ctx, watch, stop := watchSilence(ctx, r.opts.Limits.Silence)
		defer stop()
		begun, late, size := false, false, 0
		c, err := r.model.Model.Stream(ctx, r.request, func(d Delta) {
			if ctx.Err() != nil {
				late = true // a turn that was ended says nothing more
				return
			}
			watch.hear()
			defer watch.listen()
			begun = begun || d != Delta{}
			if size += len(d.Text) + len(d.Reasoning) + len(d.Refusal); size > mostText {
				cancel(errTooMuch)
				return
			}
			r.reply.add(d)
		})
		switch {
		case errors.Is(context.Cause(ctx), errTooMuch):
			return Completion{Finish: FinishLength}, nil
		case err == nil && !late:
			return c, nil
		case err == nil:
			return c, context.Cause(ctx)
		case errors.Is(context.Cause(ctx), errSilence):
			return c, fmt.Errorf("%w (%v)", errSilence, r.opts.Limits.Silence)
		case begun:
			return c, &cutError{err: err}
		default:
			return c, err
		}
	})
}

// whole asks for a whole answer and tells it at once, in place of what a broken stream told.
func (r *run) whole(ctx context.Context) (Completion, error) {
	c, err := r.call(ctx, func(ctx context.Context) (Completion, error) {
		return r.model.Model.Complete(ctx, r.request)
	})
	if err != nil {
		return c, err
	}
	if r.reply.text.Len() > 0 {
		r.emit(Reset{Reason: "the model's stream broke"})
	}
	if len(c.Text) > mostText {
		c.Text, c.Finish = c.Text[:mostText], FinishLength // a character cut in two is mended below
	}
	r.reply = newReply(r.opts.ThinkTags, &r.tokens, r.emit)
	r.reply.add(Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
	return c, nil
}

// call makes one model call within the turn's limit of them, tries it again while it fails
// before its first token, and adds up what it used.
func (r *run) call(ctx context.Context, try func(context.Context) (Completion, error)) (Completion, error) {
	if limit := r.opts.Limits.ModelCalls; limit > 0 && r.calls >= limit {
		return Completion{}, fmt.Errorf("%w (%d)", errCallLimit, limit)
	}
	r.calls++
	for attempt := 1; ; attempt++ {
		c, err := try(ctx)
		if err == nil {
			r.count(ctx, c.Usage)
			return c, nil
		}
		if _, cut := errors.AsType[*cutError](err); cut || ctx.Err() != nil {
			return c, err
		}
		wait, again := retryWait(err, attempt, rand.Float64())
		if !again {
			return c, attempted(err, attempt)
		}
		r.log.LogAttrs(ctx, slog.LevelWarn, "model call failed, trying again",
			slog.Int("attempt", attempt), slog.Duration("wait", wait), slog.Any("error", err))
		if err := r.wait(ctx, wait, toldToWait(err)); err != nil {
			return c, err
		}
	}
}

// wait waits before another attempt. The turn's clock stands still for a wait that the
// provider asked for.
func (r *run) wait(ctx context.Context, d time.Duration, told bool) error {
	if told {
		r.clock.pause()
		defer r.clock.resume()
	}
	return sleep(ctx, d)
}

func toldToWait(err error) bool {
	me, ok := errors.AsType[*ModelError](err)
	return ok && me.RetryAfter > 0
}

// attempted says in an error how often the call was tried, and that a wait was too long.
func attempted(err error, attempts int) error {
	if me, ok := errors.AsType[*ModelError](err); ok && me.RetryAfter > maxRetryAfter {
		return fmt.Errorf("told to wait %v, more than %v: %w", me.RetryAfter, maxRetryAfter, err)
	}
	if attempts > 1 {
		return fmt.Errorf("after %d attempts: %w", attempts, err)
	}
	return err
}

func (r *run) count(ctx context.Context, u *Usage) {
	if u != nil {
		r.usage = r.usage.Add(*u)
		return
	}
	if !r.warned {
		r.warned = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model told no usage, counting 0 tokens")
	}
}
