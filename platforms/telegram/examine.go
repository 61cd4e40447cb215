package telegram

import (
	"context"

	"telex/internal/chat"
)

// Examine returns what Telegram says about the bot. It neither receives nor sends messages. Errors are a
// *chat.SendError.
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
