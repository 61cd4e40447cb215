package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// These are the ids of the workspace, the app, and the app's bot. DefaultUser is the person who acts if a test's call
// names no person. If U7 is a person, D7 is the direct message with that person.
const (
	TeamID      = "T0STANDIN"
	AppID       = "A0STANDIN"
	BotUser     = "U0STANDIN"
	BotID       = "B0STANDIN"
	DefaultUser = "U1001"

	teamName   = "Stand-in"
	teamDomain = "stand-in"
)

// Kinds of channels.
const (
	KindPublic  = "channel"
	KindPrivate = "private"
	KindIM      = "im"
	KindMPIM    = "mpim"
)

// User is a person or a bot.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	IsBot    bool   `json:"is_bot,omitempty"`
	BotID    string `json:"bot_id,omitempty"`
	// Team is the workspace of a person who uses a shared channel from another workspace. An empty Team means this
	// workspace.
	Team   string `json:"team,omitempty"`
	TZ     string `json:"tz,omitempty"`
	Locale string `json:"locale,omitempty"`
}

// Channel is a channel or a direct message.
type Channel struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Kind     string `json:"kind"`
	User     string `json:"user,omitempty"` // the person of a direct message
	Archived bool   `json:"archived,omitempty"`
	// BotOut means that the bot is not a member of the channel.
	BotOut  bool     `json:"bot_out,omitempty"`
	Members []string `json:"members,omitempty"` // people who wrote or were mentioned in the channel
}

// channelType returns the name of the channel's kind in events.
func (c Channel) channelType() string {
	if c.Kind == KindPrivate {
		return "group"
	}
	return c.Kind
}

// historyScope returns the scope that a token needs to read the channel's messages.
func (c Channel) historyScope() string {
	switch c.Kind {
	case KindPrivate:
		return "groups:history"
	case KindPublic:
		return "channels:history"
	}
	return c.Kind + ":history"
}

// channel is a Channel with its state.
type channel struct {
	info     Channel
	messages []*Message // sorted by ts
	byTS     map[string]*Message
	statuses []Status
	titles   map[string]string // titles of threads, by ts
	prompts  []Prompts
	sessions map[string]string // statuses of sessions, by the ts of their threads
}

// message returns the message with this ts, or nil if the message does not exist or was deleted.
func (c *channel) message(ts string) *Message {
	if c == nil || c.byTS[ts] == nil || !c.byTS[ts].Alive() {
		return nil
	}
	return c.byTS[ts]
}

// kindOf returns the kind that a new channel with this id gets.
func kindOf(id string) string {
	switch {
	case strings.HasPrefix(id, "D"):
		return KindIM
	case strings.HasPrefix(id, "G"):
		return KindMPIM
	}
	return KindPublic
}

// imOf returns the id of the direct message with a person.
func imOf(user string) string { return "D" + strings.TrimPrefix(user, "U") }

// channelFor returns the channel with this id. channelFor creates the channel if necessary: D… is a direct message, G…
// is a group message, and C… is a public channel. The bot is a member of every new channel.
func (s *Server) channelFor(id string) *channel {
	if c := s.channels[id]; c != nil {
		return c
	}
	info := Channel{ID: id, Kind: kindOf(id), Name: "channel-" + strings.ToLower(id)}
	switch info.Kind {
	case KindIM:
		info.Name, info.User = "", "U"+strings.TrimPrefix(id, "D")
		s.userFor(info.User)
	case KindMPIM:
		info.Name = "mpdm-" + strings.ToLower(id)
	}
	return s.put(info)
}

func (s *Server) put(info Channel) *channel {
	c := &channel{info: info, byTS: make(map[string]*Message), titles: make(map[string]string), sessions: make(map[string]string)}
	s.channels[info.ID] = c
	s.Publish("channel", Event{Channel: info.ID, Info: &info})
	return c
}

func (s *Server) userFor(id string) User {
	u, ok := s.users[id]
	if !ok {
		u = User{ID: id, Name: "person-" + strings.ToLower(strings.TrimPrefix(id, "U")), TZ: "Europe/Amsterdam", Locale: "en-US"}
		u.RealName = "Person " + strings.TrimPrefix(id, "U")
		s.users[id] = u
	}
	return u
}

// join makes a person a member of the channel.
func (c *channel) join(user string) {
	if c.info.Kind != KindIM && !slices.Contains(c.info.Members, user) {
		c.info.Members = append(slices.Clone(c.info.Members), user)
	}
}

// SetUser adds or changes a person.
func (s *Server) SetUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
}

// SetChannel adds a channel or changes its properties. SetChannel does not change the messages of the channel.
func (s *Server) SetChannel(info Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info.Kind = cmp.Or(info.Kind, kindOf(info.ID))
	if c := s.channels[info.ID]; c != nil {
		c.info = info
		s.Publish("channel", Event{Channel: info.ID, Info: &info})
		return
	}
	s.put(info)
}

// Archive archives a channel or opens it again. The bot can neither post nor edit in an archived channel.
func (s *Server) Archive(id string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channelFor(id)
	if c.info.Archived == archived {
		return
	}
	c.info.Archived = archived
	name := "channel_unarchive"
	if archived {
		name = "channel_archive"
	}
	s.deliverEvent(c, name, object{"type": name, "channel": id, "user": DefaultUser, "event_ts": s.nextTS()})
}

// RemoveBot removes the bot from a channel.
func (s *Server) RemoveBot(id string) { s.setBot(id, true) }

// AddBot makes the bot a member of a channel. The event member_joined_channel tells the app that the bot has become a
// member.
func (s *Server) AddBot(id string) { s.setBot(id, false) }

func (s *Server) setBot(id string, out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channelFor(id)
	if c.info.BotOut == out {
		return
	}
	c.info.BotOut = out
	info := c.info
	s.Publish("channel", Event{Channel: id, Info: &info})
	if !out {
		s.deliverEvent(c, "member_joined_channel", object{
			"type": "member_joined_channel", "user": BotUser, "channel": id, "channel_type": id[:1],
			"team": TeamID, "inviter": DefaultUser, "event_ts": s.nextTS(),
		})
	}
}

// Revoke uninstalls the app from the workspace, or installs it again. While the app is uninstalled, the server refuses
// the bot's token and delivers nothing to the app.
func (s *Server) Revoke(revoked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = revoked
}

// Channels returns the channels that exist, sorted by id.
func (s *Server) Channels() []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Channel, 0, len(s.channels))
	for _, c := range s.channels {
		list = append(list, c.info)
	}
	slices.SortFunc(list, func(a, b Channel) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// nextTS returns the ts of a new message or event: the current time, or the next microsecond after the last ts if that
// is later.
func (s *Server) nextTS() string {
	s.clock = max(s.clock+1, time.Now().UnixMicro())
	return writeTS(s.clock)
}

// writeTS formats a ts of microseconds since 1970.
func writeTS(us int64) string { return fmt.Sprintf("%d.%06d", us/1e6, us%1e6) }

// validTS reports whether a text has the form of a ts.
func validTS(ts string) bool {
	whole, part, ok := strings.Cut(ts, ".")
	digits := func(r rune) bool { return r >= '0' && r <= '9' }
	return ok && len(whole) > 0 && len(whole) <= 12 && len(part) == 6 &&
		strings.TrimFunc(whole, digits) == "" && strings.TrimFunc(part, digits) == ""
}

// compareTS compares two ts. The empty ts is the smallest.
func compareTS(a, b string) int {
	if d := len(a) - len(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// nextID returns a new id: the prefix and a number.
func (s *Server) nextID(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%08d", prefix, s.serial)
}

// uuid returns an id in the form of a UUID. The id is not random, so that tests are repeatable.
func (s *Server) uuid() string {
	s.serial++
	return fmt.Sprintf("5ac0de00-0000-4000-8000-%012x", s.serial)
}
