// Package discord is the adapter for Discord. The package sends messages through Discord's REST API v10, and receives
// events over a WebSocket from Discord's gateway. The package writes text as one string of Markdown. The messages of
// the package notify nobody, even if their text mentions people.
//
// The package tells telex's gateway which limits Discord has, but does not itself enforce these limits. The package
// never delays or repeats a call that telex's gateway makes, and never splits a text. Every error of a call is a
// [chat.SendError], whose kind tells the gateway how it may continue. No error and no log contains the bot's token or
// the token of an interaction.
//
// From the library discordgo, the package uses only the constants and types of the protocol.
// docs/adr/0014-what-discordgo-does.md explains why the package uses no more of discordgo.
//
// # Where messages go
//
// In telex's terms, a DM is a private chat, and a channel of a guild is a group. A thread is a separate conversation in
// the chat of its channel. In a guild, the bot answers people who mention the bot or reply to one of its messages.
// Without the privileged intent, Discord does not send the text of messages that neither mention the bot nor reply to
// it.
//
// The bot answers a slash command through the command's interaction for 15 minutes, and then through the channel.
// telex's ids of messages contain everything that the bot needs to answer through an interaction or a channel. If the
// bot may not write in the channel of a slash command, it sends the further messages of a long answer through the
// interaction too, as follow-up messages. A follow-up message has no nonce by which Discord could recognize a repeated
// call, so people may see a repeated follow-up message twice.
package discord
