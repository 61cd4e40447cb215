package homeassistant

import (
	"time"

	"telex/internal/chat"
)

// Maximum lengths of texts. Home Assistant publishes no limits.
const (
	// notificationLimit is the maximum length of a persistent notification in characters. Longer texts are hard to read
	// in the sidebar.
	notificationLimit = 16_000
	// textLimit is the maximum length of a text for a notify action in bytes. Services that deliver to phones accept
	// 4096 bytes, including the title and all other data.
	// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
	// https://firebase.google.com/docs/cloud-messaging/concept-options
	textLimit = 3000
)

// keyLifetime is how long a repeated create replaces the notification of the first attempt. Home Assistant keeps
// notifications until it restarts.
const keyLifetime = 24 * time.Hour

// idleConnections is how many idle connections are kept.
const idleConnections = 2

// Profile returns the limits, which are the same everywhere. There are no edits, no previews and no published rates.
// Nobody can type a command.
func (b *Bot) Profile(chat.Target) chat.Profile {
	p := chat.Profile{TextLimit: notificationLimit, KeyFor: keyLifetime, NoCommands: true}
	if b.notify != "" { // a repeated call shows a second notification on a device
		p.TextLimit, p.KeyFor = textLimit, 0
	}
	return p
}
