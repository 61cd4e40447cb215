package slack

import (
	"context"
	"encoding/json"
	"slices"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// People can use slash commands in every conversation. If the bot is not a member of a conversation, the bot can't
// answer in this conversation. If the bot finds out that it is not a member, the acknowledgement of a command tells
// the person that the bot can't answer, because the person would see no other reaction.

const (
	methodInfo = "conversations.info"
	// textNotMember is visible only to the person who used the command.
	textNotMember = "I can't write in this conversation. Invite me to the channel first (/invite), or write to me directly."
	// maxInfos is the maximum number of calls of methodInfo per minute. The maximum is half of Slack's limit, tier 3, for
	// the reason that the comment of maxLookups explains. https://docs.slack.dev/reference/methods/conversations.info
	maxInfos = tier3 / 2
)

// acknowledgement returns the response to a command. If kind is "ephemeral", only the person who used the command sees
// the text. If kind is "in_channel", everybody in the channel sees the command, and also the text if it is not empty.
// https://docs.slack.dev/interactivity/implementing-slash-commands#responding_immediate_response
func acknowledgement(kind, text string) json.RawMessage {
	fields := map[string]string{"response_type": kind}
	if text != "" {
		fields["text"] = text
	}
	data, _ := json.Marshal(fields) // encoding can't fail, because fields contains only strings
	return data
}

// isNotMember reports whether the bot is certainly not a member of the conversation in which the command a was used.
func (b *Bot) isNotMember(ctx context.Context, a *decodedEvent) bool {
	if b.infoPace.tryTake(b.readers.part(maxInfos)) > 0 {
		return false
	}
	ctx, cancel := context.WithDeadline(ctx, a.arrived.Add(namesTimeout))
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
			Member *bool `json:"is_member"` // Slack omits is_member for direct messages
		} `json:"channel"`
	}
	if got.decode(methodInfo, &result) != nil {
		return false
	}
	return result.Channel.Member != nil && !*result.Channel.Member && a.in.To.Kind == chat.Group
}
