package homeassistant

import (
	"time"

	"telex/internal/chat"
)

// These are the maximum lengths of texts. telex itself has chosen these lengths, because Home Assistant publishes no
// limits.
const (
	// notificationLimit is the maximum length of a persistent notification in characters. Texts longer than
	// notificationLimit are hard to read in the sidebar.
	notificationLimit = 16_000
	// textLimit is the maximum length of a text for a notify action in bytes. The services that deliver notifications to
	// phones accept 4096 bytes, including the title and all other data.
	// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
	// https://firebase.google.com/docs/cloud-messaging/concept-options
	textLimit = 3000
)

// keyLifetime is how long the gateway may repeat a create call whose outcome is unknown. Home Assistant keeps a
// notification until Home Assistant restarts, so a repeated create call usually replaces the notification of the first
// attempt.
const keyLifetime = 24 * time.Hour

// idleConnections is the maximum number of idle connections to Home Assistant.
const idleConnections = 2

// Profile returns the limits, which are the same for every target. Home Assistant has no edits, no previews and no
// published rate limits. NoCommands is set, because nobody can type a command in Home Assistant.
func (b *Bot) Profile(chat.Target) chat.Profile {
	p := chat.Profile{TextLimit: notificationLimit, KeyFor: keyLifetime, NoCommands: true}
	if b.notify != "" { // a repeated call of a notify action would show a second notification
		p.TextLimit, p.KeyFor = textLimit, 0
	}
	return p
}
