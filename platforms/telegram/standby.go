package telegram

import (
	"context"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// Adopt implements gateway.Adopter. Adopt records the message's id as known, because another process may have
// received the message.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	b.ids.sequenceOfTarget(in.To).addKnown(messageNumber(in.ID))
	return in
}

// StandBy implements gateway.StandbyWorker. StandBy serves a process that only sends: StandBy requests the bot's name
// regularly, while Run in the receiving process requests the name once at its start.
func (b *Bot) StandBy(ctx context.Context, works func()) error {
	err := receiving.Probe(ctx, func(ctx context.Context) error {
		_, err := b.self(ctx)
		return err
	}, works)
	return receiveError(ctx, err)
}
