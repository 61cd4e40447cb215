package telegram

import (
	"context"

	"telex/internal/chat"
)

// waitingMark is the reaction on a message that waits for its turn.
const waitingMark = "👀"

// reaction is https://core.telegram.org/bots/api#reactiontypeemoji.
type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

// Mark implements gateway.Marker by a reaction of the bot. It is Rejected in chats that allow no such reaction.
func (b *Bot) Mark(ctx context.Context, ref chat.MessageRef, waits bool) error {
	params, err := message("setMessageReaction", ref)
	if err != nil {
		return err
	}
	list := []reaction{}
	if waits {
		list = append(list, reaction{Type: "emoji", Emoji: waitingMark})
	}
	encodeAs(params, "reaction", list)
	_, err = b.call(ctx, "setMessageReaction", params)
	return optional(err)
}
