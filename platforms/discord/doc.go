// Package discord speaks to Discord: its REST API v10 for what the bot says, and its gateway for
// what people say. Text is Markdown in one string; nobody is ever notified by what stands in it.
//
// The package states its limits but does not obey them: a call never waits, repeats, throttles or
// splits, and every failure is a [chat.SendError] that says what may be done next. Neither the
// bot's token nor the tokens of interactions are in an error or a log.
//
// Of discordgo only the numbers and types of the protocol are used; docs/adr/0014-what-discordgo-does.md says why.
//
// # Where messages go
//
// A DM is a private chat. In a guild the chat is a channel, and a thread in it is a conversation of
// its own, with the channel as the chat. In a guild the bot answers who mentions it or replies to one of its
// messages; without the privileged intent, which it never asks for, Discord tells it the text of no others.
//
// A slash command is answered by way of its interaction as long as that lasts, 15 minutes, and then
// through the channel; the ids of messages hold what is needed for both. Where the bot does not see
// the channel, what does not fit into the one message that the interaction shows is Forbidden:
// follow-ups can't be repeated safely, for they have no nonce.
package discord
