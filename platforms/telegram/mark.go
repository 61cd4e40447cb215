package telegram

import (
	"context"

	"telex/internal/chat"
)

// waitingMark is the reaction that the bot adds to a message that waits in the queue.
const waitingMark = "👀"

// reaction is Telegram's type ReactionTypeEmoji, https://core.telegram.org/bots/api#reactiontypeemoji.
type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

// Mark implements gateway.Marker: it adds or removes the bot's reaction waitingMark. If the chat does not allow this
// reaction, Mark fails with Rejected.
func (b *Bot) Mark(ctx context.Context, ref chat.MessageRef, waits bool) error {
	params, err := messageParams("setMessageReaction", ref)
	if err != nil {
		return err
	}
	list := []reaction{}
	if waits {
		list = append(list, reaction{Type: "emoji", Emoji: waitingMark})
	}
	addJSON(params, "reaction", list)
	_, err = b.call(ctx, "setMessageReaction", params)
	return optionalMethodError(err)
}
