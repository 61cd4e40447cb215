package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"telex/internal/chat"
)

const (
	firstRetry = time.Second
	maxRetry   = time.Minute
	// If the adapter's Run has lasted for the duration connected, the endpoint counts as connected, and the next retry
	// begins with the shortest delay.
	connected = 2 * time.Second
	// If the adapter's Run has lasted for the duration settled, an outage counts as over, and the next failure is logged again.
	settled = 30 * time.Second
	// If the platform refuses the credentials at maxRefusals connections in a row, the endpoint stops. Each connection
	// begins with a check of the credentials. A single refusal does not stop the endpoint, because a platform may refuse
	// valid credentials by mistake.
	maxRefusals = 3
)

// supervise keeps one endpoint receiving until ctx ends. If the adapter fails, supervise starts the adapter again. If the
// platform refuses the credentials several times, supervise stops the endpoint, because further retries would not help. If
// the platform refuses the bot for another reason, an operator must change a setting on the platform, and supervise logs
// every such refusal. supervise calls the parameter connects once the adapter has begun to connect.
func (g *Gateway) supervise(ctx context.Context, e *endpoint, connects func()) {
	defer connects()
	defer e.vital.rests()
	log := g.Log.With(slog.String("endpoint", string(e.ID)))
	delay := firstRetry
	var last chat.ErrorKind
	failing, tries, refusals := false, 0, 0
	for ctx.Err() == nil {
		began := time.Now()
		heal := tries // a copy for the timer's goroutine
		healed := time.AfterFunc(settled, func() {
			if heal > 0 {
				log.Info("receiving works again", slog.Int("tries", heal), slog.Duration("for", settled))
			}
		})
		err := g.receive(ctx, e, connects)
		connects()
		healed.Stop()
		if ctx.Err() != nil {
			return
		}
		se := chat.AsSendError(err)
		lasted := time.Since(began)
		if lasted > connected {
			delay = firstRetry
		}
		if lasted >= settled {
			failing, tries = false, 0
		}
		if se.Kind != chat.Auth || lasted > connected {
			refusals = 0
		}
		if se.Kind == chat.Auth {
			refusals++
		}
		if refusals >= maxRefusals {
			log.Error("endpoint stopped: the platform refuses its credentials; correct them and reload", slog.Any("error", err))
			e.vital.retries(0, err)
			g.markDead(ctx, e)
			return
		}
		wait := max(se.RetryAfter, jitter(delay))
		switch {
		case se.Kind == chat.Rejected:
			log.Error("the platform refuses this bot until an operator changes something; no messages are received", slog.Any("error", err), slog.Duration("retry_in", wait))
		case !failing || se.Kind != last:
			log.Warn("receiving is interrupted; trying again until it works", slog.Any("error", err), slog.Duration("first_retry", delay))
		}
		failing, last = true, se.Kind
		tries++
		e.vital.retries(wait, err)
		pause(ctx, wait)
		delay = min(maxRetry, 2*delay)
	}
}

// markDead marks an endpoint as permanently stopped, and logs an error if no endpoint is left. The daemon does not
// exit, because a service manager would then restart it again and again with the same credentials.
func (g *Gateway) markDead(ctx context.Context, e *endpoint) {
	e.dead.Store(true)
	defer g.tellFitness(ctx)
	for id, other := range g.current().endpoints {
		if !other.dead.Load() && id != g.current().Access.Operators {
			return
		}
	}
	g.Log.Error("no endpoint is left: nothing is received until the credentials are corrected and the configuration is reloaded")
}

// receive calls the adapter's Run once. If Run panics, the method receive returns the panic as an error.
func (g *Gateway) receive(ctx context.Context, e *endpoint, connects func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while receiving: %v\n%s", p, debug.Stack())
		}
	}()
	e.vital.retries(0, nil)
	from, err := g.store.inbox.Resume(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read resume cursor: %w", err)
	}
	account := e.account() // the endpoint keeps this adapter until ctx ends
	from.Fellows = func() (all, older int) { return g.fellows(ctx, e.ID, account.Platform) }
	works := time.AfterFunc(connected, account.works.mark)
	defer works.Stop()
	e.vital.runs()
	connects()
	err = account.Platform.Run(ctx, from, func(ctx context.Context, in chat.Inbound) error {
		defer e.vital.accepting()()
		return g.accept(ctx, e, in)
	})
	if err == nil {
		err = errors.New("the adapter stopped receiving")
	}
	return err
}

// pause waits for the duration d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// jitter increases or decreases d by a random amount of up to a fifth, so that endpoints that failed at the same time
// retry at different times.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()*0.4-0.2)*float64(d)) //nolint:gosec // no secret depends on it
}
