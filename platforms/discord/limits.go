package discord

import (
	"time"

	"telex/internal/chat"
)

// These constants limit the content of a message.
const (
	// textLimit is the maximum length of a message in characters.
	// https://docs.discord.com/developers/resources/message#create-message
	textLimit = 2000

	// maxUpload is the maximum file size that every guild accepts.
	// https://docs.discord.com/developers/reference#uploading-files
	maxUpload = 10 << 20 // bytes

	// maxLabel and maxButtons limit a row of buttons. https://docs.discord.com/developers/components/reference#button
	maxLabel   = 80 // characters
	maxButtons = 5

	// maxThreadName is the maximum length of a thread's name.
	// https://docs.discord.com/developers/resources/channel#start-thread-from-message
	maxThreadName = 100 // characters

	// typingEvery is the interval at which telex renews the typing indicator. Discord's apps show the typing indicator for
	// 10 seconds. https://docs.discord.com/developers/resources/channel#trigger-typing-indicator
	typingEvery = 9 * time.Second

	// nonceLifetime is how long after a create call Discord recognizes a repetition of the call by its nonce. Within
	// nonceLifetime, a repeated create call makes no second message. Discord's documentation says "the past few
	// minutes". Two minutes is a safe interpretation of "the past few minutes". If Discord forgot a nonce before the end
	// of nonceLifetime, a repeated create call would make a second message.
	// https://docs.discord.com/developers/resources/message#create-message-jsonform-params
	nonceLifetime = 2 * time.Minute
)

// maxPerSecond is how many calls per second the gateway may make. Discord allows a bot 50 calls per second. The fifth
// of the calls that maxPerSecond leaves over is for calls that the adapter makes itself: for threads, commands, and
// backfills. https://docs.discord.com/developers/topics/rate-limits#global-rate-limit
const maxPerSecond = 40

// These constants limit the calls for an interaction.
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback
const (
	// callbackDeadline is Discord's deadline for the first response to an interaction.
	callbackDeadline = 3 * time.Second
	// callbackTimeout limits one attempt to acknowledge an interaction. callbackTimeout leaves time for a second attempt
	// if the first attempt used a dead connection. callbackPause is the pause after the first attempt. callbackTries is
	// the maximum number of attempts, because callbackDeadline leaves hardly any time for more.
	callbackTimeout = 1200 * time.Millisecond
	callbackPause   = 100 * time.Millisecond
	callbackTries   = 6
	// tokenLifetime is how long an interaction's token is valid.
	tokenLifetime = 15 * time.Minute
	// tokenUseTime is how long telex uses an interaction's token. tokenUseTime is shorter than tokenLifetime, because
	// an edit could arrive after the token has expired (F53).
	tokenUseTime = 14 * time.Minute
)

// Profile returns the limits of a chat, which are the same in all chats. Discord announces its rate limits only in
// the headers of responses, and may change them at any time (https://docs.discord.com/developers/topics/rate-limits).
// The limits with ScopeThread are values that developers of bots have observed. telex uses these limits until the
// first response announces other values. A member of Discord's staff wrote that sends and edits share one limit:
// https://github.com/discord/discord-api-docs/issues/20.
func (b *Bot) Profile(chat.Target) chat.Profile {
	return chat.Profile{
		TextLimit:    textLimit,
		EditInterval: 1200 * time.Millisecond, // longer than the rate limit of a channel requires
		TypingEvery:  typingEvery,
		KeyFor:       nonceLifetime,
		FileLimit:    maxUpload,
		Limits: []chat.Limit{
			{Scope: chat.ScopeThread, Ops: chat.OpSend | chat.OpFile | chat.OpEdit, Count: 5, Window: 5 * time.Second, Burst: 5},
			{Scope: chat.ScopeThread, Ops: chat.OpDelete, Count: 5, Window: time.Second, Burst: 5},
			{Scope: chat.ScopeThread, Ops: chat.OpTyping, Count: 5, Window: 5 * time.Second, Burst: 5},
			{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: maxPerSecond, Window: time.Second, Burst: maxPerSecond},
		},
	}
}
