// Package telegram speaks the Telegram Bot API: it decodes updates into what people said and
// encodes what the gateway wants them to see. Text is formatted by entities with offsets in
// UTF-16 units, never by a parse mode, so that no text can be refused for its markup.
//
// The package states its limits but does not enforce them: it never waits, repeats, throttles
// or splits, and keeps nothing about a message once a call has returned. Every failure is a
// [chat.SendError] that says what may be done next. The bot's token, which stands in every
// address of the API, is in none of them.
package telegram
