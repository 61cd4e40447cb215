package slack

import (
	"context"
	"encoding/json"
	"slices"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// A slash command can be used in every conversation. If the bot is no member and can't answer, the acknowledgement says so: the
// person would see nothing at all otherwise.

const (
	methodInfo = "conversations.info"
	// outside is what the person alone sees.
	outside = "I can't write in this conversation. Invite me to the channel first (/invite), or write to me directly."
	// maxInfos is how many conversations are looked up in a minute; the method is tier 3.
	// https://docs.slack.dev/reference/methods/conversations.info
	maxInfos = tier3 - 10
)

// response acknowledges a command: ephemeral, only the person reads the text; in_channel, everybody sees the command that was
// used, and the text if there is one.
// https://docs.slack.dev/interactivity/implementing-slash-commands#responding_immediate_response
func response(kind, text string) json.RawMessage {
	fields := map[string]string{"response_type": kind}
	if text != "" {
		fields["text"] = text
	}
	data, _ := json.Marshal(fields) // of texts, which never fails
	return data
}

// isOutside reports whether the bot is certainly no member of a's conversation.
func (b *Bot) isOutside(ctx context.Context, a *arrival) bool {
	if b.infos.take(maxInfos) > 0 {
		return false
	}
	ctx, cancel := context.WithDeadline(ctx, a.arrived.Add(namesFor))
	defer cancel()
	got, err := b.call(ctx, methodInfo, func(ctx context.Context, api *library.Client) error {
		_, err := api.GetConversationInfoContext(ctx, &library.GetConversationInfoInput{ChannelID: string(a.in.To.Chat)})
		return err
	})
	if err != nil {
		return slices.Contains([]string{"channel_not_found", "not_in_channel"}, calls.Code(err))
	}
	var result struct {
		Channel struct {
			Member *bool `json:"is_member"` // not of direct messages
		} `json:"channel"`
	}
	if got.decode(methodInfo, &result) != nil {
		return false
	}
	return result.Channel.Member != nil && !*result.Channel.Member && a.in.To.Kind == chat.Group
}
