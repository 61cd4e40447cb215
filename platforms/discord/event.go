package discord

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bwmarrin/discordgo"
)

// The following structs hold those fields of Discord's objects that telex uses. telex does not use discordgo's structs,
// because discordgo can't decode a message that contains an unknown component or an unknown form of a field.

// incoming is Discord's message object, with only those fields that telex uses.
// https://docs.discord.com/developers/resources/message#message-object
type incoming struct {
	ID          string                `json:"id"`
	Channel     string                `json:"channel_id"`
	Guild       string                `json:"guild_id"` // guild_id is present only in events
	ChannelType *int                  `json:"channel_type"`
	Type        discordgo.MessageType `json:"type"`
	Author      *user                 `json:"author"`
	Member      *member               `json:"member"`
	Webhook     string                `json:"webhook_id"`
	Content     string                `json:"content"`
	Timestamp   time.Time             `json:"timestamp"`
	Edited      *time.Time            `json:"edited_timestamp"`
	Mentions    []user                `json:"mentions"`
	Everyone    bool                  `json:"mention_everyone"`
	Roles       []string              `json:"mention_roles"`
	Attachments []attachment          `json:"attachments"`
	Stickers    []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Poll    any       `json:"poll"`
	ReplyTo *incoming `json:"referenced_message"`
	// Forwarded contains the messages that this message forwards. Forwarded messages have neither an author nor an
	// id.
	Forwarded []struct {
		Message incoming `json:"message"`
	} `json:"message_snapshots"`

	backlog bool  // the message was written before this connection was opened
	seq     int64 // sequence number of the event that brought the message; 0: a backfill read it
}

// user is Discord's user object, with only those fields that telex uses.
type user struct {
	ID     string  `json:"id"`
	Name   string  `json:"username"`
	Global string  `json:"global_name"`
	Bot    bool    `json:"bot"`
	Member *member `json:"member"` // member is present only in mentioned users
}

// member describes a user's membership in a guild, with only those fields that telex uses.
type member struct {
	Nick string `json:"nick"`
	User *user  `json:"user"` // user is present only in interactions
}

// attachment is Discord's object for a file, with only those fields that telex uses.
type attachment struct {
	Name      string `json:"filename"`
	MediaType string `json:"content_type"`
	Size      int64  `json:"size"`
	URL       string `json:"url"`
}

// incomingInteraction is Discord's interaction object, with only those fields that telex uses.
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object
type incomingInteraction struct {
	ID      string                    `json:"id"`
	App     string                    `json:"application_id"`
	Type    discordgo.InteractionType `json:"type"`
	Token   string                    `json:"token"`
	Guild   string                    `json:"guild_id"`
	Channel string                    `json:"channel_id"`
	Where   *channelInfo              `json:"channel"`
	Member  *member                   `json:"member"`
	User    *user                     `json:"user"`
	Data    struct {
		Type    discordgo.ApplicationCommandType `json:"type"`
		Name    string                           `json:"name"`
		Action  string                           `json:"custom_id"`
		Options []struct {
			Value json.RawMessage `json:"value"`
		} `json:"options"`
		Target   string `json:"target_id"` // the message that a command of the context menu asks about
		Resolved struct {
			Messages map[string]incoming `json:"messages"`
		} `json:"resolved"`
	} `json:"data"`
}

// deletion is an event about the deletion of one or several messages, with only those fields that telex uses.
// https://docs.discord.com/developers/events/gateway-events#message-delete-bulk
type deletion struct {
	ID      string   `json:"id"`
	IDs     []string `json:"ids"`
	Channel string   `json:"channel_id"`
	Guild   string   `json:"guild_id"`
}

// channelInfo is Discord's object for a channel or thread, with only those fields that telex uses.
type channelInfo struct {
	ID     string                `json:"id"`
	Type   discordgo.ChannelType `json:"type"`
	Guild  string                `json:"guild_id"`
	Parent string                `json:"parent_id"`
	Last   string                `json:"last_message_id"`
}

func (r *channelInfo) isThread() bool {
	return r.Type == discordgo.ChannelTypeGuildNewsThread || r.Type == discordgo.ChannelTypeGuildPublicThread ||
		r.Type == discordgo.ChannelTypeGuildPrivateThread
}

// guild is Discord's guild object, with only those fields that telex uses.
type guild struct {
	ID       string        `json:"id"`
	Channels []channelInfo `json:"channels"`
	Threads  []channelInfo `json:"threads"`
	Roles    []struct {
		ID   string `json:"id"`
		Tags struct {
			Bot string `json:"bot_id"`
		} `json:"tags"`
	} `json:"roles"`
}

// ready is the event that starts a session, with only those fields that telex uses.
type ready struct {
	User    user   `json:"user"`
	Session string `json:"session_id"`
	Address string `json:"resume_gateway_url"`
	Guilds  []struct {
		ID string `json:"id"`
	} `json:"guilds"`
	App struct {
		ID string `json:"id"`
	} `json:"application"`
}

var errNoID = errors.New("missing id or channel")
