package telegram

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content.
const (
	// textLimit is the maximum length of a message after entity parsing. The reference says characters. UTF-16 units,
	// the unit of entity offsets, are the safe interpretation. https://core.telegram.org/bots/api#sendmessage
	textLimit = 4096

	// captionLimit is the maximum length of a file's caption, counted like textLimit.
	// https://core.telegram.org/bots/api#senddocument
	captionLimit = 1024

	// maxUpload is the maximum file size. Telegram's "50 MB" may mean 50 MiB; this is the smaller interpretation. A
	// local server may accept larger files, but no answer in a chat is that large.
	// https://core.telegram.org/bots/api#senddocument
	maxUpload = 50_000_000 // bytes

	// maxPhoto is the maximum size of a photo. maxPhotoSides is the maximum sum of its width and height, and
	// maxPhotoRatio the maximum ratio of the two. "10 MB" is interpreted like maxUpload.
	// https://core.telegram.org/bots/api#sendphoto
	maxPhoto      = 10_000_000 // bytes
	maxPhotoSides = 10_000     // pixels
	maxPhotoRatio = 20

	// richLimit is the maximum length of a rich message, counted like textLimit. A rich message has at most 500 blocks.
	// blockWriter uses up to maxParagraphs of them for paragraphs between blank lines. maxWeight and freeWeight cover
	// all other blocks. https://core.telegram.org/bots/api#rich-message-limits
	richLimit     = 32768
	maxColumns    = 20
	maxDetails    = 2 // nesting depth
	maxParagraphs = 80
	maxWeight     = 390
	freeWeight    = 16

	// likelySplitLength is the length from which a message may be a piece of a longer one. The apps split pasted text
	// at textLimit, or a little earlier at the end of a line or word.
	likelySplitLength = 4000 // UTF-16 units

	// maxEntities is the maximum number of entities in a message. Telegram drops the rest or refuses the message.
	// https://limits.tginfo.me/en (the reference does not state it).
	maxEntities = 100

	// typingEvery is the interval at which "typing" is renewed. Clients show it for at most 5 seconds.
	// https://core.telegram.org/bots/api#sendchataction
	typingEvery = 4 * time.Second

	// draftRenewal is the interval at which a draft is renewed. Clients show it for about 30 seconds, and the
	// difference allows for slow calls and waits. https://core.telegram.org/api/bots/ai
	draftRenewal = 25 * time.Second

	// maxArrivalDelay is how long after a failed call its message may still arrive. It is an estimate, like the bounds
	// of a search.
	maxArrivalDelay = 10 * time.Second
)

// The bounds of a search for one message: the probes in a private chat and in a group, and how many ids after the
// newest known one are tried. Each probe counts as an edit.
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

// inBurst is how many messages may be sent to one chat at once.
const inBurst = 3

// Limits of receiving, https://core.telegram.org/bots/api#getupdates.
const (
	pollTimeout = 30 * time.Second // how long the server waits for updates
	maxUpdates  = 100
)

// Limits of receiving by webhook.
const (
	// maxUpdate is the maximum size of an update in bytes. Telegram documents no limit. The longest message and its
	// quote are much smaller.
	maxUpdate = 1 << 20
	// updateTimeout limits the time to read an update.
	updateTimeout = 5 * time.Second
	// maxConnections is how many updates Telegram delivers at the same time. Updates of one chat arrive one after the
	// other. https://core.telegram.org/bots/api#setwebhook
	maxConnections = 10
	// maxRecent is how many accepted updates are remembered. The gateway's store knows all messages; this only avoids
	// most lookups there.
	maxRecent = 4096
	// webhookCheck is the interval of the checks that the webhook is set and Telegram reaches it.
	webhookCheck = time.Minute
	// webhookDeleteTimeout limits the deletion of the webhook when Run ends.
	webhookDeleteTimeout = 5 * time.Second
)

// Limits of the command menu, https://core.telegram.org/bots/api#botcommand and
// https://core.telegram.org/bots/api#setmycommands.
const (
	maxCommands           = 100
	maxCommandDescription = 256 // characters
)

// Profile returns the limits of a chat, which are the same for all private chats and for all groups. The rates come
// from https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: about one message per second
// in one chat with short bursts, and 20 messages per minute in a group. Edits in a group count like messages
// (https://github.com/grammyjs/website/pull/1076). Edits in a private chat and drafts are assumed to count too,
// because a 429 for any of these calls blocks the others too. With the pauses between two edits, a reply stays well
// below these rates.
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
