package slack

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content, in UTF-16 units. The documentation says characters, which this is
// never less than.
const (
	// textLimit is the longest message: what the markdown blocks of a message may hold together, and one call adds to a
	// stream. It is the same for posts and updates: a message that could be posted but not edited would freeze in the middle
	// of an answer (F49). https://docs.slack.dev/reference/block-kit/blocks/markdown-block
	textLimit = 12_000
	// plainLimit is the longest text for notifications beside the blocks, in an update.
	// https://docs.slack.dev/reference/methods/chat.update#errors (msg_too_long)
	plainLimit = 4000
	// wholeLimit is what text and blocks of a message may hold together. Slack refuses more than about 13,200, which is not
	// documented. https://github.com/slackapi/bolt-js/issues/2509
	wholeLimit = 13_000

	// maxActions is how many buttons one row of them takes, maxLabel how long what stands on one is.
	// https://docs.slack.dev/reference/block-kit/blocks/actions-block
	// https://docs.slack.dev/reference/block-kit/block-elements/button-element
	maxActions = 25
	maxLabel   = 75

	// maxColumns is how many columns a table may have.
	// https://docs.slack.dev/reference/block-kit/blocks/table-block
	maxColumns = 20

	// titleLimit is the longest name of a thread. Slack takes 200, and shows them in a narrow list.
	// https://docs.slack.dev/reference/methods/agents.sessions.rename
	titleLimit = 80

	// maxUpload is the largest file. https://slack.com/help/articles/201330736
	maxUpload = 1_000_000_000 // bytes
)

// typingEvery renews the status below a thread, which stands for two minutes or until the bot's next
// message. https://docs.slack.dev/reference/methods/assistant.threads.setStatus
const typingEvery = 100 * time.Second

// A stream lives for about five minutes, which is not documented; then it can't be added to or
// stopped any more, and looks broken until an update mends it (F48).
// https://github.com/slackapi/python-slack-sdk/issues/1859
const (
	// streamFor leaves a minute for a stop that must wait its turn.
	streamFor = 4 * time.Minute
	// streamMayEnd is the age from which a stream may have ended by itself.
	streamMayEnd = streamFor + 30*time.Second
)

// Rates, per app and workspace, all from https://docs.slack.dev/apis/web-api/rate-limits: the tiers
// are calls a minute of each method, "20+", "50+" and "100+".
const (
	tierWindow = time.Minute
	tier2      = 20
	tier3      = 50
	tier4      = 100

	// The two methods that read messages are tier 3. Looking for one takes a page or two, a few pages are for threads that
	// the bot is asked about, and what a new Run catches up on gets what is left.
	findCount   = 12
	threadCount = 8
	readCount   = tier3 - 2*findCount - threadCount
)

// idleConnections is how many connections to Slack are kept for the next calls.
const idleConnections = 8

// Profile states what holds in a place. Threads have native streams and a status line; commands work only outside of threads.
func (b *Bot) Profile(to chat.Target) chat.Profile {
	p := chat.Profile{
		TextLimit:    textLimit,
		EditInterval: 1500 * time.Millisecond, // 40 a minute, of the 50 that all replies of the workspace share
		FileLimit:    maxUpload,
		Limits: []chat.Limit{
			// Posting is one message a second in each channel, short bursts allowed, and "several hundred messages per
			// minute" in the workspace.
			{Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpFile, Count: 20, Window: 20 * time.Second, Burst: 3},
			inAll(chat.OpSend, 300),
			inAll(chat.OpFile, tier4), // of each of the two methods that upload a file
			inAll(chat.OpEdit, tier3),
			inAll(chat.OpDelete, tier3),
			inAll(chat.OpStart, tier2),
			inAll(chat.OpAppend, tier4),
			inAll(chat.OpStop, tier2),
			inAll(chat.OpFind, findCount),
			inAll(chat.OpPane, tier4), // of each of its two methods
			inAll(chat.OpTyping, 600), // https://docs.slack.dev/reference/methods/assistant.threads.setStatus
		},
	}
	if to.Thread != "" {
		p.TypingEvery, p.StreamFor, p.NoCommands = typingEvery, streamFor, true
		if self := b.self.Load(); self != nil && to.Kind == chat.Group {
			p.Slash = "@" + self.Name + " "
		}
		return p
	}
	p.Slash = "/telex " // what the manifest in the documentation calls the command, until one is used
	if name := b.command.Load(); name != nil {
		p.Slash = *name + " "
	}
	return p
}

// inAll is a limit of calls a minute over everything. Half of them may come at once.
func inAll(ops chat.Op, count int) chat.Limit {
	return chat.Limit{Scope: chat.ScopeEndpoint, Ops: ops, Count: count, Window: tierWindow, Burst: count / 2}
}
