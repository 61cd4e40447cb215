package whatsapp

import (
	"time"

	"telex/internal/chat"
)

// These constants limit the content of a message on WhatsApp. Meta's documentation counts characters, but does not
// define this word. The package counts UTF-16 code units, because a text never has more characters than UTF-16 code
// units.
const (
	// textLimit is the maximum length of a text.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages
	textLimit = 4096
	// buttonTextLimit is the maximum length of a text above buttons, maxButtons the maximum number of buttons, and
	// titleLimit the maximum length of a button's title. Button ids may have 256 characters; action ids are always
	// shorter.
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

// maxUpload returns the maximum size of a file of a kind.
func maxUpload(kind string) int {
	switch kind {
	case kindImage:
		return maxImage
	case kindVideo, kindAudio:
		return maxSound
	}
	return maxDocument
}

// typingEvery is the interval at which the typing indicator is renewed. WhatsApp hides the indicator after 25 seconds,
// or earlier when the bot sends a message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
const typingEvery = 20 * time.Second

// These are the limits on the rate of messages.
const (
	// pairInterval is the minimum average time between two messages to one person. A burst of up to pairAhead messages
	// may exceed this rate, if a correspondingly long pause follows. The documentation does not say whether further
	// messages are allowed before that pause has ended. telex therefore sends at most pairBurst messages at once.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/about-the-platform#pair-rate-limits
	pairInterval = 6 * time.Second
	pairAhead    = 45
	pairBurst    = 10
	// throughput is the limit of messages per second for the number. WhatsApp allows 80 messages per second. telex uses
	// only half of them, because messages from people count against the same limit.
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
