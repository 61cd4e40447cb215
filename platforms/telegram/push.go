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

// Webhook configures the webhook by which Telegram delivers updates. Package internal/config has validated the
// values.
type Webhook struct {
	Listen string // host:port on which updates arrive, usually from a TLS proxy
	URL    string // the URL that Telegram calls; empty: no webhook
	Secret string // the secret that Telegram must send: 1 to 256 characters of A-Z, a-z, 0-9, _ and -

	// Listener creates the listener of Run. If Listener is nil, Run listens on the TCP address Listen.
	Listener webhook.Listener
}

// secretHeader is the header with the secret. https://core.telegram.org/bots/api#setwebhook
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// oldestUpdateCursor is the resume cursor of all updates that arrive by the webhook. Updates that telex refused may
// still wait at Telegram although telex has accepted later updates. A later process that polls must therefore begin
// with the oldest update, not after the newest accepted update.
const oldestUpdateCursor = "0"

// runWebhook sets the webhook and receives the updates that Telegram sends to it. When ctx ends, runWebhook deletes the
// webhook, unless other processes still receive updates from the same webhook. After the deletion, Telegram keeps new
// updates for up to 24 hours, but does not try to deliver them. If receiving fails, runWebhook does not delete the
// webhook, because the gateway soon calls Run again.
func (b *Bot) runWebhook(ctx context.Context, r *receiver, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	p := push{receiver: r, bot: b, accept: accept, turn: make(chan struct{}, 1), opened: time.Now()}
	webhookCtx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	server := webhook.Server{
		Listener: b.webhook.Listener, Log: b.log, Heart: &b.heart, MaxBody: maxUpdate, BodyTimeout: updateTimeout,
		Check: b.checkUpdate, Answer: p.answer,
		OnOpen: func(ctx context.Context) {
			if err := b.setWebhook(ctx); err != nil {
				fail(receiveError(ctx, err))
			}
		},
	}
	if server.Listener == nil {
		server.Listener = webhook.TCP(b.webhook.Listen)
	}
	group, running := errgroup.WithContext(webhookCtx)
	group.Go(func() error { return server.Serve(running) })
	group.Go(func() error { return b.watchWebhook(running) })
	err := group.Wait()
	if ctx.Err() != nil {
		if fellows, _ := from.Others(); fellows == 0 {
			b.dropWebhook(ctx)
		}
		return ctx.Err()
	}
	return err
}

// setWebhook tells Telegram the URL of the webhook. When a webhook is set, Telegram keeps the updates that wait for
// delivery.
func (b *Bot) setWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	_, err := b.call(ctx, "setWebhook", tgbotapi.Params{
		"url": b.webhook.URL, "secret_token": b.webhook.Secret, "allowed_updates": allowedUpdates,
		"max_connections": strconv.Itoa(maxConnections), "drop_pending_updates": "false",
	})
	return err
}

// dropWebhook deletes the webhook after Run has ended.
func (b *Bot) dropWebhook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhookDeleteTimeout)
	defer cancel()
	if _, err := b.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}); err != nil {
		b.log.WarnContext(ctx, "webhook was not deleted; Telegram's calls fail until the next start", slog.Any("error", err))
	}
}

// watchWebhook checks the webhook regularly and logs why Telegram can't reach it. watchWebhook fails if another
// program has changed the webhook.
func (b *Bot) watchWebhook(ctx context.Context) error {
	tick := time.NewTicker(webhookCheck) //nolint:forbidigo // check regularly whether another program has changed the webhook.
	defer tick.Stop()
	for lastError := 0; ; {
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
			b.log.DebugContext(ctx, "webhook check failed", slog.Any("error", err))
		case info.URL != b.webhook.URL:
			return &chat.SendError{Kind: chat.Conflict, Err: errors.New("another program has changed or deleted the webhook of this bot: " +
				"stop it, or give one of the two a bot of its own; telex sets the webhook again")}
		case info.LastErrorDate > lastError:
			lastError = info.LastErrorDate
			b.log.WarnContext(ctx, "Telegram could not deliver to the webhook", slog.String("error", b.secrets.Redact(info.LastErrorMessage)),
				slog.Int("waiting", info.PendingUpdateCount))
		}
	}
}

// askWebhook calls webhookInfo with a timeout.
func (b *Bot) askWebhook(ctx context.Context) (tgbotapi.WebhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	return b.webhookInfo(ctx)
}

// checkUpdate checks the secret of a request. The returned function checks the body of the request.
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

// push is the state of one call of Run that receives updates by the webhook.
type push struct {
	*receiver
	bot    *Bot
	accept func(context.Context, chat.Inbound) error
	turn   chan struct{} // capacity 1, so that accept handles one update at a time
	opened time.Time
}

// answer handles one request of Telegram. answer returns no error after the function accept has accepted the update. If
// accept fails, answer returns the error of accept, and Telegram repeats the request.
func (p *push) answer(ctx context.Context, req webhook.Request) (webhook.Reply, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return webhook.Reply{}, context.Cause(ctx)
	}
	updates := []json.RawMessage{req.Body}
	p.bot.ids.addReceived(updates)
	opened := p.bot.clock.At(p.opened).Truncate(time.Second) // the times of messages are whole seconds
	for _, a := range p.decodeAll(updates) {
		key := strconv.Itoa(a.id)
		if p.bot.recent.Has(key) {
			continue
		}
		a.in.Resume, a.in.Missed = oldestUpdateCursor, a.in.At.Before(opened)
		if err := p.bot.deliver(ctx, p.receiver, a, p.accept); err != nil {
			return webhook.Reply{}, err
		}
		p.bot.recent.Put(key, struct{}{})
	}
	return webhook.Reply{}, nil
}

// webhookFindings returns the reason why Telegram can't reach the webhook, or nil if Telegram reports no such reason.
func (b *Bot) webhookFindings(ctx context.Context) []chat.Finding {
	info, err := b.askWebhook(ctx)
	if err != nil || info.URL != b.webhook.URL || info.LastErrorMessage == "" {
		return nil
	}
	when := time.Unix(int64(info.LastErrorDate), 0).UTC().Format(time.DateTime)
	return []chat.Finding{{
		What: fmt.Sprintf("Telegram could not deliver to the webhook at %s UTC: %s; %d updates wait", when, b.secrets.Redact(info.LastErrorMessage), info.PendingUpdateCount),
		Mend: "check whether the proxy passes requests for webhook.url on to webhook.listen, and whether its certificate is valid",
	}}
}
