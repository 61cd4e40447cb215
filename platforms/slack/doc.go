// Package slack implements Slack's APIs. It decodes events, slash commands and button presses, which arrive by Socket Mode or
// by HTTP, and encodes the gateway's messages as Markdown.
//
// The library builds the requests. Results are decoded from the responses themselves, so a response with a field that the
// library does not know is not a failure. A thread is a conversation: a message at the top of a channel is answered in
// its thread.
//
// The package states its limits but does not enforce them: it never repeats, throttles or splits a call, and keeps no
// state of a message after a call has returned. Every failure is a [chat.SendError] that says what may be done next. No
// error and no log contains a token, the signing secret, or the URL of a socket or upload.
package slack
