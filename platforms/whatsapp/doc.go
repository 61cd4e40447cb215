// Package whatsapp implements WhatsApp's Cloud API. It decodes webhooks into messages for the gateway, and encodes the
// gateway's messages.
//
// Messages can be neither edited nor deleted, so an answer is sent once, when it is complete. People are identified by
// their business-scoped user id, or by their phone number if a webhook contains no such id.
//
// The package states its limits but does not enforce them: it never waits, repeats, throttles or splits. Every failure is
// a [chat.SendError] that says what may be done next. No error and no log contains the access token, the app secret or
// the verify token.
package whatsapp
