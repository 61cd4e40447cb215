package slack

import (
	"time"

	"telex/internal/chat"
)

// Limits of message content, in UTF-16 code units. Slack's documentation states these limits in characters. Counting
// UTF-16 code units is safe, because a text never has fewer code units than characters.
const (
	// textLimit is the maximum length of a message, which is the sum of its markdown blocks, and of one addition to a
	// stream. telex uses the same limit for posts and updates, so that telex can later edit every message that it posts
	// (F49). https://docs.slack.dev/reference/block-kit/blocks/markdown-block
	textLimit = 12_000
	// plainLimit is the maximum length of the notification text that an update contains in addition to its blocks.
	// https://docs.slack.dev/reference/methods/chat.update#errors (msg_too_long)
	plainLimit = 4000
	// totalLimit is the maximum length of a message's text and blocks together. Slack refuses more than about 13,200 code
	// units, although Slack's documentation does not mention a limit for text and blocks together.
	// https://github.com/slackapi/bolt-js/issues/2509
	totalLimit = 13_000

	// maxActions is the maximum number of buttons in a row, and maxLabel the maximum length of a button's label.
	// https://docs.slack.dev/reference/block-kit/blocks/actions-block
	// https://docs.slack.dev/reference/block-kit/block-elements/button-element
	maxActions = 25
	maxLabel   = 75

	// maxColumns is the maximum number of columns in a table.
	// https://docs.slack.dev/reference/block-kit/blocks/table-block
	maxColumns = 20

	// titleLimit is the maximum length of a thread's name. Slack accepts names of 200 characters, but shows the names in a
	// narrow list. https://docs.slack.dev/reference/methods/agents.sessions.rename
	titleLimit = 80

	// maxUpload is the maximum file size. https://slack.com/help/articles/201330736
	maxUpload = 1_000_000_000 // bytes
)

// typingEvery is the interval at which telex renews the status below a thread. Slack shows the status for two minutes
// or until the bot's next message. https://docs.slack.dev/reference/methods/assistant.threads.setStatus
const typingEvery = 100 * time.Second

// Slack ends a stream after about five minutes, although its documentation does not say so. An ended stream can't be
// extended or stopped, and its message looks broken until an update repairs the message (F48).
// https://github.com/slackapi/python-slack-sdk/issues/1859
const (
	// streamLifetime is the age at which the gateway stops a stream. streamLifetime leaves a minute for a call of
	// Stop that must wait for the rate limit.
	streamLifetime = 4 * time.Minute
	// streamMayHaveEnded is the age from which a stream may have ended by itself.
	streamMayHaveEnded = streamLifetime + 30*time.Second
)

// These constants are rates per app and workspace, from https://docs.slack.dev/apis/web-api/rate-limits. A tier is a
// number of calls per minute for each method, such as "20+", "50+" or "100+".
const (
	tierWindow = time.Minute
	tier2      = 20
	tier3      = 50
	tier4      = 100

	// The two methods that read messages are in tier 3. Find reads one or two pages of messages, and ReadThread reads up
	// to four pages. readCount is the number of pages that Slack's limit leaves for reading missed messages after a start.
	findCount   = 12
	threadCount = 8
	readCount   = tier3 - 2*findCount - threadCount
)

// idleConnections is how many idle connections to Slack the bot keeps open.
const idleConnections = 8

// Profile returns the limits of a chat. In threads, Slack supports native streams and a status line, but no slash
// commands.
func (b *Bot) Profile(to chat.Target) chat.Profile {
	p := chat.Profile{
		TextLimit:    textLimit,
		EditInterval: 1500 * time.Millisecond, // 40 edits per minute; all replies in the workspace together may make 46
		FileLimit:    maxUpload,
		Limits: []chat.Limit{
			// Slack allows one post per second in each channel, with short bursts, and "several hundred messages per
			// minute" in the workspace.
			{Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpFile, Count: 20, Window: 20 * time.Second, Burst: 3},
			endpointLimit(chat.OpSend, 300),
			endpointLimit(chat.OpFile, tier4), // each of the two methods that upload a file has this limit
			endpointLimit(chat.OpEdit, tier3),
			endpointLimit(chat.OpDelete, tier3),
			endpointLimit(chat.OpStart, tier2),
			endpointLimit(chat.OpAppend, tier4),
			endpointLimit(chat.OpStop, tier2),
			endpointLimit(chat.OpFind, findCount),
			endpointLimit(chat.OpPane, tier4), // each of the two methods of the pane has this limit
			endpointLimit(chat.OpTyping, 600), // https://docs.slack.dev/reference/methods/assistant.threads.setStatus
		},
	}
	if to.Thread != "" {
		p.TypingEvery, p.StreamFor, p.NoCommands = typingEvery, streamLifetime, true
		if self := b.self.Load(); self != nil && to.Kind == chat.Group {
			p.Slash = "@" + self.Name + " "
		}
		return p
	}
	p.Slash = "/telex " // the documented name; telex learns the real name when somebody uses the command
	if name := b.command.Load(); name != nil {
		p.Slash = *name + " "
	}
	return p
}

// endpointLimit returns a limit for the whole endpoint, from the number of calls per minute that Slack publishes. The
// limit allows bursts of a tenth of the calls per minute, but at least bursts of three calls. The limit's Count is
// smaller than the published number, because another process may have made a burst of calls just before this process
// started; see chat.Limit.
func endpointLimit(ops chat.Op, published int) chat.Limit {
	burst := max(3, published/10)
	return chat.Limit{Scope: chat.ScopeEndpoint, Ops: ops, Count: published - burst + 1, Window: tierWindow, Burst: burst}
}
