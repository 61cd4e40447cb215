// Package slack speaks to Slack: it decodes what the Events API, slash commands and buttons
// bring, by Socket Mode or by HTTP, into what people said, and encodes what the gateway wants
// them to see as messages of Markdown.
//
// Requests are built by the library; what came of them is read from the answers themselves, so
// that an answer with something that the library does not know is no failure. A thread is a
// conversation: what is said at the top of a channel is answered in its thread.
//
// The package states its limits but does not obey them: it never repeats, throttles or splits a
// call, and keeps nothing about a message once a call has returned. Every failure is a
// [chat.SendError] that says what may be done next. Tokens, the signing secret and the addresses of
// sockets and uploads are in none of them, and in no log.
package slack
