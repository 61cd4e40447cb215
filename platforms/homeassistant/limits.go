package homeassistant

import (
	"time"

	"telex/internal/chat"
)

// The longest texts. Home Assistant states no limit.
const (
	// notificationLimit is the longest persistent notification, in characters: what a person reads in the sidebar without
	// getting lost.
	notificationLimit = 16_000
	// textLimit is the longest text for an action of notify, in bytes. Services that deliver to phones take 4096 bytes, the
	// title and everything else included.
	// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
	// https://firebase.google.com/docs/cloud-messaging/concept-options
	textLimit = 3000
)

// keyLifetime is how long a repeated create replaces the notification of the first attempt. Home Assistant keeps notifications
// until it restarts.
const keyLifetime = 24 * time.Hour

// idleConnections is how many connections are kept for the next calls.
const idleConnections = 2

// Profile states what holds everywhere. There are no edits, no previews and no published rates. Nobody can type a command.
func (b *Bot) Profile(chat.Target) chat.Profile {
	p := chat.Profile{TextLimit: notificationLimit, KeyFor: keyLifetime, NoCommands: true}
	if b.notify != "" { // nothing replaces what a device shows
		p.TextLimit, p.KeyFor = textLimit, 0
	}
	return p
}
