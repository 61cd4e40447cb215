package slack

import (
	"encoding/json"
	"slices"
	"strings"

	library "github.com/slack-go/slack"
)

// The following structs are Slack's payloads, with only those fields that telex uses. Slack delivers the same
// payloads over sockets and over HTTP.

// callback is the payload of the Events API.
// https://docs.slack.dev/apis/events-api/#callback-field
type callback struct {
	Type      string          `json:"type"` // event_callback, url_verification or app_rate_limited
	Challenge string          `json:"challenge"`
	Event     json.RawMessage `json:"event"`
}

// These constants are subtypes of messages from people and apps. Most other subtypes of messages report events, such as
// somebody joining a channel. https://docs.slack.dev/reference/events/message#subtypes
const (
	subtypeFile      = "file_share"
	subtypeBroadcast = "thread_broadcast"
	subtypeBot       = "bot_message"
	subtypeMe        = "me_message"
)

// These constants are subtypes of events about an earlier message.
const (
	subtypeChanged = "message_changed"
	subtypeDeleted = "message_deleted"
	// subtypeTombstone marks a deleted message whose thread still has replies. If a deleted message has replies, Slack
	// reports the deletion as a change of the message.
	subtypeTombstone = "tombstone"
)

// message is a message in events and in the results of the methods that read messages.
// https://docs.slack.dev/reference/events/message
type message struct {
	Type        string `json:"type"` // message or app_mention
	Subtype     string `json:"subtype"`
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"` // not in app_mention
	User        string `json:"user"`
	Team        string `json:"team"`      // workspace of the author
	UserTeam    string `json:"user_team"` // workspace of an author from another workspace
	Username    string `json:"username"`  // the name that a bot chose
	BotID       string `json:"bot_id"`
	BotProfile  struct {
		Name string `json:"name"`
	} `json:"bot_profile"`
	Text         string `json:"text"`
	TS           string `json:"ts"`
	ThreadTS     string `json:"thread_ts"` // ts of the thread's first message; that message has it too once it has replies
	ParentUserID string `json:"parent_user_id"`
	Hidden       bool   `json:"hidden"`
	LatestReply  string `json:"latest_reply"` // ts of the newest reply; only in the first message of a thread that the bot reads
	Files        []file `json:"files"`
	// Slack's apps show Attachments below the text: shared messages, previews of links, and cards of other apps.
	Attachments lenient[[]lenient[attachment]] `json:"attachments"`
	Edited      lenient[struct {
		User string `json:"user"`
	}] `json:"edited"`
	// Metadata is data that an app stored with the message. The metadata of another app's message may have any form.
	Metadata lenient[library.SlackMetadata] `json:"metadata"`
}

// change is an event about an earlier message. https://docs.slack.dev/reference/events/message/message_changed,
// message_deleted.
type change struct {
	Channel     string           `json:"channel"`
	ChannelType string           `json:"channel_type"`
	TS          string           `json:"ts"` // ts of the event, not of the changed message
	DeletedTS   string           `json:"deleted_ts"`
	Message     lenient[message] `json:"message"`
	Previous    lenient[message] `json:"previous_message"`
}

// attachment is an attachment of a message. The message's author chose only the attachments that are marked as
// shared; Slack and apps add others. https://docs.slack.dev/reference/messaging/attachments
type attachment struct {
	Share      bool   `json:"is_share"`
	Unfurl     bool   `json:"is_msg_unfurl"` // the attachment is a preview of a link to a message
	AuthorID   string `json:"author_id"`
	AuthorName string `json:"author_name"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	Fallback   string `json:"fallback"`
	Files      []file `json:"files"`
}

// file is a shared file. https://docs.slack.dev/reference/objects/file-object
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
	Mode     string `json:"mode"` // tombstone: the file was deleted
}

// isFrom reports whether the bot itself wrote m.
func (m *message) isFrom(self identity) bool {
	return m.User != "" && m.User == self.User || m.BotID != "" && m.BotID == self.Bot
}

// isUserMessage reports whether m is a message, not a report of an event, such as somebody joining the channel.
func (m *message) isUserMessage() bool {
	return !m.Hidden && slices.Contains([]string{"", subtypeFile, subtypeBroadcast, subtypeBot, subtypeMe}, m.Subtype)
}

// The method key returns the hash of the idempotency key with which m was created, or "" if m has no key.
func (m *message) key() string {
	if m.Metadata.value.EventType != metadataType {
		return ""
	}
	key, _ := m.Metadata.value.EventPayload[keyField].(string)
	return key
}

// isFile reports whether m shows the file that the bot created with the idempotency key whose hash is the parameter
// hashed.
func (m *message) isFile(hashed string) bool {
	return slices.ContainsFunc(m.Files, func(f file) bool { return strings.Contains(f.Name, keyMark(hashed)) })
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

// interaction is a person's action on one of the bot's messages.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
type interaction struct {
	Type string `json:"type"` // block_actions; other types are ignored
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
