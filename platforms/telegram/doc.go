// Package telegram is the adapter for the Telegram Bot API. The package decodes Telegram's updates into messages for
// the gateway, and sends the gateway's messages. The package formats text by entities with offsets in UTF-16 code
// units, never by a parse mode, so Telegram can't refuse a text because of its markup.
//
// The package tells the gateway which limits Telegram has, but does not itself enforce these limits. The package never
// delays or repeats a call, and never splits a text. After a call has returned, the package remembers only the id of
// the message that the call created. Every error of a call is a [chat.SendError], whose kind tells the gateway how it
// may continue. No error contains the bot's token, although the token is part of every URL of the API.
package telegram
