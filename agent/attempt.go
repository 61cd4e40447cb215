package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
)

const (
	// maxText is the longest answer in bytes, several times what any model can write. A provider that never stops must
	// not fill the memory.
	maxText = 2 << 20
	// maxCalls is how many calls one answer may hold.
	maxCalls = 256
)

// errTooMuch ends the stream of an answer that got longer than maxText.
var errTooMuch = errors.New("the answer is too long")

// cutError is an answer that broke off after its first token.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

func isCut(err error) bool {
	_, cut := errors.AsType[*cutError](err)
	return cut
}

// isSilence reports whether a model exceeded one of the limits on its silence.
func isSilence(err error) bool { return errors.Is(err, errSilence) || errors.Is(err, errFirstToken) }

// reached reports whether a failed attempt got as far as the provider.
func reached(err error) bool { return !modelError(err).NotSent }

// workBegan reports whether the provider was at work, as far as anybody can know, when an attempt failed. Each such
// attempt may cost what a whole answer costs.
func workBegan(err error) bool {
	if isCut(err) || isSilence(err) {
		return true
	}
	switch me := modelError(err); {
	case me.NotSent:
		return false
	case me.Status == http.StatusGatewayTimeout, me.Status == 524: // the gateway gave up waiting; 524 is Cloudflare's
		return true
	default: // without a status the connection was lost before the answer's head came
		return me.Kind == Broken || me.Kind == Retryable && me.Status == 0
	}
}

// attempt sends one request and passes each piece of the answer to tell. Without tell, the Completion has the whole answer. It
// counts the attempt and its usage.
func (r *run) attempt(ctx context.Context, request Request, estimate int, tell func(Delta)) (Completion, error) {
	if limit := r.opts.Limits.ModelCalls; limit > 0 && r.calls+r.reserved >= limit {
		return Completion{}, fmt.Errorf("%w (%d)", errCallLimit, limit)
	}
	r.saveSpent(ctx)
	r.calls++
	r.meter.Calls++
	before, began := r.meter.tokens.Tokens(), false
	var held struct{ text, reasoning, refusal strings.Builder }
	c, err := r.askStream(ctx, request, func(d Delta) {
		began = true
		for _, text := range []string{d.Text, d.Reasoning, d.Refusal} {
			r.meter.tokens.Add(text)
		}
		if tell != nil {
			tell(d)
			return
		}
		held.text.WriteString(d.Text)
		held.reasoning.WriteString(d.Reasoning)
		held.refusal.WriteString(d.Refusal)
	})
	c.Text, c.Reasoning, c.Refusal = held.text.String(), held.reasoning.String(), held.refusal.String()
	failed := modelError(err)
	used, refused := cmp.Or(c.Usage, failed.Usage), max(c.Refused, failed.Refused)
	r.calls += refused
	r.meter.Calls += refused
	if err != nil && began {
		err = &cutError{err: err}
	}
	switch {
	case used != nil:
		r.meter.count(*used)
	case err == nil, workBegan(err), ctx.Err() != nil && reached(err):
		r.meter.guess(r.model.learned.tokens(estimate), r.meter.tokens.Tokens()-before)
	case !reached(err):
		r.calls--
		r.meter.Calls--
		r.unsaved = r.unsaved || refused > 0
		return c, err
	}
	r.unsaved = true
	if err != nil {
		return c, err
	}
	r.learnUsage(ctx, request, estimate, used)
	return c, nil
}

// learnUsage compares the estimate of a request with the provider's count; nil: it reported none.
func (r *run) learnUsage(ctx context.Context, request Request, estimate int, used *Usage) {
	if used != nil {
		r.model.learned.accepted(request, estimate, used.Prompt)
		return
	}
	r.model.learned.accepted(request, estimate, 0)
	if !r.warned {
		r.warned = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model reported no usage, counting 0 tokens")
	}
}

// askStream asks the turn's model for an answer, within the limits on silence, and hands tell each piece of it, which the
// Completion then lacks.
func (r *run) askStream(ctx context.Context, request Request, tell func(Delta)) (Completion, error) {
	limits := r.opts.Limits
	late, silent := fmt.Errorf("%w (limits.first_token: %v)", errFirstToken, limits.FirstToken), fmt.Errorf("%w (limits.silence: %v)", errSilence, limits.Silence)
	ctx, watch, stop := startClock(ctx, limits.FirstToken, late)
	defer stop()
	began, ended, size := false, false, 0
	var newest CallDelta
	take := func(d Delta) {
		if ctx.Err() != nil {
			ended = true // a turn that was ended says nothing more
			return
		}
		if d.Whole {
			watch.pause()
			return
		}
		if d == (Delta{}) || d.Call != nil && *d.Call == newest {
			return // no progress: the provider is alive, and the model silent
		}
		if d.Call != nil {
			newest = *d.Call
		}
		watch.pause() // a slow reader of events is not the model's silence
		defer watch.restart(limits.Silence, silent)
		d.Text = d.Text[:min(len(d.Text), maxText-size)] // a character cut in two is mended later
		size += len(d.Text) + len(d.Reasoning) + len(d.Refusal)
		if size > maxText || d.Call != nil && (len(d.Call.Arguments) > maxText || d.Call.Position >= maxCalls) {
			watch.cancel(errTooMuch)
			return
		}
		began = true
		tell(d)
		if size == maxText {
			watch.cancel(errTooMuch)
		}
	}
	c, err := r.model.Model.Stream(ctx, request, take)
	if err == nil {
		if d := (Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal}); d != (Delta{}) {
			take(d)
		}
		c.Text, c.Reasoning, c.Refusal = "", "", ""
		c.ToolCalls = c.ToolCalls[:min(len(c.ToolCalls), maxCalls)]
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTooMuch):
		return Completion{Finish: FinishLength}, nil
	case err == nil && !ended:
		return c, nil
	case err == nil:
		return c, cause
	case isSilence(cause):
		failed := modelError(err)
		c.Usage, c.Refused = failed.Usage, failed.Refused
		return c, cause
	case began && isKind(err, ContextLength): // the answer filled what was left of the window
		return Completion{Finish: FinishLength}, nil
	default:
		return c, err
	}
}
