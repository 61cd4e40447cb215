// Package whatsapp speaks to WhatsApp's Cloud API: it decodes what webhooks bring into what people said, and encodes what the
// gateway wants them to see.
//
// A message can be neither edited nor deleted there, so that an answer is sent once, when it is finished. People are known by
// their business-scoped user id, and only where a webhook has none by their phone number.
//
// The package states its limits but does not enforce them: it never waits, repeats, throttles or splits. Every failure is a
// [chat.SendError] that says what may be done next. The access token, the app secret and the verify token are in none of them,
// and in no log.
package whatsapp
