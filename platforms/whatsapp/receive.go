package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
)

// answerTimeout limits each call that Run makes.
const answerTimeout = 15 * time.Second

// Run receives messages until ctx ends and passes each to accept, one after the other. A webhook gets a successful
// response only after accept has returned nil for all its messages. Meta repeats other webhooks for up to seven days.
// So missed messages need not be read, and there is no resume cursor.
//
// Run returns ctx's error if ctx ended, accept's error if accept failed, and a *chat.SendError if nothing can be
// received: Auth if the token is refused or may not use the phone number, RateLimited, or Temporary.
func (b *Bot) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	self, err := b.checkCredentials(ctx)
	if err == nil {
		r := &receiver{bot: b, self: self, accept: accept}
		err = r.serveHTTP(ctx)
	}
	return receiveError(ctx, err)
}

// Pulse implements gateway.Pulse. While the server waits for webhooks, a loop beats every BeatEvery.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 2 * time.Minute }

// checkCredentials checks the credentials by reading the phone number.
func (b *Bot) checkCredentials(ctx context.Context) (account, error) {
	b.heart.Beat()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return b.account(ctx)
}

// receiver is the state of one Run.
type receiver struct {
	bot    *Bot
	self   account
	accept func(context.Context, chat.Inbound) error
	opened time.Time // when Meta could first deliver
}

// acceptError is accept's error.
type acceptError struct{ error }

// Unwrap returns accept's error.
func (e acceptError) Unwrap() error { return e.error }

// deliver passes a message to accept, unless it was accepted before. It fails with ctx's error or with an acceptError.
func (r *receiver) deliver(ctx context.Context, in chat.Inbound) error {
	b := r.bot
	if err := b.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer b.turn.Release(1)
	key := string(in.ID)
	if in.Kind == chat.Edited || in.Kind == chat.Deleted {
		key = in.Resume // a change has the id of the changed message, which was accepted before
	}
	if b.recent.Has(key) {
		return nil
	}
	b.remember(in) // before accept, because a turn may begin and show the typing indicator before accept returns
	if err := r.accept(ctx, in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return acceptError{fmt.Errorf("accept message %s: %w", in.ID, err)}
	}
	b.recent.Put(key, struct{}{})
	return nil
}

// Adopt implements gateway.Adopter: another process may have received the message. If a reply quotes a message that
// this process sent, only this process may know its text, so Adopt completes the quote.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	b.remember(in)
	in.Quotes = slices.Clone(in.Quotes)
	for i, q := range in.Quotes {
		in.Quotes[i] = b.quote(in.To.Chat, q)
	}
	return in
}

// remember records the parts of a message that Typing and later quotes need.
func (b *Bot) remember(in chat.Inbound) {
	switch in.Kind {
	case chat.Edited:
		if q, ok := b.texts.Get(textKey(in.To.Chat, in.ID)); ok {
			b.rememberText(in.To.Chat, in.ID, chat.Quote{Author: q.Author, Text: in.Text, Attachments: q.Attachments})
		}
		return
	case chat.Deleted:
		return
	}
	b.newest.Put(string(in.To.Chat), string(in.ID))
	if in.Text != "" || len(in.Attachments) > 0 {
		b.rememberText(in.To.Chat, in.ID, chat.Quote{Author: in.Sender.Name, Text: in.Text, Attachments: in.Attachments})
	}
}

// markOpen records that Meta can deliver from now on.
func (r *receiver) markOpen(ctx context.Context) {
	r.opened = time.Now()
	r.bot.greeting.Log(ctx, r.bot.log, slog.String("name", r.self.Name), slog.String("number", r.self.Number))
}

// receiveError converts the end of a Run to its error. Reading can be repeated, so Uncertain becomes Temporary. If only
// the operator can fix the problem, the error says how.
func receiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused, ok := errors.AsType[acceptError](err); ok {
		return refused.error
	}
	failure := *chat.AsSendError(err)
	switch failure.Kind {
	case chat.Auth:
		failure.Err = fmt.Errorf("access_token is refused, or may not use phone_number_id: see docs/setup-whatsapp.md (%w)", failure.Err)
	case chat.RateLimited:
	default:
		failure.Kind = chat.Temporary
	}
	return &failure
}
