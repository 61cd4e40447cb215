// Package slack is the adapter for Slack. The package decodes events, slash commands and button presses, which Slack
// delivers through Socket Mode or over HTTP, and sends the gateway's messages as Markdown.
//
// The library slack-go builds the requests. The package decodes Slack's responses itself, because the library fails if
// a response contains a field of an unknown form. Each thread is a conversation. The bot answers a message outside of
// threads in a new thread that starts at the message.
//
// The package tells the gateway which limits Slack has, but does not itself enforce these limits. The package never
// delays or repeats a call that the gateway makes, and never splits a text. Every error of a call is a
// [chat.SendError], whose kind tells the gateway how it may continue. No error and no log contains a token, the signing
// secret, or the URL of a socket or upload.
package slack
