package whatsapp

import (
	"time"

	"telex/internal/chat"
)

// These constants limit the content of a message on WhatsApp. Meta's documentation states these limits in "characters",
// but does not define what a character is. The package counts UTF-16 code units, because a text never has more
// characters than UTF-16 code units.
const (
	// textLimit is the maximum length of a text.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages
	textLimit = 4096
	// buttonTextLimit is the maximum length of a text above buttons, maxButtons the maximum number of buttons, and
	// titleLimit the maximum length of a button's title. WhatsApp allows 256 characters in the id of a button. The ids of
	// telex's actions are always shorter.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages
	buttonTextLimit = 1024
	maxButtons      = 3
	titleLimit      = 20
	// captionLimit is the maximum length of the caption of a picture or document.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/document-messages
	captionLimit = 1024
)

// These are the maximum sizes of files in bytes, by the kind of message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
const (
	maxDocument = 100_000_000
	maxSound    = 16_000_000 // also for videos
	maxImage    = 5_000_000
)

// maxUpload returns the maximum size of a file in a message of the given kind.
func maxUpload(kind string) int {
	switch kind {
	case kindImage:
		return maxImage
	case kindVideo, kindAudio:
		return maxSound
	}
	return maxDocument
}

// typingEvery is the interval at which telex renews the typing indicator. WhatsApp hides the typing indicator after 25
// seconds, or earlier when the bot sends a message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
const typingEvery = 20 * time.Second

// The constants in this block limit how many messages telex sends per time.
const (
	// pairInterval is the minimum average time between two messages to one person. WhatsApp allows a burst of up to
	// pairAhead messages without pairInterval between them, if a correspondingly long pause follows the burst. Meta's
	// documentation does not say whether further messages are allowed before the pause after a burst has ended. telex
	// therefore sends at most pairBurst messages at once.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/about-the-platform#pair-rate-limits
	pairInterval = 6 * time.Second
	pairAhead    = 45
	pairBurst    = 10
	// throughput is how many messages per second telex sends from the phone number. WhatsApp allows 80 messages per
	// second. telex uses only half of this limit, because messages from people count against the same limit.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
	throughput = 40
)

// Profile returns the limits of a chat, which are the same in all chats.
func (b *Bot) Profile(chat.Target) chat.Profile {
	const ops = chat.OpSend | chat.OpFile
	return chat.Profile{
		TextLimit: textLimit, TypingEvery: typingEvery, FileLimit: maxDocument,
		Limits: []chat.Limit{
			{Scope: chat.ScopeChat, Ops: ops, Count: pairAhead, Window: pairAhead * pairInterval, Burst: pairBurst},
			{Scope: chat.ScopeEndpoint, Ops: ops, Count: throughput, Window: time.Second, Burst: throughput},
		},
	}
}
