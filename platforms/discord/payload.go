package discord

import (
	"crypto/sha256"
	"encoding/base64"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// message is the body of a call that creates or edits a message. In the struct message, the fields that every call must
// contain have no omitempty. The type message is used in place of discordgo's MessageSend, in which content,
// allowed_mentions and flags have omitempty (ADR 14). A call without allowed_mentions notifies the people whom the text
// mentions. An edit does not change the fields that it omits.
// https://docs.discord.com/developers/resources/message#create-message
type message struct {
	Content      string                           `json:"content"`
	Nonce        string                           `json:"nonce,omitempty"`
	EnforceNonce bool                             `json:"enforce_nonce,omitempty"`
	Allowed      discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Reference    *discordgo.MessageReference      `json:"message_reference,omitempty"`
	Components   []discordgo.MessageComponent     `json:"components"`
	Flags        discordgo.MessageFlags           `json:"flags"`
	Attachments  []upload                         `json:"attachments,omitempty"`
}

// upload describes a file that the bot sends together with a message in one multipart form.
type upload struct {
	ID       int    `json:"id"`
	Filename string `json:"filename"`
}

// encode converts m to Discord's form. The encoded message notifies nobody, not even the author of the message to which
// it replies (F35). The flag SuppressEmbeds prevents Discord from loading the URLs in a text and from showing previews
// of the linked pages. https://docs.discord.com/developers/resources/message#allowed-mentions-object
// https://docs.discord.com/developers/resources/message#message-object-message-flags
func encode(m chat.Outgoing) message {
	out := message{
		Content: m.Text, Allowed: discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}, Components: buttons(m.Actions),
	}
	if m.LinkPreview == "" {
		out.Flags = discordgo.MessageFlagsSuppressEmbeds
	}
	return out
}

// buttons returns one row of buttons for the actions. In an edit, an empty list removes the message's buttons. telex
// uses a row of buttons, because it is the oldest kind of component, and all Discord apps support it.
func buttons(actions []chat.Action) []discordgo.MessageComponent {
	if len(actions) == 0 {
		return []discordgo.MessageComponent{}
	}
	var row discordgo.ActionsRow
	for _, a := range actions[:min(len(actions), maxButtons)] {
		row.Components = append(row.Components, discordgo.Button{Style: discordgo.SecondaryButton, Label: truncate(a.Label, maxLabel), CustomID: a.ID})
	}
	return []discordgo.MessageComponent{row}
}

// withNonce adds a nonce, by which Discord recognizes a repeated create. The nonce depends on the channel, because
// Discord compares the nonces of all channels.
// https://docs.discord.com/developers/resources/message#create-message-jsonform-params
func (m message) withNonce(channel, key string) message {
	if key != "" {
		sum := sha256.Sum256([]byte(channel + "\n" + key))
		m.Nonce, m.EnforceNonce = base64.RawURLEncoding.EncodeToString(sum[:16]), true // 22 characters; Discord allows 25
	}
	return m
}

// withReply makes m a reply to the message with the id to. withReply returns m unchanged if to is the id of a slash
// command, or of the message that started the thread, because the bot can't reply to a command or to the message that
// started the thread. Because FailIfNotExists is false, Discord sends m without the reply if the message with the id to
// was deleted (F47).
func (m message) withReply(channel string, to chat.MessageID) message {
	if id := string(to); isSnowflake(id) && id != channel {
		m.Reference = &discordgo.MessageReference{MessageID: id, FailIfNotExists: new(bool)}
	}
	return m
}

// truncate returns the first n characters of a text, or the whole text if it is shorter.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
