package discord

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"telex/standin/rig"
)

// Incoming is a message that a person sends.
type Incoming struct {
	// Channel is the id of a channel or a thread, or "" for the DM with User. If the id is unknown, Say creates the
	// channel in the guild that the field Guild names.
	Channel string `json:"channel"`
	Guild   string `json:"guild"` // "" means DefaultGuild
	// User is the writer's id; "" means DefaultPerson.
	User string `json:"user"`
	// If Username or Name is not "", it replaces the writer's name.
	Username string `json:"username"`
	Name     string `json:"name"`
	// IsBot means that the writer is a bot, but not the tested one.
	IsBot bool `json:"is_bot"`

	// Text may contain mentions as <@id>; Server.Mention returns the text that mentions the bot.
	Text string `json:"text"`
	// ReplyTo is the message to which this one replies. With QuietReply, the reply does not mention the author of the
	// message to which it replies.
	ReplyTo    string `json:"reply_to"`
	QuietReply bool   `json:"quiet_reply"`
	// Forward is the message, from any channel, that this one forwards. With Forward, Text must be empty: if a person adds
	// text to a forward, Discord's apps send the text as a separate message.
	Forward string `json:"forward"`
	// If EditOf is set, Say edits the person's message with this id.
	EditOf string `json:"edit_of"`
	// Files are the files of the message.
	Files []File `json:"files"`
}

// File is a file that a person sends.
type File struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"` // "": detected from the content
	Content     []byte `json:"content"`      // base64 in JSON
}

// Say sends a message as a person, and returns the id of the message. Say creates the person, the channel and the guild
// if necessary. Say fails if a Discord client would not let the person do this.
func (s *Server) Say(in Incoming) (string, error) {
	if err := in.check(); err != nil {
		return "", fmt.Errorf("say: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.rememberWriter(in)
	c := s.channels[in.Channel]
	switch {
	case in.Channel == "":
		c = s.dmWith(user.ID)
	case c == nil:
		c = s.textChannel(in.Channel, in.Guild)
	}
	switch {
	case c.gone:
		return "", fmt.Errorf("say: channel %s is deleted", c.info.ID)
	case c.info.Type == DM && c.info.Person != user.ID:
		return "", fmt.Errorf("say: channel %s is the DM of %s", c.info.ID, c.info.Person)
	case c.info.Archived && c.info.Locked:
		return "", fmt.Errorf("say: thread %s is locked", c.info.ID)
	}
	if c.info.Type == DM {
		c.info.Blocked = false // as on Discord, a person who writes to the bot accepts its messages again
	}
	if in.EditOf != "" {
		return in.EditOf, s.editByPerson(c, user, in)
	}
	now := time.Now()
	m := &Message{ID: s.ids.next(now), From: user, ReplyTo: in.ReplyTo}
	if in.ReplyTo != "" {
		if c.message(in.ReplyTo) == nil {
			return "", fmt.Errorf("say: no message %q to reply to", in.ReplyTo)
		}
		m.Type = typeReply
	}
	if in.Forward != "" {
		return s.forward(c, m, in)
	}
	v := Version{At: now, Method: "person", Content: cleanText(in.Text)}
	var files []newFile
	for _, f := range in.Files {
		files = append(files, newFile{Upload: rig.Upload{Name: f.Name, Type: f.ContentType, Data: f.Content}})
	}
	v.Attachments = s.store(now, c, files)
	if v.empty() {
		return "", errors.New("say: text is empty")
	}
	m.Versions = []Version{v}
	s.mention(c, m, v.Content, allowedMentions{users: true, roles: true, everyone: true, replied: !in.QuietReply})
	s.unarchive(c)
	s.add(c, m)
	s.addEmbeds(c, m)
	return m.ID, nil
}

// forward forwards a message as a person.
func (s *Server) forward(c *channel, m *Message, in Incoming) (string, error) {
	var of *Message
	var from *channel
	for _, from = range s.channelList {
		if of = from.message(in.Forward); of != nil {
			break
		}
	}
	switch {
	case of == nil || of.OnlyFor != "" || of.Last().Loading():
		return "", fmt.Errorf("say: no message %q to forward", in.Forward)
	case in.Text != "" || len(in.Files) > 0 || in.ReplyTo != "":
		return "", errors.New("say: a forward has no text, files or reply of its own")
	}
	w := s.wire(from, of)
	m.ForwardOf, m.forwardFrom = of.ID, from.info.ID
	m.forwarded = &snapshot{
		Type: w.Type, Content: w.Content, Embeds: w.Embeds, Timestamp: w.Timestamp, EditedTimestamp: w.EditedTimestamp,
		Flags: w.Flags, Mentions: w.Mentions, MentionRoles: w.MentionRoles, Components: w.Components,
	}
	last := of.Last()
	m.Versions = []Version{{At: time.Now(), Method: "person", Content: last.Content, Attachments: last.Attachments}}
	s.unarchive(c)
	s.add(c, m)
	return m.ID, nil
}

// addEmbeds adds embeds for the URLs in a person's message. The gateway reports the added embeds to the bot as a change
// of the message.
func (s *Server) addEmbeds(c *channel, m *Message) {
	v := m.Last()
	links := v.Opened()
	if len(links) == 0 {
		return
	}
	v.Embeds = rig.Encode([]map[string]any{{"type": "link", "url": links[0]}})
	m.Versions[len(m.Versions)-1] = v
	s.dispatchMessage(c, "MESSAGE_UPDATE", m)
}

func (in Incoming) check() error {
	for _, id := range []string{in.Channel, in.Guild, in.User} {
		if id != "" && !isSnowflake(id) {
			return fmt.Errorf("%q is not an id", id)
		}
	}
	if utf8.RuneCountInString(in.Text) > maxContent {
		return fmt.Errorf("text is longer than %d characters", maxContent)
	}
	if len(in.Files) > maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	return nil
}

// rememberWriter stores the names of the writer of a message.
func (s *Server) rememberWriter(in Incoming) User {
	u := s.person(cmp.Or(in.User, DefaultPerson))
	u.Username = cmp.Or(in.Username, u.Username)
	if in.Name != "" {
		u.GlobalName = &in.Name
	}
	u.Bot = u.Bot || in.IsBot
	s.users[u.ID] = u
	return u
}

// editByPerson replaces the text of a person's message. Mentions in the new text notify nobody, but the gateway lists
// them as mentions of the message.
func (s *Server) editByPerson(c *channel, user User, in Incoming) error {
	m := c.message(in.EditOf)
	if m == nil || m.From.ID != user.ID {
		return fmt.Errorf("say: no message %q of this person", in.EditOf)
	}
	v := m.Last()
	v.At, v.Method, v.Content, v.edited = time.Now(), "person", cleanText(in.Text), true
	if v.empty() {
		return errors.New("say: text is empty")
	}
	pings := m.Pings
	m.mentions, m.mentionRoles = nil, nil
	s.mention(c, m, v.Content, allowedMentions{users: true, roles: true, everyone: true, replied: !in.QuietReply})
	m.Pings = pings
	s.change(c, m, v)
	s.addEmbeds(c, m)
	return nil
}

// Delete deletes a message as a person. Like a moderator, a person may also delete the bot's messages. The gateway
// reports the deletion to the bot.
func (s *Server) Delete(channelID, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.channels[channelID].message(message); m != nil {
		s.remove(s.channels[channelID], m, time.Now(), "person")
		return nil
	}
	return fmt.Errorf("delete: no message %q in channel %q", message, channelID)
}

// DeleteAll deletes several messages of a guild's channel at once, as moderation bots do.
func (s *Server) DeleteAll(channelID string, messages ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil || c.info.Guild == "" || s.removeAll(c, messages, "person") == 0 {
		return fmt.Errorf("delete: no such messages in channel %q of a guild", channelID)
	}
	return nil
}

// Block makes a person refuse the bot's messages, or accept them again. A person who writes to the bot also accepts its
// messages again.
func (s *Server) Block(person string, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dmWith(s.person(cmp.Or(person, DefaultPerson)).ID).info.Blocked = blocked
}

// Kick removes the bot from a guild.
func (s *Server) Kick(guildID string) { s.setMember(cmp.Or(guildID, DefaultGuild), false) }

// Invite adds the bot to a guild.
func (s *Server) Invite(guildID string) { s.setMember(cmp.Or(guildID, DefaultGuild), true) }

func (s *Server) setMember(id string, member bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guildFor(id)
	if g.member == member {
		return
	}
	g.member = member
	if member {
		s.dispatch(intentGuilds, "GUILD_CREATE", s.wireGuild(g))
		return
	}
	s.dispatch(intentGuilds, "GUILD_DELETE", map[string]any{"id": g.id})
}

// Permit replaces the restrictions on the bot in a channel. Permit fails if the channel does not exist.
func (s *Server) Permit(channelID string, a Access) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil {
		return fmt.Errorf("permit: no channel %q", channelID)
	}
	c.info.Access = a
	return nil
}

// DeleteChannel deletes a channel or a thread.
func (s *Server) DeleteChannel(channelID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil || c.gone || c.info.Type == DM {
		return fmt.Errorf("delete channel: no channel %q in a guild", channelID)
	}
	name := "CHANNEL_DELETE"
	if c.info.thread() {
		name = "THREAD_DELETE"
	}
	s.dispatchTo(c, intentGuilds, name, s.wireChannel(c))
	c.gone = true
	return nil
}
