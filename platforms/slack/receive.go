package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

const (
	// answerTimeout is how long Slack may take to answer what Run asks.
	answerTimeout = 15 * time.Second
	// ackTime is how long Slack waits for an acknowledgement before it delivers again.
	// https://docs.slack.dev/apis/events-api/#responding
	ackTime = 3 * time.Second
	// holdFor is how long new messages wait for missed ones, so that they come in order. It leaves time to store and acknowledge
	// them.
	holdFor = 1500 * time.Millisecond
)

// Run receives messages until ctx ends and hands each to accept, one after the other. It acknowledges a message to Slack only
// when accept has returned nil; Slack delivers the others again. If from has a cursor, Run reads the messages that were missed
// since then: in the places that from names and in all of the bot's conversations, within the last day and Slack's limits.
//
// Run returns ctx's error when ctx ended, accept's when accept failed, and a *chat.SendError when nothing can be received: Auth if
// a token is refused or lacks a scope, RateLimited, or Temporary. As long as one socket works, Run replaces the others itself.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	self, err := b.whoami(ctx)
	if err != nil {
		return receiveError(ctx, err)
	}
	r := &reception{
		bot: b, self: self, from: from, accept: accept,
		newest: from.Cursor, behind: from.Cursor != "",
		open: make(chan struct{}), caught: make(chan struct{}),
	}
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.catchUp(run); err != nil {
			end(err)
		}
	})
	if b.opts.AppToken != "" {
		err = r.listen(run)
	} else {
		err = r.serve(run)
	}
	end(err)
	work.Wait()
	return receiveError(ctx, context.Cause(run))
}

// Pulse implements gateway.Pulse: the loop that keeps the sockets turns every BeatEvery, unless it opens one.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 2 * time.Minute }

// reception is one Run.
type reception struct {
	bot    *Bot
	self   identity
	from   chat.Resume
	accept func(context.Context, chat.Inbound) error

	opening sync.Once
	opened  time.Time     // when Slack could first deliver; set before open is closed
	open    chan struct{} // closed when Slack can deliver
	caught  chan struct{} // closed when nothing is left of what was missed
	line    line          // of requests

	// For who has bot.turn.
	newest string // ts of the newest message that arrived
	behind bool   // what was missed is not all accepted
}

// isOpen notes that Slack can deliver from here on.
func (r *reception) isOpen(ctx context.Context) {
	r.opening.Do(func() {
		r.opened = time.Now()
		close(r.open)
		r.bot.greeting.Log(ctx, r.bot.log, slog.String("user", r.self.Name), slog.String("team", r.self.Team),
			slog.Bool("socket_mode", r.bot.opts.AppToken != ""))
	})
}

// waited reports whether a message waited at Slack when this Run's first connection was made. A message that was written
// later is new, however often Slack delivers it: its age by Slack's clock says nothing.
func (r *reception) waited(in chat.Inbound) bool { return in.At.Before(r.opened) }

// hold waits until the missed messages are handed on, but not so long that an acknowledgement would be late.
func (r *reception) hold(ctx context.Context) {
	waiting, cancel := context.WithDeadline(ctx, r.opened.Add(holdFor))
	defer cancel()
	select {
	case <-r.caught:
	case <-waiting.Done():
	}
}

// refusal is accept's error.
type refusal struct{ error }

// Unwrap returns accept's error.
func (e refusal) Unwrap() error { return e.error }

// take hands an arrival on. It returns nil if the arrival may be acknowledged: it was accepted, now or before, or says nothing.
// It fails with ctx's error, or with a refusal.
func (r *reception) take(ctx context.Context, a arrival) error {
	if !r.complete(ctx, &a) {
		return nil
	}
	if a.team != "" && a.team != r.self.Team {
		r.bot.teams.Put(string(a.in.Sender.ID), a.team)
	}
	if strings.HasPrefix(a.command, "/") {
		r.bot.command.Store(&a.command)
	}
	if err := r.bot.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.bot.turn.Release(1)
	id := fmt.Sprintf("%s %s %t", a.in.To.Chat, a.in.ID, a.in.Addressed)
	if a.in.Kind == chat.Edited || a.in.Kind == chat.Deleted {
		id += " " + a.ts
	}
	if r.bot.recent.Has(id) {
		return nil
	}
	a.in.Resume = r.cursor(a.written())
	if err := r.accept(ctx, a.in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return refusal{fmt.Errorf("accept message %s: %w", a.in.ID, err)}
	}
	r.bot.recent.Put(id, struct{}{})
	return nil
}

// complete puts names into an arrival; false if it says nothing. It looks up no names for messages that can't be for the bot.
func (r *reception) complete(ctx context.Context, a *arrival) bool {
	if !a.in.Addressed && !a.in.Follows {
		return a.said(func(string) string { return "" })
	}
	name, done := r.bot.nameOf(ctx, r.namesUntil(a))
	defer done()
	if !a.said(name) {
		return false
	}
	if a.in.Sender.Name == "" && !a.in.Sender.Bot {
		a.in.Sender.Name = name(string(a.in.Sender.ID))
	}
	return true
}

// namesUntil is when looking up names must end. Messages that arrived at the same time share it: each waits for those before it,
// and all must be acknowledged in time.
func (r *reception) namesUntil(a *arrival) time.Time {
	from := a.arrived
	switch held := r.opened.Add(holdFor); {
	case from.IsZero():
		from = time.Now()
	case from.Before(held):
		from = held
	}
	return from.Add(namesFor)
}

// cursor returns where a later Run continues once the message of ts is accepted. It does not advance until all missed messages
// are accepted.
func (r *reception) cursor(ts string) string {
	if ts != "" && later(ts, r.newest) {
		r.newest = ts
	}
	switch {
	case r.behind:
		return r.from.Cursor
	case r.newest == "":
		return tsOf(time.Now()) // of a command, before any message
	}
	return r.newest
}

// maxRecent is how many messages are remembered as accepted: Slack delivers some twice, by two events
// or because an acknowledgement was lost, and what was missed is read with a margin. The gateway's
// store knows all of them; this spares it most.
const maxRecent = 4096

// receiveError turns the end of a Run into its error. Reading can be repeated, so Uncertain becomes Temporary. Failures that only
// the operator can fix say how.
func receiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused, ok := errors.AsType[refusal](err); ok {
		return refused.error
	}
	failure := *chat.AsSendError(err)
	if failure.Kind != chat.Auth && failure.Kind != chat.RateLimited {
		failure.Kind = chat.Temporary
	}
	switch {
	case calls.Code(err) == "socket_mode_disabled":
		failure.Err = fmt.Errorf("the app does not use Socket Mode: turn it on at api.slack.com/apps under Socket Mode (%w)", failure.Err)
	case calls.Code(err) == "not_allowed_token_type":
		failure.Err = fmt.Errorf("bot_token must be the bot user's token (xoxb-…) and app_token an app-level one (xapp-…) with the scope connections:write (%w)", failure.Err)
	case failure.Kind == chat.Auth:
		failure.Err = fmt.Errorf("a token of the app is refused: copy it anew from api.slack.com/apps (%w)", failure.Err)
	}
	return &failure
}
