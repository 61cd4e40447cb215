package discord

import (
	"crypto/sha256"
	"encoding/base64"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// message is the body of a create or an edit. Fields that must always be sent have no omitempty, unlike those of the
// library's MessageSend (ADR 14). Without allowed_mentions, a text notifies the people whom it mentions. An edit
// leaves fields unchanged that it does not contain.
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

// upload describes a file of the form.
type upload struct {
	ID       int    `json:"id"`
	Filename string `json:"filename"`
}

// encode converts m to the platform's form. The result notifies nobody, not even the author of the message that it
// replies to (F35). Without SuppressEmbeds, Discord would load every URL in the text to show a preview.
// https://docs.discord.com/developers/resources/message#allowed-mentions-object
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

// buttons returns the actions as one row. An empty list removes existing buttons. Rows of buttons are the oldest
// components, so every client supports them.
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

// withNonce adds the nonce that makes it safe to repeat a create. Discord compares the nonces of all channels, so the
// channel is part of the nonce. https://docs.discord.com/developers/resources/message#create-message-jsonform-params
func (m message) withNonce(channel, key string) message {
	if key != "" {
		sum := sha256.Sum256([]byte(channel + "\n" + key))
		m.Nonce, m.EnforceNonce = base64.RawURLEncoding.EncodeToString(sum[:16]), true // 22 of at most 25 characters
	}
	return m
}

// withReply adds the message to reply to. A command is not a message and can't be replied to. Inside a thread, a
// reply to the message that started the thread is impossible too. With FailIfNotExists unset, a message that replies
// to a deleted one is sent without a reply (F47).
func (m message) withReply(channel string, to chat.MessageID) message {
	if id := string(to); isSnowflake(id) && id != channel {
		m.Reference = &discordgo.MessageReference{MessageID: id, FailIfNotExists: new(bool)}
	}
	return m
}

// truncate returns at most n characters of a text.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
