// Package whatsapp implements WhatsApp's Cloud API. The package decodes Meta's webhooks into messages for the gateway,
// and sends the gateway's messages.
//
// The Cloud API can neither edit nor delete a message, so telex sends an answer once, when it is complete. The package
// identifies a person by the business-scoped user id in the webhook. If the webhook contains no business-scoped user
// id, the package uses the phone number.
//
// The package reports WhatsApp's limits in [Bot.Profile], and the gateway enforces these limits. The package itself
// never waits, repeats or throttles a call, and never splits a text. Every failed call returns a [chat.SendError], whose
// kind tells the gateway whether the call may be repeated. No error and no log contains the access token, the app secret
// or the verify token.
package whatsapp
