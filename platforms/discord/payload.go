package discord

import (
	"crypto/sha256"
	"encoding/base64"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// message is the body of a create or an edit. Fields that must always be sent have no omitempty: without allowed_mentions a
// text notifies the people it names, and an edit keeps what it does not mention. That is why it is not the library's
// MessageSend (ADR 14).
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

// encode returns m as the platform takes it. It may notify nobody, not even the author of what it replies to (F35).
// Without the flag Discord opens every address in the text to show a preview.
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

// buttons returns the actions as one row; an empty list takes away what was there. They are the oldest components there
// are: every reader of a message knows them.
func buttons(actions []chat.Action) []discordgo.MessageComponent {
	if len(actions) == 0 {
		return []discordgo.MessageComponent{}
	}
	var row discordgo.ActionsRow
	for _, a := range actions[:min(len(actions), maxButtons)] {
		row.Components = append(row.Components, discordgo.Button{Style: discordgo.SecondaryButton, Label: cut(a.Label, maxLabel), CustomID: a.ID})
	}
	return []discordgo.MessageComponent{row}
}

// keyed adds the nonce that makes it harmless to repeat a create. Nonces are shared by all of the bot's channels, so the
// channel is a part of it.
// https://docs.discord.com/developers/resources/message#create-message-jsonform-params
func (m message) keyed(channel, key string) message {
	if key != "" {
		sum := sha256.Sum256([]byte(channel + "\n" + key))
		m.Nonce, m.EnforceNonce = base64.RawURLEncoding.EncodeToString(sum[:16]), true // 22 of at most 25 characters
	}
	return m
}

// replying adds which message this one replies to. A command is no message and can't be replied to. Neither can the first
// message of a thread, from inside the thread. Without FailIfNotExists a reply to a deleted message is sent all the same (F47).
func (m message) replying(channel string, to chat.MessageID) message {
	if id := string(to); isSnowflake(id) && id != channel {
		m.Reference = &discordgo.MessageReference{MessageID: id, FailIfNotExists: new(bool)}
	}
	return m
}

// cut returns at most n characters of a text.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
