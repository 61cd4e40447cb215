package slack

import (
	"encoding/json"
	"slices"
	"strings"

	library "github.com/slack-go/slack"
)

// Payloads that Slack delivers, with the fields that are used. They are the same by sockets and by HTTP.

// callback is the payload of the Events API.
// https://docs.slack.dev/apis/events-api/#callback-field
type callback struct {
	Type      string          `json:"type"` // event_callback, url_verification or app_rate_limited
	Challenge string          `json:"challenge"`
	Event     json.RawMessage `json:"event"`
}

// Subtypes of messages that somebody wrote. Most other subtypes report events in a channel.
// https://docs.slack.dev/reference/events/message#subtypes
const (
	subtypeFile      = "file_share"
	subtypeBroadcast = "thread_broadcast"
	subtypeBot       = "bot_message"
	subtypeMe        = "me_message"
)

// Subtypes of events about a message that was written before.
const (
	subtypeChanged = "message_changed"
	subtypeDeleted = "message_deleted"
	// subtypeTombstone is what is left of a deleted message while its thread has replies. The event is then a change.
	subtypeTombstone = "tombstone"
)

// message is one, as events and the methods that read them have it.
// https://docs.slack.dev/reference/events/message
type message struct {
	Type        string `json:"type"` // message or app_mention
	Subtype     string `json:"subtype"`
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"` // not in app_mention
	User        string `json:"user"`
	Team        string `json:"team"`      // of the author
	UserTeam    string `json:"user_team"` // of an author from another workspace
	Username    string `json:"username"`  // of a bot that chose one
	BotID       string `json:"bot_id"`
	BotProfile  struct {
		Name string `json:"name"`
	} `json:"bot_profile"`
	Text         string `json:"text"`
	TS           string `json:"ts"`
	ThreadTS     string `json:"thread_ts"` // of the thread's parent, which has it too once there are replies
	ParentUserID string `json:"parent_user_id"`
	Hidden       bool   `json:"hidden"`
	LatestReply  string `json:"latest_reply"` // of a parent, where it was read
	Files        []file `json:"files"`
	// Attachments are what stands below the text: messages that were shared, previews of links, the cards of other apps.
	Attachments optional[[]optional[attached]] `json:"attachments"`
	Edited      optional[struct {
		User string `json:"user"`
	}] `json:"edited"`
	// Metadata is what an app noted of a message. That of other apps may have any form.
	Metadata optional[library.SlackMetadata] `json:"metadata"`
}

// change is an event about a message that was written before.
// https://docs.slack.dev/reference/events/message/message_changed, message_deleted
type change struct {
	Channel     string            `json:"channel"`
	ChannelType string            `json:"channel_type"`
	TS          string            `json:"ts"` // of the change
	DeletedTS   string            `json:"deleted_ts"`
	Message     optional[message] `json:"message"`
	Previous    optional[message] `json:"previous_message"`
}

// attached is an attachment of a message. Only those that are marked as shared were chosen by the author of the message.
// https://docs.slack.dev/reference/messaging/attachments
type attached struct {
	Share      bool   `json:"is_share"`
	Unfurl     bool   `json:"is_msg_unfurl"` // of a link to a message
	AuthorID   string `json:"author_id"`
	AuthorName string `json:"author_name"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	Fallback   string `json:"fallback"`
	Files      []file `json:"files"`
}

// file is one that somebody shared. https://docs.slack.dev/reference/objects/file-object
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
	Mode     string `json:"mode"` // tombstone: it was deleted
}

// isFrom says that m is the bot's own.
func (m *message) isFrom(self identity) bool {
	return m.User != "" && m.User == self.User || m.BotID != "" && m.BotID == self.Bot
}

// isWritten says that somebody wrote m, rather than that m reports an event in a channel.
func (m *message) isWritten() bool {
	return !m.Hidden && slices.Contains([]string{"", subtypeFile, subtypeBroadcast, subtypeBot, subtypeMe}, m.Subtype)
}

// key returns what the key of m's create became; empty where m has none.
func (m *message) key() string {
	if m.Metadata.value.EventType != metadataType {
		return ""
	}
	key, _ := m.Metadata.value.EventPayload[keyField].(string)
	return key
}

// isFile says that m is the file that was created with a key, given by what that becomes.
func (m *message) isFile(hashed string) bool {
	return slices.ContainsFunc(m.Files, func(f file) bool { return strings.Contains(f.Name, markOf(hashed)) })
}

// command is a slash command.
// https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling
type command struct {
	Command  string `json:"command"`
	Text     string `json:"text"`
	Channel  string `json:"channel_id"`
	User     string `json:"user_id"`
	UserName string `json:"user_name"`
	Team     string `json:"team_id"`
	Trigger  string `json:"trigger_id"`
}

// interaction is something that a person did to a message of ours.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
type interaction struct {
	Type string `json:"type"` // block_actions, and others that are not used
	User struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Username string `json:"username"`
		Team     string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		Channel  string `json:"channel_id"`
		TS       string `json:"message_ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		Type string `json:"type"`
		ID   string `json:"action_id"`
		TS   string `json:"action_ts"`
	} `json:"actions"`
}
