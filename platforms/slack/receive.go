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
	// answerTimeout limits each call that Run makes.
	answerTimeout = 15 * time.Second
	// ackTimeout is how long Slack waits for an acknowledgement before it repeats a delivery.
	// https://docs.slack.dev/apis/events-api/#responding
	ackTimeout = 3 * time.Second
	// holdTime is how long new messages wait until the missed messages are delivered, so that telex accepts all messages
	// in order. The remaining part of ackTimeout is for storing and acknowledging the new messages.
	holdTime = 1500 * time.Millisecond
)

// Run receives messages until ctx ends and passes each message to the function accept, one after the other. Run
// acknowledges a message only after accept has returned nil. Slack delivers unacknowledged messages again. If from has
// a cursor, Run also reads the messages that the bot has missed since the cursor. Run reads missed messages in
// from.Places and in all of the bot's conversations. Run reads only messages of the last day, and keeps to Slack's rate
// limits.
//
// Run returns ctx's error if ctx ended, and accept's error if accept failed. Run returns a *chat.SendError if the bot
// can receive nothing: Auth if a token is refused or lacks a scope, RateLimited, or Temporary. Run does not return if
// one of several sockets fails, but replaces this socket.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	b.readers.begin(from)
	self, err := b.fetchIdentity(ctx)
	if err != nil {
		return receiveError(ctx, err)
	}
	r := &receiver{
		bot: b, self: self, from: from, accept: accept,
		newest: from.Cursor, behind: from.Cursor != "",
		open: make(chan struct{}), caughtUp: make(chan struct{}),
	}
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.readMissed(run); err != nil {
			end(err)
		}
	})
	if b.opts.AppToken != "" {
		err = r.runSockets(run)
	} else {
		err = r.serveHTTP(run)
	}
	end(err)
	work.Wait()
	return receiveError(ctx, context.Cause(run))
}

// Pulse implements gateway.Pulse. The loop that manages the sockets reports that it works at least once every
// BeatEvery, except while it opens a socket.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 2 * time.Minute }

// receiver is the state of one Run.
type receiver struct {
	bot    *Bot
	self   identity
	from   chat.Resume
	accept func(context.Context, chat.Inbound) error

	openOnce sync.Once
	opened   time.Time     // time from which Slack could deliver messages; set before the channel open is closed
	open     chan struct{} // closed when Slack can deliver messages
	caughtUp chan struct{} // closed when all missed messages are delivered
	order    arrivalOrder  // sorts the messages that arrive in HTTP requests

	// Only the goroutine that holds bot.turn uses the following fields.
	newest string // ts of the newest message that arrived
	behind bool   // not all missed messages are accepted yet
}

// markOpen records that Slack can deliver messages from now on.
func (r *receiver) markOpen(ctx context.Context) {
	r.openOnce.Do(func() {
		r.opened = time.Now()
		close(r.open)
		r.bot.greeting.Log(ctx, r.bot.log, slog.String("user", r.self.Name), slog.String("team", r.self.Team),
			slog.Bool("socket_mode", r.bot.opts.AppToken != ""))
	})
}

// wasWaiting reports whether a message waited at Slack when this call of Run opened its first connection. A message
// that was written later is new, even if Slack delivers the message repeatedly.
func (r *receiver) wasWaiting(in chat.Inbound) bool { return in.At.Before(r.bot.clock.At(r.opened)) }

// hold delays a new message until the missed messages are delivered. hold returns at the latest when holdTime has
// passed since Slack could first deliver messages. If hold delayed a message for longer, Slack would not get the
// acknowledgement of the message in time.
func (r *receiver) hold(ctx context.Context) {
	waiting, cancel := context.WithDeadline(ctx, r.opened.Add(holdTime))
	defer cancel()
	select {
	case <-r.caughtUp:
	case <-waiting.Done():
	}
}

// acceptError wraps an error that the function accept returned.
type acceptError struct{ error }

// Unwrap returns the error that the function accept returned.
func (e acceptError) Unwrap() error { return e.error }

// deliver passes an event to the function accept. If accept has accepted the event, now or earlier, or if the event is
// empty, deliver returns nil, and the caller may acknowledge the event. deliver fails with ctx's error or with an
// acceptError.
func (r *receiver) deliver(ctx context.Context, a decodedEvent) error {
	if !r.addNames(ctx, &a) {
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
	a.in.Resume = r.cursor(a.readableTS())
	if err := r.accept(ctx, a.in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return acceptError{fmt.Errorf("accept message %s: %w", a.in.ID, err)}
	}
	r.bot.recent.Put(id, struct{}{})
	return nil
}

// addNames adds people's names to an event. addNames returns false if the event is empty. For messages that can't be
// for the bot, addNames requests no names.
func (r *receiver) addNames(ctx context.Context, a *decodedEvent) bool {
	if !a.in.Addressed && !a.in.Follows {
		return a.complete(func(string) string { return "" })
	}
	name, done := r.bot.namesOf(ctx, r.namesDeadline(a))
	defer done()
	if !a.complete(name) {
		return false
	}
	if a.in.Sender.Name == "" && !a.in.Sender.Bot {
		a.in.Sender.Name = name(string(a.in.Sender.ID))
	}
	return true
}

// namesDeadline returns when the requests for names must end. Messages that arrived together have the same deadline,
// because telex handles these messages one after the other and must acknowledge all of these messages in time.
func (r *receiver) namesDeadline(a *decodedEvent) time.Time {
	from := a.arrived
	switch held := r.opened.Add(holdTime); {
	case from.IsZero():
		from = time.Now()
	case from.Before(held):
		from = held
	}
	return from.Add(namesTimeout)
}

// The method cursor returns the position from which a later Run continues if the message with the given ts is accepted.
// Until all missed messages are accepted, the method cursor returns the position from which the current call of Run
// began.
func (r *receiver) cursor(ts string) string {
	if ts != "" && isLater(ts, r.newest) {
		r.newest = ts
	}
	switch {
	case r.behind:
		return r.from.Cursor
	case r.newest == "":
		return tsOf(time.Now()) // a command has arrived, but no message yet
	}
	return r.newest
}

// maxRecent limits the ids of accepted messages that a Bot remembers. The Bot may receive a message twice: because
// Slack sends two events, because an acknowledgement was lost, or because the Bot reads missed messages. With the
// remembered ids, the Bot drops most repeated messages without a query to the gateway's store. The store recognizes the
// remaining repeated messages.
const maxRecent = 4096

// receiveError converts the error that ended a call of Run to the error that Run returns. Calling Run again does no
// harm, so every kind of error except Auth and RateLimited becomes Temporary. If only the operator can solve the
// problem, the error's text says how to solve it.
func receiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused, ok := errors.AsType[acceptError](err); ok {
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
