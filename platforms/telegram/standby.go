package telegram

import (
	"context"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// Adopt implements gateway.Adopter. Adopt records the id of the message as a known id, because another process may have
// received the message.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	b.ids.sequenceOfTarget(in.To).addKnown(messageNumber(in.ID))
	return in
}

// StandBy implements gateway.StandbyWorker. StandBy runs in a process that sends messages but receives none. StandBy
// requests the bot's name regularly. (In the process that receives messages, Run requests the name once at its start.)
func (b *Bot) StandBy(ctx context.Context, works func()) error {
	err := receiving.Probe(ctx, func(ctx context.Context) error {
		_, err := b.self(ctx)
		return err
	}, works)
	return receiveError(ctx, err)
}
