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

// answerTimeout limits the time of each API call that Run makes.
const answerTimeout = 15 * time.Second

// Run receives messages until ctx ends and passes each message to the function accept, one after the other. Run sends a
// successful response to a webhook only after accept has returned nil for all messages in the webhook. If Meta gets no
// successful response to a webhook, Meta repeats the webhook for up to seven days. Run therefore needs no resume
// cursor: after an outage, Meta sends the missed messages again.
//
// Run returns ctx's error if ctx ended, accept's error if accept failed, and a *chat.SendError if the bot can't receive
// messages. The kind of the *chat.SendError is Auth if Meta refuses the token or if the token may not use the phone
// number; otherwise, the kind is RateLimited or Temporary.
func (b *Bot) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	self, err := b.checkCredentials(ctx)
	if err == nil {
		r := &receiver{bot: b, self: self, accept: accept}
		err = r.serveHTTP(ctx)
	}
	return receiveError(ctx, err)
}

// Pulse implements gateway.Pulse. The webhook server reports every BeatEvery that it works.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 2 * time.Minute }

// checkCredentials checks the access token and the phone number id by requesting the phone number from Meta.
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
	opened time.Time // when the webhook server began to listen
}

// acceptError wraps an error that the function accept returned, so that receiveError can distinguish this error from
// errors of the bot.
type acceptError struct{ error }

// Unwrap returns the error that the function accept returned.
func (e acceptError) Unwrap() error { return e.error }

// deliver passes a message to the function accept. If accept has already accepted the same message, deliver does
// nothing. If deliver fails, it returns ctx's error or an acceptError.
func (r *receiver) deliver(ctx context.Context, in chat.Inbound) error {
	b := r.bot
	if err := b.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer b.turn.Release(1)
	key := string(in.ID)
	if in.Kind == chat.Edited || in.Kind == chat.Deleted {
		key = in.Resume // an edit or a deletion has the id of the original message, which was accepted before
	}
	if b.recent.Has(key) {
		return nil
	}
	b.remember(in) // call remember before accept, because the typing indicator may be shown before accept returns
	if err := r.accept(ctx, in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return acceptError{fmt.Errorf("accept message %s: %w", in.ID, err)}
	}
	b.recent.Put(key, struct{}{})
	return nil
}

// Adopt implements gateway.Adopter. Adopt completes the quotes of a message that another process may have received. If
// a person replies to a message that this process sent, only this process may have the text of the quoted message.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	b.remember(in)
	in.Quotes = slices.Clone(in.Quotes)
	for i, q := range in.Quotes {
		in.Quotes[i] = b.quote(in.To.Chat, q)
	}
	return in
}

// remember records the parts of a message that Typing needs and that the bot may have to quote later.
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

// markOpen records that the webhook server listens from now on.
func (r *receiver) markOpen(ctx context.Context) {
	r.opened = time.Now()
	r.bot.greeting.Log(ctx, r.bot.log, slog.String("name", r.self.Name), slog.String("number", r.self.Number))
}

// receiveError converts the error that ended Run to the error that Run returns. receiveError replaces the kind
// Uncertain with Temporary, because calling Run again is safe after any failure. If only the operator can solve the
// problem, the error says how to solve it.
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
