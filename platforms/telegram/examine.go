package telegram

import (
	"context"

	"telex/internal/chat"
)

// Examine requests the bot's account and the problems with the bot's webhook from Telegram. Examine neither receives
// nor sends messages. All errors of Examine are of type *chat.SendError.
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	self, err := b.self(ctx)
	if err != nil {
		return chat.Examination{}, err
	}
	out := chat.Examination{Account: "@" + self.UserName}
	if b.webhook.URL != "" {
		out.Findings = b.webhookFindings(ctx)
	}
	return out, nil
}
