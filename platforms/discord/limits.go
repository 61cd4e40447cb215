package discord

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content.
const (
	// textLimit is the longest content of a message, in characters.
	// https://docs.discord.com/developers/resources/message#create-message
	textLimit = 2000

	// maxUpload is the largest file that every guild takes.
	// https://docs.discord.com/developers/reference#uploading-files
	maxUpload = 10 << 20 // bytes

	// maxLabel and maxButtons bound a row of buttons.
	// https://docs.discord.com/developers/components/reference#button
	maxLabel   = 80 // characters
	maxButtons = 5

	// maxThreadName is the longest name of a thread.
	// https://docs.discord.com/developers/resources/channel#start-thread-from-message
	maxThreadName = 100 // characters

	// typingEvery renews "typing", which is shown for 10 seconds.
	// https://docs.discord.com/developers/resources/channel#trigger-typing-indicator
	typingEvery = 9 * time.Second

	// keyFor is how long a create that is repeated with its nonce makes no second message. The documentation says "the past
	// few minutes", of which two is the safe reading: with a longer one a repeated create could make a second message.
	// https://docs.discord.com/developers/resources/message#create-message-jsonform-params
	keyFor = 2 * time.Minute
)

// endpointCount leaves a fifth of the 50 calls that one bot may make in a second to those that it
// makes by itself: threads, commands, and asking what came while it was away.
// https://docs.discord.com/developers/topics/rate-limits#global-rate-limit
const endpointCount = 40

// Limits of interactions.
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback
const (
	// callbackTime is how long the first answer to an interaction may take.
	callbackTime = 3 * time.Second
	// callbackTry is how long one try may take, so that a connection that is dead leaves time for another,
	// and callbackPause is after the first. There is hardly time for more than callbackTries.
	callbackTry   = 1200 * time.Millisecond
	callbackPause = 100 * time.Millisecond
	callbackTries = 6
	// tokenLife is how long an interaction's token is good for.
	tokenLife = 15 * time.Minute
	// tokenUse is how long it is used: an edit that begins just before the end could fail (F53).
	tokenUse = 14 * time.Minute
)

// Profile states what holds in a place, which is the same everywhere. Buckets are told in the headers of answers and never
// fixed (https://docs.discord.com/developers/topics/rate-limits); the limits of threads are what bots observe before the
// first answer told. That sends and edits share their bucket is a remark of the platform's staff:
// https://github.com/discord/discord-api-docs/issues/20.
func (b *Bot) Profile(chat.Target) chat.Profile {
	return chat.Profile{
		TextLimit:    textLimit,
		EditInterval: 1200 * time.Millisecond, // inside the rate of one channel
		TypingEvery:  typingEvery,
		KeyFor:       keyFor,
		FileLimit:    maxUpload,
		Limits: []chat.Limit{
			{Scope: chat.ScopeThread, Ops: chat.OpSend | chat.OpFile | chat.OpEdit, Count: 5, Window: 5 * time.Second, Burst: 5},
			{Scope: chat.ScopeThread, Ops: chat.OpDelete, Count: 5, Window: time.Second, Burst: 5},
			{Scope: chat.ScopeThread, Ops: chat.OpTyping, Count: 5, Window: 5 * time.Second, Burst: 5},
			{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: endpointCount, Window: time.Second, Burst: endpointCount},
		},
	}
}
