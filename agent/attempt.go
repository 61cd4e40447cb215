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
	// maxText is the maximum length of an answer in bytes. Without this limit, a provider that never stops could fill the
	// memory. maxText is several times the length of the longest answer of any model.
	maxText = 2 << 20
	// maxCalls is the maximum number of tool calls in one answer.
	maxCalls = 256
)

// errTooMuch ends the stream of an answer that exceeds maxText or maxCalls.
var errTooMuch = errors.New("the answer is too long")

// cutError is the error of an answer that broke off after its first token.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

func isCut(err error) bool {
	_, cut := errors.AsType[*cutError](err)
	return cut
}

// isSilence reports whether a model exceeded Limits.FirstToken or Limits.Silence.
func isSilence(err error) bool { return errors.Is(err, errSilence) || errors.Is(err, errFirstToken) }

// reached reports whether a failed attempt reached the provider.
func reached(err error) bool { return !modelError(err).NotSent }

// workBegan reports whether the provider had probably begun to compute an answer before the attempt failed. Once the provider
// has begun, a failed attempt may cost as much as a whole answer.
func workBegan(err error) bool {
	if isCut(err) || isSilence(err) {
		return true
	}
	switch me := modelError(err); {
	case me.NotSent:
		return false
	case me.Status == http.StatusGatewayTimeout, me.Status == 524: // a proxy gave up waiting; Cloudflare sends 524
		return true
	default: // Retryable without a status: the connection broke before a response came
		return me.Kind == Broken || me.Kind == Retryable && me.Status == 0
	}
}

// attempt sends one request and passes each piece of the answer to onDelta. If onDelta is nil, the returned Completion
// contains the whole answer instead. attempt also adds one model call and the used tokens to the usage of the turn.
func (r *run) attempt(ctx context.Context, request Request, estimate int, onDelta func(Delta)) (Completion, error) {
	if limit := r.opts.Limits.ModelCalls; limit > 0 && r.modelCalls+r.reservedCalls >= limit {
		return Completion{}, fmt.Errorf("%w (%d)", errCallLimit, limit)
	}
	r.saveUsage(ctx)
	r.modelCalls++
	r.meter.Calls++
	tokensBefore, started := r.meter.tokens.Tokens(), false
	var held struct{ text, reasoning, refusal strings.Builder }
	c, err := r.askStream(ctx, request, func(d Delta) {
		started = true
		for _, text := range []string{d.Text, d.Reasoning, d.Refusal} {
			r.meter.tokens.Add(text)
		}
		if onDelta != nil {
			onDelta(d)
			return
		}
		held.text.WriteString(d.Text)
		held.reasoning.WriteString(d.Reasoning)
		held.refusal.WriteString(d.Refusal)
	})
	c.Text, c.Reasoning, c.Refusal = held.text.String(), held.reasoning.String(), held.refusal.String()
	failed := modelError(err)
	used, refused := cmp.Or(c.Usage, failed.Usage), max(c.Refused, failed.Refused)
	r.modelCalls += refused
	r.meter.Calls += refused
	if err != nil && started {
		err = &cutError{err: err}
	}
	switch {
	case used != nil:
		r.meter.addUsage(*used)
	case err == nil, workBegan(err), ctx.Err() != nil && reached(err):
		r.meter.addEstimate(r.model.facts.tokens(estimate), r.meter.tokens.Tokens()-tokensBefore)
	case !reached(err):
		r.modelCalls--
		r.meter.Calls--
		r.usageUnsaved = r.usageUnsaved || refused > 0
		return c, err
	}
	r.usageUnsaved = true
	if err != nil {
		return c, err
	}
	r.learnUsage(ctx, request, estimate, used)
	return c, nil
}

// learnUsage calibrates the token estimates for this model: it compares the estimate of a request with the usage that the
// provider reported. used is nil if the provider reported no usage.
func (r *run) learnUsage(ctx context.Context, request Request, estimate int, used *Usage) {
	if used != nil {
		r.model.facts.recordAccepted(request, estimate, used.Prompt)
		return
	}
	r.model.facts.recordAccepted(request, estimate, 0)
	if !r.usageWarned {
		r.usageWarned = true
		r.log.LogAttrs(ctx, slog.LevelWarn, "the model reported no usage, counting 0 tokens")
	}
}

// askStream asks the turn's model for an answer and enforces the limits on silence and length. askStream passes each piece of
// the answer to onDelta. The returned Completion does not contain the pieces that onDelta got.
func (r *run) askStream(ctx context.Context, request Request, onDelta func(Delta)) (Completion, error) {
	limits := r.opts.Limits
	firstTokenErr, silenceErr := fmt.Errorf("%w (limits.first_token: %v)", errFirstToken, limits.FirstToken), fmt.Errorf("%w (limits.silence: %v)", errSilence, limits.Silence)
	ctx, watch, stop := startClock(ctx, limits.FirstToken, firstTokenErr)
	defer stop()
	started, turnEnded, size := false, false, 0
	var newest CallDelta
	handle := func(d Delta) {
		if ctx.Err() != nil {
			turnEnded = true // a cancelled turn emits nothing more
			return
		}
		if d.Whole {
			watch.pause()
			return
		}
		if d == (Delta{}) || d.Call != nil && *d.Call == newest {
			return // a keep-alive: the model made no progress, so its silence goes on
		}
		if d.Call != nil {
			newest = *d.Call
		}
		watch.pause() // the time that onDelta takes must not count as silence of the model
		defer watch.restart(limits.Silence, silenceErr)
		d.Text = d.Text[:min(len(d.Text), maxText-size)] // may cut a character in two; reply.add replaces the incomplete half
		size += len(d.Text) + len(d.Reasoning) + len(d.Refusal)
		if size > maxText || d.Call != nil && (len(d.Call.Arguments) > maxText || d.Call.Position >= maxCalls) {
			watch.cancel(errTooMuch)
			return
		}
		started = true
		onDelta(d)
		if size == maxText {
			watch.cancel(errTooMuch)
		}
	}
	c, err := r.model.Model.Stream(ctx, request, handle)
	if err == nil {
		if d := (Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal}); d != (Delta{}) {
			handle(d)
		}
		c.Text, c.Reasoning, c.Refusal = "", "", ""
		c.ToolCalls = c.ToolCalls[:min(len(c.ToolCalls), maxCalls)]
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTooMuch):
		return Completion{Finish: FinishLength}, nil
	case err == nil && !turnEnded:
		return c, nil
	case err == nil:
		return c, cause
	case isSilence(cause):
		failed := modelError(err)
		c.Usage, c.Refused = failed.Usage, failed.Refused
		return c, cause
	case started && isKind(err, ContextLength): // request and answer together fill the model's window
		return Completion{Finish: FinishLength}, nil
	default:
		return c, err
	}
}
