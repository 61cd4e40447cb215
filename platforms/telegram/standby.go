package telegram

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// nameEvery is the time between two requests for the bot's name.
const nameEvery = 30 * time.Second

// Adopt implements gateway.Adopter: another process may have received the message.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	b.ids.sequenceOfTarget(in.To).addKnown(messageNumber(in.ID))
	return in
}

// StandBy implements gateway.StandbyWorker: it requests the bot's name, which Run learns when it begins.
func (b *Bot) StandBy(ctx context.Context) {
	for b.Name() == "" && receiving.Sleep(ctx, nameEvery) == nil {
		if _, err := b.self(ctx); err != nil && ctx.Err() == nil {
			b.log.DebugContext(ctx, "the bot's name is not known yet", slog.Any("error", err))
		}
	}
	<-ctx.Done()
}
