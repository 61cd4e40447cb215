package whatsapp

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content. The documentation says characters and not which: UTF-16 units are never fewer.
const (
	// textLimit is the longest text.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages
	textLimit = 4096
	// buttonTextLimit is the longest text above buttons, maxButtons how many there may be, and titleLimit what stands on one. An
	// id may have 256 characters, which no action's has.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages
	buttonTextLimit = 1024
	maxButtons      = 3
	titleLimit      = 20
	// captionLimit is the longest text below a picture or a document.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/document-messages
	captionLimit = 1024
)

// The largest files, in bytes.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
const (
	maxDocument = 100_000_000
	maxSound    = 16_000_000 // and videos
	maxImage    = 5_000_000
)

// maxUpload returns the size of the largest file of a kind.
func maxUpload(kind string) int {
	switch kind {
	case kindImage:
		return maxImage
	case kindVideo, kindAudio:
		return maxSound
	}
	return maxDocument
}

// typingEvery renews the typing indicator, which ends after 25 seconds or with the next message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
const typingEvery = 20 * time.Second

// Rates.
const (
	// pairInterval is the time between two messages to one person. Up to pairAhead messages may be sent earlier; the time is owed
	// then. Whether more may follow before it has passed is not quite clear, so only pairBurst are sent at once.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/about-the-platform#pair-rate-limits
	pairInterval = 6 * time.Second
	pairAhead    = 45
	pairBurst    = 10
	// throughput is the messages a second of a number, half of the 80 that it may have: those of people count too.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/throughput
	throughput = 40
)

// Profile states what holds in a chat: the same in all.
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
