package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"golang.org/x/sync/errgroup"

	"telex/internal/chat"
	"telex/platforms/internal/webhook"
)

// Webhook says how Telegram delivers updates. The configuration has checked it.
type Webhook struct {
	Listen string // host:port where updates arrive, most often from a proxy that speaks TLS
	URL    string // what Telegram calls; empty: there is no webhook
	Secret string // what Telegram must send: 1 to 256 characters of A-Z, a-z, 0-9, _ and -

	// Listener makes what Run listens on; nil: a TCP listener at Listen.
	Listener webhook.Listener
}

// secretHeader is where Telegram sends the secret. https://core.telegram.org/bots/api#setwebhook
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// fromTheStart is the resume cursor of what a webhook brought: updates that were refused may still wait at Telegram, before
// those that were accepted. Polling then begins with the oldest of them.
const fromTheStart = "0"

// serve is Run by a webhook. It sets the webhook, and deletes it once ctx ends: until the next start Telegram then keeps what
// comes, for 24 hours, and tries nothing in vain. It stays when Run fails, as the next Run is near.
func (b *Bot) serve(ctx context.Context, r *reception, accept func(context.Context, chat.Inbound) error) error {
	p := push{reception: r, bot: b, accept: accept, turn: make(chan struct{}, 1), opened: time.Now().Truncate(time.Second)}
	hooked, end := context.WithCancelCause(ctx)
	defer end(nil)
	server := webhook.Server{
		Listener: b.webhook.Listener, Log: b.log, Heart: &b.heart, MaxBody: maxUpdate, BodyTimeout: updateTimeout,
		Check: b.checkUpdate, Answer: p.answer,
		Opened: func(ctx context.Context) {
			if err := b.setWebhook(ctx); err != nil {
				end(receiveError(ctx, err))
			}
		},
	}
	if server.Listener == nil {
		server.Listener = webhook.TCP(b.webhook.Listen)
	}
	group, running := errgroup.WithContext(hooked)
	group.Go(func() error { return server.Serve(running) })
	group.Go(func() error { return b.watchWebhook(running) })
	err := group.Wait()
	if ctx.Err() != nil {
		b.dropWebhook(ctx)
		return ctx.Err()
	}
	return err
}

// setWebhook lets Telegram deliver updates. What waits is kept.
func (b *Bot) setWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	_, err := b.call(ctx, "setWebhook", tgbotapi.Params{
		"url": b.webhook.URL, "secret_token": b.webhook.Secret, "allowed_updates": allowedUpdates,
		"max_connections": strconv.Itoa(maxConnections), "drop_pending_updates": "false",
	})
	return err
}

// dropWebhook deletes the webhook when Run has ended.
func (b *Bot) dropWebhook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTime)
	defer cancel()
	if _, err := b.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}); err != nil {
		b.log.WarnContext(ctx, "webhook was not deleted; Telegram calls it in vain until the next start", slog.Any("error", err))
	}
}

// watchWebhook looks again and again whether the webhook is as it was set, and logs why Telegram can't reach it. It fails if
// another program has changed the webhook.
func (b *Bot) watchWebhook(ctx context.Context) error {
	tick := time.NewTicker(webhookCheck) //nolint:forbidigo // receiving must see that the webhook was taken away.
	defer tick.Stop()
	for said := 0; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		info, err := b.askWebhook(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			b.log.DebugContext(ctx, "no word about the webhook", slog.Any("error", err))
		case info.URL != b.webhook.URL:
			return &chat.SendError{Kind: chat.Conflict, Err: errors.New("another program has changed or deleted the webhook of this bot: " +
				"stop it, or give one of the two a bot of its own; telex sets the webhook again")}
		case info.LastErrorDate > said:
			said = info.LastErrorDate
			b.log.WarnContext(ctx, "Telegram could not deliver to the webhook", slog.String("error", b.secrets.Redact(info.LastErrorMessage)),
				slog.Int("waiting", info.PendingUpdateCount))
		}
	}
}

// askWebhook is webhookInfo with a limit of time.
func (b *Bot) askWebhook(ctx context.Context) (tgbotapi.WebhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	return b.webhookInfo(ctx)
}

// checkUpdate judges whether a request is Telegram's.
func (b *Bot) checkUpdate(req *http.Request) (func(body []byte) error, error) {
	if !webhook.SameSecret(req.Header.Get(secretHeader), b.webhook.Secret) {
		return nil, webhook.Unauthorized("the secret is wrong or missing")
	}
	return func(body []byte) error {
		if _, ok := updateID(body); !ok {
			return &webhook.Refusal{Status: http.StatusBadRequest, Reason: "the body is not an update"}
		}
		return nil
	}, nil
}

// push is what one Run knows of the updates that the webhook brings.
type push struct {
	*reception
	bot    *Bot
	accept func(context.Context, chat.Inbound) error
	turn   chan struct{} // of one: updates are accepted one at a time
	opened time.Time
}

// answer handles one request, which is answered once the update in it was accepted. The error is accept's; Telegram then
// sends the request again.
func (p *push) answer(ctx context.Context, req webhook.Request) (webhook.Reply, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return webhook.Reply{}, context.Cause(ctx)
	}
	updates := []json.RawMessage{req.Body}
	p.bot.ids.received(updates)
	for _, a := range p.open(updates) {
		key := strconv.Itoa(a.id)
		if p.bot.recent.Has(key) {
			continue
		}
		a.in.Resume, a.in.Missed = fromTheStart, a.in.At.Before(p.opened)
		if err := p.bot.hand(ctx, p.reception, a, p.accept); err != nil {
			return webhook.Reply{}, err
		}
		p.bot.recent.Put(key, struct{}{})
	}
	return webhook.Reply{}, nil
}

// webhookFindings returns why Telegram does not reach the webhook, if it says so.
func (b *Bot) webhookFindings(ctx context.Context) []chat.Finding {
	info, err := b.askWebhook(ctx)
	if err != nil || info.URL != b.webhook.URL || info.LastErrorMessage == "" {
		return nil
	}
	when := time.Unix(int64(info.LastErrorDate), 0).UTC().Format(time.DateTime)
	return []chat.Finding{{
		What: fmt.Sprintf("Telegram could not deliver to the webhook at %s UTC: %s; %d updates wait", when, b.secrets.Redact(info.LastErrorMessage), info.PendingUpdateCount),
		Mend: "look whether the proxy passes requests for webhook.url on to webhook.listen, and whether its certificate is valid",
	}}
}
