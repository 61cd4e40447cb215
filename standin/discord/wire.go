package discord

import (
	"encoding/json"
	"time"

	"telex/standin/rig"
)

// allPermissions is the bit set of all of Discord's permissions.
const allPermissions = "2251799813685247"

// wireTime formats a time in Discord's form.
func wireTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

type wireMessage struct {
	ID              string           `json:"id"`
	ChannelID       string           `json:"channel_id"`
	GuildID         string           `json:"guild_id,omitempty"` // only in gateway events
	Author          User             `json:"author"`
	Member          *wireMember      `json:"member,omitempty"`
	Content         string           `json:"content"`
	Timestamp       string           `json:"timestamp"`
	EditedTimestamp *string          `json:"edited_timestamp"`
	TTS             bool             `json:"tts"`
	MentionEveryone bool             `json:"mention_everyone"`
	Mentions        []User           `json:"mentions"`
	MentionRoles    []string         `json:"mention_roles"`
	Attachments     []wireAttachment `json:"attachments"`
	Embeds          json.RawMessage  `json:"embeds"`
	Components      json.RawMessage  `json:"components"`
	Pinned          bool             `json:"pinned"`
	Type            int              `json:"type"`
	Flags           int              `json:"flags"`
	Nonce           json.RawMessage  `json:"nonce,omitempty"`
	Reference       *wireReference   `json:"message_reference,omitempty"`
	Referenced      json.RawMessage  `json:"referenced_message,omitempty"`
	Snapshots       []wireSnapshot   `json:"message_snapshots,omitempty"`
	WebhookID       string           `json:"webhook_id,omitempty"`
	ApplicationID   string           `json:"application_id,omitempty"`
	Interaction     *wireMetadata    `json:"interaction_metadata,omitempty"`
	Thread          *wireChannel     `json:"thread,omitempty"`
	ChannelType     *int             `json:"channel_type,omitempty"` // only in gateway events
}

type wireMetadata struct {
	ID     string            `json:"id"`
	Type   int               `json:"type"`
	User   User              `json:"user"`
	Owners map[string]string `json:"authorizing_integration_owners"`
}

type wireReference struct {
	Type      int    `json:"type"`
	MessageID string `json:"message_id,omitempty"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id,omitempty"`
}

// wireSnapshot is a copy of a message from the time when somebody forwarded it. The snapshot does not contain the
// author of the message. Source: https://docs.discord.com/developers/resources/message#message-snapshot-object
type wireSnapshot struct {
	Message snapshot `json:"message"`
}

type snapshot struct {
	Type            int              `json:"type"`
	Content         string           `json:"content"`
	Embeds          json.RawMessage  `json:"embeds"`
	Attachments     []wireAttachment `json:"attachments"`
	Timestamp       string           `json:"timestamp"`
	EditedTimestamp *string          `json:"edited_timestamp"`
	Flags           int              `json:"flags"`
	Mentions        []User           `json:"mentions"`
	MentionRoles    []string         `json:"mention_roles"`
	Components      json.RawMessage  `json:"components"`
}

type wireMember struct {
	User        *User    `json:"user,omitempty"`
	Nick        *string  `json:"nick"`
	Roles       []string `json:"roles"`
	JoinedAt    string   `json:"joined_at"`
	Deaf        bool     `json:"deaf"`
	Mute        bool     `json:"mute"`
	Flags       int      `json:"flags"`
	Permissions string   `json:"permissions,omitempty"` // only in interactions
}

type wireThreadMetadata struct {
	Archived         bool   `json:"archived"`
	AutoArchive      int    `json:"auto_archive_duration"`
	ArchiveTimestamp string `json:"archive_timestamp"`
	Locked           bool   `json:"locked"`
}

type wireChannel struct {
	ID            string              `json:"id"`
	Type          int                 `json:"type"`
	GuildID       string              `json:"guild_id,omitempty"`
	Name          string              `json:"name,omitempty"`
	ParentID      *string             `json:"parent_id,omitempty"`
	Position      int                 `json:"position"`
	Overwrites    []any               `json:"permission_overwrites"`
	Recipients    []User              `json:"recipients,omitempty"`
	LastMessageID *string             `json:"last_message_id"`
	OwnerID       string              `json:"owner_id,omitempty"`
	MessageCount  *int                `json:"message_count,omitempty"`
	MemberCount   *int                `json:"member_count,omitempty"`
	Thread        *wireThreadMetadata `json:"thread_metadata,omitempty"`
	Flags         int                 `json:"flags"`
}

func (s *Server) wireChannel(c *channel) *wireChannel {
	w := &wireChannel{ID: c.info.ID, Type: c.info.Type, GuildID: c.info.Guild, Name: c.info.Name, Overwrites: []any{}}
	if n := len(c.messages); n > 0 {
		w.LastMessageID = &c.messages[n-1].ID
	}
	switch {
	case c.info.Type == DM:
		w.Recipients = []User{s.person(c.info.Person)}
	case c.info.thread():
		count, members := len(c.messages), 2
		w.ParentID, w.OwnerID, w.MessageCount, w.MemberCount = &c.info.Parent, c.info.Owner, &count, &members
		w.Thread = &wireThreadMetadata{
			Archived: c.info.Archived, Locked: c.info.Locked, AutoArchive: c.autoArchive, ArchiveTimestamp: wireTime(c.archivedAt),
		}
	}
	return w
}

func (s *Server) wireMember(u *User) *wireMember {
	return &wireMember{User: u, Roles: []string{}, JoinedAt: wireTime(s.started)}
}

func (s *Server) wireGuild(g *guild) map[string]any {
	roles := []map[string]any{{"id": g.id, "name": "@everyone", "permissions": allPermissions, "position": 0, "color": 0, "hoist": false, "managed": false, "mentionable": false}}
	for i, id := range s.roles {
		roles = append(roles, map[string]any{"id": id, "name": "role-" + id, "permissions": "0", "position": i + 1, "color": 0, "hoist": false, "managed": false, "mentionable": true})
	}
	return map[string]any{
		"id": g.id, "name": g.name, "icon": nil, "owner_id": DefaultPerson, "joined_at": wireTime(s.started),
		"large": false, "unavailable": false, "member_count": 2, "members": []*wireMember{s.wireMember(&s.me)},
		"channels": s.wireChannels(g, false), "threads": s.wireChannels(g, true), "roles": roles,
		"emojis": []any{}, "stickers": []any{}, "features": []any{}, "presences": []any{}, "voice_states": []any{},
		"stage_instances": []any{}, "guild_scheduled_events": []any{}, "afk_timeout": 300, "preferred_locale": "en-US",
		"verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
		"premium_tier": 0, "nsfw_level": 0, "system_channel_flags": 0, "premium_progress_bar_enabled": false,
	}
}

// wire returns a message in the form in which the REST API sends it. gatewayMessage returns the form of the gateway.
func (s *Server) wire(c *channel, m *Message) *wireMessage {
	v := m.Last()
	w := &wireMessage{
		ID: m.ID, ChannelID: m.Channel, Author: m.From, Content: v.Content, Timestamp: wireTime(m.Versions[0].At),
		MentionEveryone: m.mentionEveryone, Mentions: []User{}, MentionRoles: append([]string{}, m.mentionRoles...),
		Attachments: []wireAttachment{}, Embeds: listOrEmpty(v.Embeds), Components: listOrEmpty(v.Components),
		Type: m.Type, Flags: v.Flags,
	}
	if v.edited {
		at := wireTime(v.At)
		w.EditedTimestamp = &at
	}
	for _, id := range m.mentions {
		w.Mentions = append(w.Mentions, s.person(id))
	}
	for _, a := range v.Attachments {
		w.Attachments = append(w.Attachments, s.wireAttachment(m, a))
	}
	if m.Type == typeReply {
		w.Reference = &wireReference{MessageID: m.ReplyTo, ChannelID: m.Channel, GuildID: m.Guild}
		w.Referenced = json.RawMessage("null")
		if target := c.message(m.ReplyTo); target != nil {
			inner := s.wire(c, target)
			inner.Reference, inner.Referenced, inner.Nonce = nil, nil, nil
			w.Referenced = rig.Encode(inner)
		}
	}
	if f := m.forwarded; f != nil {
		shown := *f
		shown.Attachments = []wireAttachment{}
		for _, a := range v.Attachments {
			shown.Attachments = append(shown.Attachments, s.wireAttachment(m, a))
		}
		w.Content, w.Attachments, w.Snapshots = "", []wireAttachment{}, []wireSnapshot{{shown}}
		w.Reference = &wireReference{Type: referenceForward, MessageID: m.ForwardOf, ChannelID: m.forwardFrom}
	}
	if m.Interaction != "" {
		w.WebhookID, w.ApplicationID = s.me.ID, s.me.ID
		if i := s.interactions[m.Interaction]; i != nil {
			w.Interaction = &wireMetadata{ID: i.ID, Type: i.Type, User: s.person(i.User), Owners: i.owners()}
		}
	}
	if t := s.channels[m.Thread]; t != nil {
		w.Thread = s.wireChannel(t)
	}
	return w
}

// gatewayMessage returns a message in the form in which the gateway sends it. If content is false, gatewayMessage
// leaves out the text that a bot may not read without the message content intent. If content is false, gatewayMessage
// also leaves out such a text of the message to which m replies.
func (s *Server) gatewayMessage(c *channel, m *Message, content bool) *wireMessage {
	w := s.wire(c, m)
	w.GuildID, w.ChannelType = m.Guild, &c.info.Type
	if m.Guild != "" && m.Interaction == "" {
		w.Member = s.wireMember(nil)
	}
	w.Nonce = m.nonce
	if !content && !s.isReadable(m) {
		w.Content, w.Attachments = "", []wireAttachment{}
		w.Embeds, w.Components = listOrEmpty(nil), listOrEmpty(nil)
		for i := range w.Snapshots {
			f := &w.Snapshots[i].Message
			f.Content, f.Attachments, f.Embeds, f.Components = "", []wireAttachment{}, listOrEmpty(nil), listOrEmpty(nil)
		}
	}
	if target := c.message(m.ReplyTo); w.Referenced != nil && target != nil && !content && !s.isReadable(target) {
		inner := s.gatewayMessage(c, target, false)
		inner.Reference, inner.Referenced, inner.GuildID, inner.ChannelType, inner.Member = nil, nil, "", nil, nil
		w.Referenced = rig.Encode(inner)
	}
	return w
}

func listOrEmpty(list json.RawMessage) json.RawMessage {
	if len(list) == 0 {
		return json.RawMessage("[]")
	}
	return list
}
