package telegram

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content.
const (
	// textLimit is the longest message after entity parsing. The reference says characters;
	// counting UTF-16 units, the unit of entity offsets, is the safe upper bound.
	// https://core.telegram.org/bots/api#sendmessage
	textLimit = 4096

	// captionLimit is the longest caption of a file, counted like textLimit.
	// https://core.telegram.org/bots/api#senddocument
	captionLimit = 1024

	// maxUpload is the largest file. "50 MB" is read as the smaller of its meanings. A server
	// of one's own may take more, but nothing that answers a person in a chat is that large.
	// https://core.telegram.org/bots/api#senddocument
	maxUpload = 50_000_000 // bytes

	// maxPhoto is the largest picture that is shown in the chat, maxPhotoSides its width and height together, and
	// maxPhotoRatio how often one may be the other. "10 MB" is read like maxUpload.
	// https://core.telegram.org/bots/api#sendphoto
	maxPhoto      = 10_000_000 // bytes
	maxPhotoSides = 10_000     // pixels
	maxPhotoRatio = 20

	// richLimit is the longest text of a rich message, counted like textLimit. A rich message has at most 500 blocks, of which
	// the writer of blocks uses maxParagraphs for paragraphs between blank lines. It leaves maxWeight and freeWeight to all others.
	// https://core.telegram.org/bots/api#rich-message-limits
	richLimit     = 32768
	maxColumns    = 20
	maxDetails    = 2 // nested
	maxParagraphs = 80
	maxWeight     = 390
	freeWeight    = 16

	// splitSign is from which length on a message may be a piece of a longer one: the apps split
	// a pasted text at textLimit, or a little before, where a line or a word ends.
	splitSign = 4000 // UTF-16 units

	// maxEntities is how many entities a message may have; the rest is dropped or refused.
	// https://limits.tginfo.me/en (the reference does not state it).
	maxEntities = 100

	// typingEvery renews "typing", which clients show for at most 5 seconds.
	// https://core.telegram.org/bots/api#sendchataction
	typingEvery = 4 * time.Second

	// draftFor renews a draft, which clients show for about 30 seconds, early enough for a
	// call that is slow or that waits its turn.
	// https://core.telegram.org/api/bots/ai
	draftFor = 25 * time.Second

	// lateFor is how long after its failure a message may still arrive: a guess, like the bounds of a search.
	lateFor = 10 * time.Second
)

// The bounds of a search for one message: probes in a private chat and in a group, and how many ids above the newest known
// one are tried. Each probe counts as an edit.
const (
	maxProbes      = 20
	maxGroupProbes = 5
	probesAbove    = 2
)

// endpointCount is how many messages a bot may send in a second in all.
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
const endpointCount = 30

// Limits of receiving, https://core.telegram.org/bots/api#getupdates.
const (
	pollTimeout = 30 * time.Second // how long one poll waits
	maxUpdates  = 100
)

// Limits of receiving by a webhook.
const (
	// maxUpdate bounds an update, in bytes. Telegram documents no limit; the longest message and what it replies to are far shorter.
	maxUpdate = 1 << 20
	// updateTimeout is how long an update may take to arrive.
	updateTimeout = 5 * time.Second
	// maxConnections is how many updates Telegram delivers at the same time: those of a chat come one after the other.
	// https://core.telegram.org/bots/api#setwebhook
	maxConnections = 10
	// maxRecent is how many updates are remembered as accepted. The gateway's store knows all messages; this spares it most.
	maxRecent = 4096
	// webhookCheck is how often it is looked whether the webhook is set and Telegram reaches it.
	webhookCheck = time.Minute
	// partingTime is how long the deletion of the webhook may take when Run ends.
	partingTime = 5 * time.Second
)

// Limits of the menu, https://core.telegram.org/bots/api#botcommand and
// https://core.telegram.org/bots/api#setmycommands.
const (
	maxCommands           = 100
	maxCommandDescription = 256 // characters
)

// Profile states what holds in a chat: the same for all private chats, and for all groups. The rates are those of
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this:
// about one message a second in one chat with short bursts, 20 messages a minute in a group.
// Edits in a group count like messages
// (https://github.com/grammyjs/website/pull/1076); those in a private chat, and drafts, are
// taken to: their 429s share one bucket. The pauses between two edits stay well inside the rates.
func (b *Bot) Profile(to chat.Target) chat.Profile {
	p := chat.Profile{
		TextLimit:    b.richMode().limit(),
		EditInterval: 1500 * time.Millisecond,
		TypingEvery:  typingEvery,
		DraftFor:     draftFor,
		FileLimit:    maxUpload,
		LateFor:      lateFor,
	}
	inChat := chat.Limit{
		Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit | chat.OpDraft | chat.OpFile | chat.OpFind,
		Count: 20, Window: 20 * time.Second, Burst: 3,
	}
	if to.Kind == chat.Group {
		p.EditInterval, p.DraftFor = 3*time.Second, 0
		inChat.Window, inChat.Burst = time.Minute, 5
	}
	p.Limits = []chat.Limit{inChat, {Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: endpointCount, Window: time.Second, Burst: endpointCount}}
	return p
}
