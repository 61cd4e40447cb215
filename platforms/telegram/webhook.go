package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// hasWebhook reports whether a poll failed because the bot has a webhook. Telegram refuses polls while a webhook is
// set.
// https://core.telegram.org/bots/api#getupdates
func hasWebhook(err error) bool {
	if err == nil {
		return false
	}
	failure := chat.AsSendError(err)
	return failure.Kind == chat.Conflict && hasDescription(failure, "webhook")
}

// removeWebhook deletes the bot's webhook. After the deletion, Telegram keeps the updates that wait for delivery. A Bot
// deletes a webhook only once, because two programs could otherwise undo each other's setting forever. removeWebhook
// returns false if the webhook still exists.
func (b *Bot) removeWebhook(ctx context.Context) bool {
	if b.webhookRemoved {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	host := b.webhookHost(ctx)
	if _, err := b.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}); err != nil {
		b.log.WarnContext(ctx, "webhook was not deleted", slog.String("host", host), slog.Any("error", err))
		return false
	}
	b.webhookRemoved = true
	b.log.WarnContext(ctx, "webhook deleted: Telegram refuses polling while there is one", slog.String("host", host))
	return true
}

// webhookHost returns the host in the webhook's URL, or "" if the host is unknown. webhookHost omits the rest of the
// webhook's URL, which may be secret.
func (b *Bot) webhookHost(ctx context.Context) string {
	info, err := b.webhookInfo(ctx)
	if err != nil {
		return ""
	}
	u, err := url.Parse(info.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// webhookInfo requests the state of the webhook from Telegram. https://core.telegram.org/bots/api#webhookinfo
func (b *Bot) webhookInfo(ctx context.Context) (info tgbotapi.WebhookInfo, err error) {
	result, err := b.call(ctx, "getWebhookInfo", nil)
	if err != nil {
		return info, err
	}
	if json.Unmarshal(result, &info) != nil {
		return info, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getWebhookInfo: invalid response")}
	}
	return info, nil
}
