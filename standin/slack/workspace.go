package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The workspace, the app, and its bot. A person U… has the direct message D… with
// the same rest; a person that nobody named is DefaultUser.
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
	// Team is the workspace of somebody who is in shared channels only; the own one when empty.
	Team   string `json:"team,omitempty"`
	TZ     string `json:"tz,omitempty"`
	Locale string `json:"locale,omitempty"`
}

// Channel is a place for messages.
type Channel struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Kind     string `json:"kind"`
	User     string `json:"user,omitempty"` // the person of an im.
	Archived bool   `json:"archived,omitempty"`
	// BotOut tells that the bot is no member.
	BotOut  bool     `json:"bot_out,omitempty"`
	Members []string `json:"members,omitempty"` // people who wrote there or were named.
}

// channelType is the kind as events name it.
func (c Channel) channelType() string {
	if c.Kind == KindPrivate {
		return "group"
	}
	return c.Kind
}

// historyScope is what reads the channel's messages.
func (c Channel) historyScope() string {
	switch c.Kind {
	case KindPrivate:
		return "groups:history"
	case KindPublic:
		return "channels:history"
	}
	return c.Kind + ":history"
}

// channel is a Channel with what happened in it.
type channel struct {
	info     Channel
	messages []*Message // by ts.
	byTS     map[string]*Message
	statuses []Status
	titles   map[string]string // of threads, by their ts.
	prompts  []Prompts
	sessions map[string]string // statuses of sessions, by the ts of their threads.
}

// alive is a message that is not deleted, or nil.
func (c *channel) alive(ts string) *Message {
	if c == nil || c.byTS[ts] == nil || !c.byTS[ts].Alive() {
		return nil
	}
	return c.byTS[ts]
}

// kindOf is the kind of channel that an id stands for when it is first used.
func kindOf(id string) string {
	switch {
	case strings.HasPrefix(id, "D"):
		return KindIM
	case strings.HasPrefix(id, "G"):
		return KindMPIM
	}
	return KindPublic
}

// imOf is the direct message with a person.
func imOf(user string) string { return "D" + strings.TrimPrefix(user, "U") }

// ensure is the channel with this id, made when it is new: D… is a direct message,
// G… one of several people, C… a public channel, and the bot is in all of them.
func (s *Server) ensure(id string) *channel {
	if c := s.channels[id]; c != nil {
		return c
	}
	info := Channel{ID: id, Kind: kindOf(id), Name: "channel-" + strings.ToLower(id)}
	switch info.Kind {
	case KindIM:
		info.Name, info.User = "", "U"+strings.TrimPrefix(id, "D")
		s.ensureUser(info.User)
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

func (s *Server) ensureUser(id string) User {
	u, ok := s.users[id]
	if !ok {
		u = User{ID: id, Name: "person-" + strings.ToLower(strings.TrimPrefix(id, "U")), TZ: "Europe/Amsterdam", Locale: "en-US"}
		u.RealName = "Person " + strings.TrimPrefix(id, "U")
		s.users[id] = u
	}
	return u
}

// join makes a person a member.
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

// SetChannel adds a channel or changes what is known of it; its messages stay.
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

// Archive freezes a channel: nothing more is posted or edited in it.
func (s *Server) Archive(id string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ensure(id)
	if c.info.Archived == archived {
		return
	}
	c.info.Archived = archived
	name := "channel_unarchive"
	if archived {
		name = "channel_archive"
	}
	s.tell(c, name, object{"type": name, "channel": id, "user": DefaultUser, "event_ts": s.nextTS()})
}

// RemoveBot takes the bot out of a channel, AddBot brings it in.
func (s *Server) RemoveBot(id string) { s.setBot(id, true) }

// AddBot makes the bot a member of a channel; it is told by member_joined_channel.
func (s *Server) AddBot(id string) { s.setBot(id, false) }

func (s *Server) setBot(id string, out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ensure(id)
	if c.info.BotOut == out {
		return
	}
	c.info.BotOut = out
	info := c.info
	s.Publish("channel", Event{Channel: id, Info: &info})
	if !out {
		s.tell(c, "member_joined_channel", object{
			"type": "member_joined_channel", "user": BotUser, "channel": id, "channel_type": id[:1],
			"team": TeamID, "inviter": DefaultUser, "event_ts": s.nextTS(),
		})
	}
}

// Revoke uninstalls the app from the workspace, or installs it again: meanwhile its
// token is refused and nothing is delivered.
func (s *Server) Revoke(revoked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = revoked
}

// Channels returns the channels that exist, by id.
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

// nextTS is the id of what happens now: the time, and never the same twice.
func (s *Server) nextTS() string {
	s.clock = max(s.clock+1, time.Now().UnixMicro())
	return writeTS(s.clock)
}

// writeTS is a ts of microseconds since 1970.
func writeTS(us int64) string { return fmt.Sprintf("%d.%06d", us/1e6, us%1e6) }

// validTS reports whether a text has the form of a ts.
func validTS(ts string) bool {
	whole, part, ok := strings.Cut(ts, ".")
	digits := func(r rune) bool { return r >= '0' && r <= '9' }
	return ok && len(whole) > 0 && len(whole) <= 12 && len(part) == 6 &&
		strings.TrimFunc(whole, digits) == "" && strings.TrimFunc(part, digits) == ""
}

// compareTS orders two ts; "" is the least.
func compareTS(a, b string) int {
	if d := len(a) - len(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// nextID is an id that was never used: the prefix and a number.
func (s *Server) nextID(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%08d", prefix, s.serial)
}

// uuid is an id in the form of one; it is not random, so that tests can be repeated.
func (s *Server) uuid() string {
	s.serial++
	return fmt.Sprintf("5ac0de00-0000-4000-8000-%012x", s.serial)
}
