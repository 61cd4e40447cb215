package whatsapp

import (
	"context"

	"telex/internal/chat"
)

// Examine returns the verified name and the phone number, as Meta reports them. Examine neither receives nor sends
// messages. The errors of Examine are *chat.SendError.
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	a, err := b.account(ctx)
	if err != nil {
		return chat.Examination{}, err
	}
	return chat.Examination{Account: a.Name + " (" + a.Number + ")"}, nil
}
