package telegram

import (
	"time"

	"telex/internal/chat"
)

// These constants limit the content of messages.
const (
	// textLimit is the maximum length of a message's text in UTF-16 code units. Telegram's documentation states the
	// maximum in "characters". UTF-16 code units are the safe interpretation, because no text has fewer UTF-16 code units
	// than characters. https://core.telegram.org/bots/api#sendmessage
	textLimit = 4096

	// captionLimit is the maximum length of a file's caption, counted like textLimit.
	// https://core.telegram.org/bots/api#senddocument
	captionLimit = 1024

	// maxUpload is the maximum file size. Telegram's "50 MB" may mean 50 MiB; maxUpload is the smaller of the two numbers.
	// A local Bot API server may accept larger files, but telex never sends a larger file in an answer.
	// https://core.telegram.org/bots/api#senddocument
	maxUpload = 50_000_000 // bytes

	// maxPhoto is the maximum size of a photo. maxPhotoSides is the maximum sum of a photo's width and height, and
	// maxPhotoRatio is the maximum ratio of width and height. Telegram's "10 MB" may mean 10 MiB; maxPhoto is the smaller
	// of the two numbers. https://core.telegram.org/bots/api#sendphoto
	maxPhoto      = 10_000_000 // bytes
	maxPhotoSides = 10_000     // pixels
	maxPhotoRatio = 20

	// richLimit is the maximum length of a rich message, counted like textLimit. A rich message has at most 500
	// blocks. blockWriter uses up to maxParagraphs blocks for paragraphs between blank lines. Dialect.Len limits the
	// weight of all other blocks to about maxWeight plus freeWeight; see blockWeight.
	// https://core.telegram.org/bots/api#rich-message-limits
	richLimit     = 32768
	maxColumns    = 20
	maxDetails    = 2 // nesting depth
	maxParagraphs = 80
	maxWeight     = 390
	freeWeight    = 16

	// likelySplitLength is the minimum length of a message that may be only the first piece of a longer text. Telegram's
	// apps split pasted text at textLimit, or a little earlier at the end of a line or word.
	likelySplitLength = 4000 // UTF-16 units

	// maxEntities is the maximum number of entities in a message. If a message has more than maxEntities entities,
	// Telegram drops some of the entities or refuses the message. Telegram's documentation does not mention a maximum
	// number of entities. https://limits.tginfo.me/en
	maxEntities = 100

	// typingEvery is the interval at which telex renews the typing indicator. Telegram's apps show the typing indicator
	// for at most 5 seconds. https://core.telegram.org/bots/api#sendchataction
	typingEvery = 4 * time.Second

	// draftRenewal is the interval at which telex renews a draft. Telegram's apps show a draft for about 30 seconds. The
	// renewal is 5 seconds earlier, because calls may be slow and may have to wait for the rate limit.
	// https://core.telegram.org/api/bots/ai
	draftRenewal = 25 * time.Second

	// maxArrivalDelay is how long after a failed create call the message of this call may still appear in the chat. The
	// value of maxArrivalDelay is an estimate.
	maxArrivalDelay = 10 * time.Second
)

// These constants limit the search for one message. A search makes at most maxProbes probes, which are edits, in a
// private chat, and maxGroupProbes in a group. A search tries up to probesAbove message ids after the newest known
// message id. Each probe counts as an edit against Telegram's rate limits.
const (
	maxProbes      = 20
	maxGroupProbes = 5
	probesAbove    = 2
)

// maxPerSecond is how many messages a bot may send per second in total.
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
const maxPerSecond = 30

// maxPerMinute is how many messages a bot may send to a group in a minute (same source as maxPerSecond).
const maxPerMinute = 20

// inBurst is how many messages telex may send to one chat without a pause between two messages.
const inBurst = 3

// These constants limit the calls that receive updates, https://core.telegram.org/bots/api#getupdates.
const (
	pollTimeout = 30 * time.Second // how long Telegram waits for updates before it responds to a poll
	maxUpdates  = 100
)

// These constants limit the webhook.
const (
	// maxUpdate is the maximum size of an update in bytes. Telegram documents no maximum size of an update, but even the
	// longest message with a quote is much smaller than maxUpdate.
	maxUpdate = 1 << 20
	// updateTimeout limits the time to read an update.
	updateTimeout = 5 * time.Second
	// maxConnections is how many updates Telegram delivers at the same time. Telegram delivers the updates of one chat one
	// after the other. https://core.telegram.org/bots/api#setwebhook
	maxConnections = 10
	// maxRecent is how many ids of accepted updates a Bot remembers. With the remembered ids, the Bot drops most repeated
	// updates without a query to the gateway's store. The gateway's store recognizes all repeated updates.
	maxRecent = 4096
	// webhookCheck is the interval at which telex checks that the webhook is still set and that Telegram can reach
	// it.
	webhookCheck = time.Minute
	// webhookDeleteTimeout limits the deletion of the webhook when Run ends.
	webhookDeleteTimeout = 5 * time.Second
)

// These constants limit the command menu, https://core.telegram.org/bots/api#botcommand and
// https://core.telegram.org/bots/api#setmycommands.
const (
	maxCommands           = 100
	maxCommandDescription = 256 // characters
)

// Profile returns the limits of a chat. All private chats have the same limits, and all groups have the same limits.
// Telegram allows about one message per second in each chat, with short bursts, and 20 messages per minute in a group
// (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this). Edits in a group count as messages
// (https://github.com/grammyjs/website/pull/1076). telex assumes that drafts and edits in private chats count as
// messages too, because a 429 for a message, an edit or a draft blocks all three. Because of EditInterval, one reply
// stays below the rate of a private chat and does not exceed the rate of a group.
func (b *Bot) Profile(to chat.Target) chat.Profile {
	p := chat.Profile{
		TextLimit:    b.richMode().limit(),
		EditInterval: 1500 * time.Millisecond,
		TypingEvery:  typingEvery,
		DraftFor:     draftRenewal,
		FileLimit:    maxUpload,
		LateFor:      maxArrivalDelay,
	}
	inChat := chat.Limit{
		Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit | chat.OpDraft | chat.OpFile | chat.OpFind,
		Count: 20, Window: 20 * time.Second, Burst: inBurst,
	}
	if to.Kind == chat.Group {
		p.EditInterval, p.DraftFor = 3*time.Second, 0
		inChat.Count, inChat.Window = maxPerMinute-inBurst+1, time.Minute // chat.Limit explains how Burst adds to Count
	}
	p.Limits = []chat.Limit{inChat, {Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: maxPerSecond, Window: time.Second, Burst: maxPerSecond}}
	return p
}
