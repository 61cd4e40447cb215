package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// run is one turn under way.
type run struct {
	opts   Options
	model  chained
	log    *slog.Logger
	clock  *turnClock
	emit   func(Event)
	stream bool

	// What is asked.
	system   string
	messages []Message // the turn's, and what came in addition
	question int       // index of the first message that no summary may stand for
	more     func(context.Context) []Message
	summary  string    // of the first done messages and of what came before them
	done     int       // at most question
	blind    bool      // no images are sent
	badImage bool      // that is for the images themselves, not for the model
	squeezed squeeze   // what refusals for length came to
	refused  int       // estimated tokens of the last request that was refused for its length
	grown    []Message // what people said meanwhile
	place    int       // of the model's text in grown

	reply   *reply
	tokens  TokenCounter // of all answers, the broken ones too
	told    int          // of tokens, at the last usage
	untold  int          // tokens of prompts without usage, by estimate
	context int          // tokens of the last request for an answer
	usage   Usage
	calls   int
	warned  bool // that usage is missing
}

func newRun(a *Agent, t Turn, clock *turnClock, emit func(Event)) *run {
	model := a.model(t.Model)
	r := &run{
		opts:     a.opts,
		model:    model,
		log:      a.opts.Log.With(slog.String("turn", t.ID), slog.String("model", model.Model.Name())),
		clock:    clock,
		emit:     emit,
		stream:   t.Stream,
		system:   cmp.Or(t.System, a.opts.System),
		messages: slices.Clip(t.Messages), // the caller's: never written to
		question: max(0, len(t.Messages)-1),
		more:     t.More,
		summary:  t.Summary,
		blind:    model.learned.takesNoImages(),
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
	return r.send(ctx, func(ctx context.Context, request Request) (Completion, error) {
		r.place = len(r.grown)
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
	c, err := r.send(ctx, r.model.Model.Complete)
	if err != nil {
		return c, err
	}
	r.place = len(r.grown)
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
				r.answered(ctx, c)
				return c, nil
			}
			again, err := r.concede(ctx, request, err)
			if !again {
				return c, err
			}
		}
	})
}

// answered takes what an answer says about its request.
func (r *run) answered(ctx context.Context, c Completion) {
	if c.Usage != nil && c.Usage.Prompt > 0 {
		r.context = c.Usage.Prompt
	}
	if r.blind && !r.badImage && r.model.learned.learnBlind() {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model takes no images, leaving them out from now on")
	}
}

// try makes one request, of so many tokens by estimate, and learns from what the provider
// counted. Where it counted nothing, the estimate goes to what was used.
func (r *run) try(ctx context.Context, request Request, estimate int, ask asking) (Completion, error) {
	c, err := ask(ctx, request)
	_, cut := errors.AsType[*cutError](err)
	switch {
	case err == nil && c.Usage != nil:
		r.model.learned.accepted(request, estimate, c.Usage.Prompt)
	case err == nil:
		r.model.learned.accepted(request, estimate, 0)
		r.untold += r.model.learned.tokens(estimate)
	case cut, ctx.Err() != nil, isKind(err, Broken), errors.Is(err, errSilence): // it was at work
		r.untold += r.model.learned.tokens(estimate)
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
		r.told = r.tokens.Tokens()
		return
	}
	if !r.warned {
		r.warned = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model told no usage, counting 0 tokens")
	}
}
