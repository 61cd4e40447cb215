// Package discord implements Discord's REST API v10, which sends messages, and its gateway, which receives events. Text is
// Markdown in one string. No text ever notifies anybody.
//
// The package states its limits but does not enforce them: a call never waits, repeats, throttles or splits. Every
// failure is a [chat.SendError] that says what may be done next. No error and no log contains the bot's token or the
// token of an interaction.
//
// The package uses only discordgo's numbers and types of the protocol. docs/adr/0014-what-discordgo-does.md says why.
//
// # Where messages go
//
// A DM is a private chat. In a guild, the chat is a channel, and a thread in it is a separate conversation with the
// channel as its chat. In a guild, the bot answers people who mention it or reply to one of its messages. Without the
// privileged intent, Discord does not send the text of other messages.
//
// A slash command is answered through its interaction for 15 minutes, and then through the channel. The ids of
// messages contain everything that is needed for both. If the bot does not see the channel, every call except the one
// message of the interaction fails with Forbidden, because follow-ups have no nonce and can't be repeated safely.
package discord
