// Package telegram implements the Telegram Bot API. It decodes updates into messages for the gateway, and encodes the
// gateway's messages. Text is formatted by entities with offsets in UTF-16 units, never by a parse mode, so Telegram
// can't refuse a text because of its markup.
//
// The package states its limits but does not enforce them: it never waits, repeats, throttles or splits. It keeps no
// state of a message after a call has returned. Every failure is a [chat.SendError] that says what may be done next. It
// never contains the bot's token, which is part of every URL of the API.
package telegram
