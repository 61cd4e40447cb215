package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// cutError is a stream that ended early, after its first token.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// askModel gets one answer of the turn's model: streamed where the turn wants it and the provider can,
// else whole. A stream that breaks is asked for once more, whole; what it had told stays until
// that answer is there.
func (r *run) askModel(ctx context.Context) (Completion, error) {
	if !r.stream {
		return r.whole(ctx)
	}
	c, err := r.streamed(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return c, err
	case isKind(err, NoStreaming):
		r.uncall() // refused before anything was done
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

// mostCalls is how many calls one answer may hold.
const mostCalls = 256

// errTooMuch ends the stream of an answer that got longer than mostText.
var errTooMuch = errors.New("the answer is longer than any may be")

// streamed asks for a streamed answer and tells it as it comes.
func (r *run) streamed(ctx context.Context) (Completion, error) {
	return r.send(ctx, func(ctx context.Context, request Request) (Completion, error) {
		kept := r.keeping(request)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ctx, watch, stop := watchSilence(ctx, r.opts.Limits.Silence)
		defer stop()
		begun, late, size := false, false, 0
		c, err := r.model.Model.Stream(ctx, request, func(d Delta) {
			if ctx.Err() != nil {
				late = true // a turn that was ended says nothing more
				return
			}
			watch.hear()
			defer watch.listen()
			if !begun && d != (Delta{}) {
				begun = true
				r.begin(kept)
			}
			size += len(d.Text) + len(d.Reasoning) + len(d.Refusal)
			if size > mostText || d.Call != nil && (len(d.Call.Arguments) > mostText || d.Call.Position >= mostCalls) {
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
		case begun && isKind(err, ContextLength): // the answer filled what was left of the window
			return Completion{Finish: FinishLength}, nil
		case begun:
			return c, &cutError{err: err}
		default:
			return c, err
		}
	})
}

// whole asks for a whole answer and tells it at once, in place of what a broken stream told.
func (r *run) whole(ctx context.Context) (Completion, error) {
	kept := false
	c, err := r.send(ctx, func(ctx context.Context, request Request) (Completion, error) {
		kept = r.keeping(request)
		return r.model.Model.Complete(ctx, request)
	})
	if err != nil {
		return c, err
	}
	if len(c.Text) > mostText {
		c.Text, c.Finish = c.Text[:mostText], FinishLength // a character cut in two is mended below
	}
	c.ToolCalls = c.ToolCalls[:min(len(c.ToolCalls), mostCalls)]
	r.begin(kept)
	r.reply.add(Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
	return c, nil
}

// keeping says whether the thinking and the calls of an answer matter.
func (r *run) keeping(request Request) bool { return len(request.Tools) > 0 }

// begin makes place for an answer that has begun to come. What an answer that broke had told before it is
// void, and its calls come to nothing.
func (r *run) begin(calls bool) {
	r.place = len(r.grown)
	r.statuses.abandon()
	r.ids.next()
	r.reply = r.reply.again("the model's answer starts over")
	r.reply.tokens, r.reply.call = &r.meter.tokens, nil
	if calls {
		r.reply.call = r.identify
	}
	r.answered = r.model
}

// identify tells of a call that is being written: as soon as its name is known, and again when more can
// be said about it.
func (r *run) identify(d CallDelta) {
	const mostShown = 4 << 10 // bytes of arguments: what a call is about stands at their beginning
	if d.ID == "" || d.Name == "" || len(d.Arguments) > mostShown {
		return
	}
	name := safeName(d.Name)
	display := ""
	if at := slices.IndexFunc(r.tools, func(t ToolDef) bool { return t.Name == d.Name }); at >= 0 {
		display = r.tools[at].display(d.Arguments)
	}
	r.statuses.set(r.ids.of(d.ID), name, display, ToolIdentified)
}

// asking makes one request to the model.
type asking func(context.Context, Request) (Completion, error)

// send makes one model call for an answer, with what people said meanwhile and in a size and
// shape that the provider takes.
func (r *run) send(ctx context.Context, ask asking) (Completion, error) {
	return r.call(ctx, func(ctx context.Context) (Completion, error) {
		for {
			request, err := r.prepare(ctx)
			if err != nil {
				return Completion{}, err
			}
			estimate := request.tokens()
			r.context = r.model.learned.tokens(estimate)
			c, err := r.try(ctx, request, estimate, ask)
			if err == nil {
				r.learn(ctx, c)
				return c, nil
			}
			again, err := r.concede(ctx, request, err)
			if !again {
				return c, err
			}
		}
	})
}

// learn takes what an answer says about its request.
func (r *run) learn(ctx context.Context, c Completion) {
	if c.Usage != nil && c.Usage.Prompt > 0 {
		r.context = c.Usage.Prompt
	}
	if r.blind && !r.badImage && r.model.learned.learnBlind() {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model takes no images, leaving them out from now on")
	}
	if r.surplus > 0 && !r.crowded {
		r.crowded = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "there are more tools than a model may be offered, the last ones are left out",
			slog.Int("offered", mostTools), slog.Int("left_out", r.surplus))
	}
	if len(r.spoiled) > 0 {
		if names := r.model.learned.learnSpoiled(r.spoiled); len(names) > 0 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the provider refuses tools for what they are, leaving them out from now on", slog.Any("tools", names))
		}
	}
	if r.toolless && r.model.learned.learnToolless() {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model takes no tools, leaving them out from now on")
	}
}

// try makes one request, of so many tokens by estimate, and learns from what the provider
// counted. Where it counted nothing, the estimate goes to what was used.
func (r *run) try(ctx context.Context, request Request, estimate int, ask asking) (Completion, error) {
	before := r.meter.tokens.Tokens()
	c, err := ask(ctx, request)
	_, cut := errors.AsType[*cutError](err)
	switch {
	case err == nil && c.Usage != nil:
		r.model.learned.accepted(request, estimate, c.Usage.Prompt)
	case err == nil:
		r.model.learned.accepted(request, estimate, 0)
		r.meter.guess(r.model.learned.tokens(estimate), before, c)
	case cut, ctx.Err() != nil, isKind(err, Broken), errors.Is(err, errSilence): // it was at work
		r.meter.guess(r.model.learned.tokens(estimate), before, c)
	}
	return c, err
}

// call makes one model call within the turn's limit of them, tries it again while it fails
// before its first token, and adds up what it used.
func (r *run) call(ctx context.Context, try func(context.Context) (Completion, error)) (Completion, error) {
	if limit := r.opts.Limits.ModelCalls; limit > 0 && r.calls >= limit {
		return Completion{}, fmt.Errorf("%w (%d)", errCallLimit, limit)
	}
	r.calls++
	r.meter.calls++
	for attempt := 1; ; attempt++ {
		c, err := try(ctx)
		if err == nil {
			r.count(ctx, c.Usage)
			return c, nil
		}
		if _, cut := errors.AsType[*cutError](err); cut || ctx.Err() != nil {
			return c, err
		}
		wait, again := retryWait(err, attempt, r.patience(), rand.Float64())
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

// uncall takes back a call that came to nothing.
func (r *run) uncall() {
	r.calls--
	r.meter.calls--
}

// patience is the longest wait that a provider may ask for.
func (r *run) patience() time.Duration {
	if r.at+1 < len(r.order) {
		return maxRetryAfterInChain
	}
	return maxRetryAfter
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
		r.meter.usage = r.meter.usage.Add(*u)
		r.meter.told = r.meter.tokens.Tokens()
		return
	}
	if !r.warned {
		r.warned = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model told no usage, counting 0 tokens")
	}
}
