package discord

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"telex/standin/rig"
)

// Types of channels.
// Source: https://docs.discord.com/developers/resources/channel#channel-object-channel-types
const (
	GuildText     = 0
	DM            = 1
	PublicThread  = 11
	PrivateThread = 12
)

// Besides the bot, the objects with the following ids exist when the server starts.
const (
	// DefaultPerson is the person who acts if a test's call names no person.
	DefaultPerson = "200000000000001001"
	// DefaultGuild is the guild that the bot is initially in.
	DefaultGuild = "300000000000000001"
	// DefaultChannel is the first text channel of DefaultGuild.
	DefaultChannel = "400000000000000001"
	// DefaultRole is a role of DefaultGuild that anybody may mention.
	DefaultRole = "500000000000000001"
)

// User is a person or a bot.
type User struct {
	ID            string  `json:"id"`
	Username      string  `json:"username"`
	Discriminator string  `json:"discriminator"`
	GlobalName    *string `json:"global_name"`
	Avatar        *string `json:"avatar"`
	Bot           bool    `json:"bot,omitempty"`
}

// Access contains the restrictions on the bot in a channel. The zero value restricts nothing.
type Access struct {
	Hidden    bool `json:"hidden"`     // the bot does not see the channel: error 50001
	ReadOnly  bool `json:"read_only"`  // the bot may not write: error 50013
	NoFiles   bool `json:"no_files"`   // the bot may not attach files: error 50013
	NoThreads bool `json:"no_threads"` // the bot may not create threads: error 50013
	NoHistory bool `json:"no_history"` // the bot may not read earlier messages: error 50013
}

// Channel is a channel, a thread or a DM.
type Channel struct {
	ID   string `json:"id"`
	Type int    `json:"type"`
	// Guild is the channel's guild, or "" for a DM. Person is the person who shares a DM with the bot, or "" for other
	// channels.
	Guild  string `json:"guild,omitempty"`
	Person string `json:"person,omitempty"`
	Name   string `json:"name,omitempty"`
	// Parent is the channel to which a thread belongs.
	Parent   string `json:"parent,omitempty"`
	Owner    string `json:"owner,omitempty"` // the user who created the thread
	Archived bool   `json:"archived,omitempty"`
	Locked   bool   `json:"locked,omitempty"`
	// Blocked means that the person of a DM refuses the bot's messages.
	Blocked bool   `json:"blocked,omitempty"`
	Access  Access `json:"access,omitzero"`
}

func (c Channel) thread() bool { return c.Type == PublicThread || c.Type == PrivateThread }

// guild is the state of a guild. Server.mu guards it.
type guild struct {
	id, name string
	member   bool // the bot is in the guild
}

type channel struct {
	info        Channel
	autoArchive int // for threads only: minutes without activity before the thread is archived
	archivedAt  time.Time
	gone        bool // the channel was deleted by a moderator
	messages    []*Message
	byID        map[string]*Message
	typing      []Period
}

func (c *channel) message(id string) *Message {
	if c == nil || c.byID[id] == nil || !c.byID[id].Alive() {
		return nil
	}
	return c.byID[id]
}

// guildFor returns a guild. guildFor creates the guild, with the bot in it, if it does not exist.
func (s *Server) guildFor(id string) *guild {
	if g := s.guilds[id]; g != nil {
		return g
	}
	g := &guild{id: id, name: "Guild " + id, member: true}
	s.guilds[id] = g
	s.guildList = append(s.guildList, g)
	s.dispatch(intentGuilds, "GUILD_CREATE", s.wireGuild(g))
	return g
}

// dmWith returns the DM with a person. dmWith creates the DM if it does not exist.
func (s *Server) dmWith(person string) *channel {
	for _, c := range s.channelList {
		if c.info.Type == DM && c.info.Person == person {
			return c
		}
	}
	return s.addChannel(Channel{ID: s.ids.next(time.Now()), Type: DM, Person: person})
}

func (s *Server) addChannel(info Channel) *channel {
	c := &channel{info: info, byID: make(map[string]*Message)}
	s.channels[info.ID] = c
	s.channelList = append(s.channelList, c)
	s.Publish("channel", Event{Channel: info.ID, Info: &info})
	if info.Type == GuildText {
		s.dispatch(intentGuilds, "CHANNEL_CREATE", s.wireChannel(c))
	}
	return c
}

// textChannel returns a channel. If the channel does not exist, textChannel creates it in the guild.
func (s *Server) textChannel(id, guildID string) *channel {
	if c := s.channels[id]; c != nil {
		return c
	}
	g := s.guildFor(cmp.Or(guildID, DefaultGuild))
	return s.addChannel(Channel{ID: id, Type: GuildText, Guild: g.id, Name: "channel-" + id})
}

// person returns the user with this id. person creates the user if necessary.
func (s *Server) person(id string) User {
	if u, ok := s.users[id]; ok {
		return u
	}
	name := "Person " + id[max(0, len(id)-4):]
	u := User{ID: id, Username: "person_" + id[max(0, len(id)-4):], Discriminator: "0", GlobalName: &name}
	s.users[id] = u
	return u
}

// access returns the restrictions on the bot in a channel. A thread also has the restrictions of its parent channel.
func (s *Server) access(c *channel) Access {
	a := c.info.Access
	if g := s.guilds[c.info.Guild]; g != nil && !g.member {
		a.Hidden = true
	}
	if parent := s.channels[c.info.Parent]; parent != nil {
		p := s.access(parent)
		a = Access{
			Hidden: a.Hidden || p.Hidden, ReadOnly: a.ReadOnly || p.ReadOnly, NoFiles: a.NoFiles || p.NoFiles,
			NoThreads: a.NoThreads || p.NoThreads, NoHistory: a.NoHistory || p.NoHistory,
		}
	}
	return a
}

// visibleChannel returns a channel by its id. visibleChannel refuses the call if the bot may not see the channel.
func (s *Server) visibleChannel(id string) *channel {
	rig.RefuseIf(!isSnowflake(id), badField("NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", id), "channel_id"))
	c := s.channels[id]
	rig.RefuseIf(c == nil || c.gone, notFound(codeUnknownChannel, "Channel"))
	rig.RefuseIf(s.access(c).Hidden, missingAccess())
	return c
}

// channelOf returns the channel that is named in the path of the call.
func (s *Server) channelOf(r *request) *channel { return s.visibleChannel(r.param("channel")) }

// writableChannel returns the channel in the path of the call. writableChannel refuses the call if the bot may not
// write in the channel.
func (s *Server) writableChannel(r *request) *channel {
	c := s.channelOf(r)
	s.checkWritable(c)
	return c
}

// getChannel answers GET /channels/{channel}.
func (s *Server) getChannel(r *request, c *channel) any {
	return s.wireChannel(c)
}

// createDM answers POST /users/@me/channels.
func (s *Server) createDM(r *request) any {
	f := r.form()
	id := f.text("recipient_id", 1, 20)
	f.errs.refuse()
	rig.RefuseIf(!isSnowflake(id), badField("NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", id), "recipient_id"))
	u, ok := s.users[id]
	rig.RefuseIf(!ok || u.Bot, fail(http.StatusBadRequest, 50033, "Invalid Recipient(s)"))
	c := s.dmWith(id)
	r.call.Channel = c.info.ID
	return s.wireChannel(c)
}

// guildOf returns the guild in the path of the call. guildOf refuses the call if the bot is not in the guild.
func (s *Server) guildOf(r *request) *guild {
	g := s.guilds[r.param("guild")]
	rig.RefuseIf(g == nil, notFound(codeUnknownGuild, "Guild"))
	rig.RefuseIf(!g.member, missingAccess())
	return g
}

func (s *Server) getGuild(r *request, g *guild) any {
	return s.wireGuild(g)
}

func (s *Server) getGuilds(*request) any {
	list := []map[string]any{}
	for _, g := range s.guildList {
		if g.member {
			list = append(list, map[string]any{"id": g.id, "name": g.name, "owner": false, "permissions": allPermissions, "features": []string{}})
		}
	}
	return list
}

func (s *Server) getGuildChannels(r *request, g *guild) any {
	return s.wireChannels(g, false)
}

// getActiveThreads answers GET /guilds/{guild}/threads/active.
func (s *Server) getActiveThreads(r *request, g *guild) any {
	return map[string]any{"threads": s.wireChannels(g, true), "members": []any{}}
}

func (s *Server) wireChannels(g *guild, threads bool) []*wireChannel {
	list := []*wireChannel{}
	for _, c := range s.channelList {
		if c.info.Guild == g.id && c.info.thread() == threads && !c.gone && !c.info.Archived && !s.access(c).Hidden {
			list = append(list, s.wireChannel(c))
		}
	}
	return list
}

// Channels returns the channels in the order of their creation.
func (s *Server) Channels() []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Channel, 0, len(s.channelList))
	for _, c := range s.channelList {
		list = append(list, c.info)
	}
	return list
}

// DM returns the id of the DM with a person. DM creates the DM if necessary.
func (s *Server) DM(person string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dmWith(s.person(cmp.Or(person, DefaultPerson)).ID).info.ID
}

// roleIn reports whether a guild has a role.
func (s *Server) roleIn(c *channel, id string) bool {
	return c.info.Guild != "" && slices.Contains(s.roles, id)
}

// AddRole adds a role, which anybody may mention, to all guilds.
func (s *Server) AddRole(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.roles, id) {
		s.roles = append(s.roles, id)
	}
}
