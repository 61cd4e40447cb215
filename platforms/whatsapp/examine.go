package whatsapp

import (
	"context"

	"telex/internal/chat"
)

// Examine returns what Meta says about the phone number. It neither receives nor sends messages. Errors are a
// *chat.SendError.
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	a, err := b.account(ctx)
	if err != nil {
		return chat.Examination{}, err
	}
	return chat.Examination{Account: a.Name + " (" + a.Number + ")"}, nil
}
