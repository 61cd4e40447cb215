package slack

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Incoming is a message that a person writes, or another bot.
type Incoming struct {
	// Channel is where: D… a direct message, G… one of several people, C… a channel. It
	// is made when it is new; the direct message with User when empty.
	Channel string `json:"channel"`
	// User is who; the person of the direct message, else DefaultUser when empty.
	User string `json:"user"`
	// Text is mrkdwn: <@U…>, <!channel> and <https://…|label> mean something, what else
	// holds &, < or > is escaped as Slack's own editor does.
	Text string `json:"text"`
	// Thread is the ts of a message to reply to, Broadcast shows the reply in the channel too.
	Thread    string `json:"thread_ts"`
	Broadcast bool   `json:"broadcast"`
	// Bot makes it a message of another app's bot, with this name.
	Bot   string       `json:"bot"`
	Files []Attachment `json:"files"`
	// Share is the ts of a message of the same channel that is forwarded with this one; then Text may be empty.
	Share string `json:"share"`
}

// Attachment is a file that a person sends.
type Attachment struct {
	Name    string `json:"name"`
	Mime    string `json:"mimetype"` // by the name when empty.
	Content []byte `json:"content"`
	// Size is what the platform names instead of the true size, in bytes; below 0: it names 0.
	Size int `json:"size"`
}

// Say lets a person write and returns the message's ts; "" when that can't be, because the
// channel is archived, the thread does not exist, or there is nothing to say.
func (s *Server) Say(in Incoming) string {
	ts, _ := s.say(in) // the reason is for the control API
	return ts
}

func (s *Server) say(in Incoming) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Channel = cmp.Or(in.Channel, imOf(cmp.Or(in.User, DefaultUser)))
	c := s.ensure(in.Channel)
	in.User = cmp.Or(in.User, cmp.Or(c.info.User, DefaultUser))
	thread := ""
	if in.Thread != "" {
		parent := c.byTS[in.Thread]
		if parent == nil || (!parent.Alive() && len(c.replies(in.Thread)) == 0) {
			return "", errors.New("no such thread")
		}
		thread = parent.Thread()
	}
	switch {
	case c.info.Archived:
		return "", errors.New("the channel is archived")
	case in.Share != "" && c.alive(in.Share) == nil:
		return "", errors.New("no such message to share")
	case in.Text == "" && len(in.Files) == 0 && in.Share == "":
		return "", errors.New("text is empty")
	}
	m := &Message{
		ThreadTS: thread, User: s.ensureUser(in.User).ID, Broadcast: in.Broadcast && thread != "", clientID: s.uuid(),
		share: c.alive(in.Share),
	}
	for _, a := range in.Files {
		m.Files = append(m.Files, s.keep(File{Name: cmp.Or(a.Name, "file"), Mime: a.Mime, Content: a.Content, Size: a.Size, user: in.User}))
	}
	switch {
	case in.Bot != "":
		m.Subtype, m.User, m.BotID, m.clientID = "bot_message", "", "B"+in.Bot, ""
	case len(m.Files) > 0:
		m.Subtype = "file_share"
	case m.Broadcast:
		m.Subtype = "thread_broadcast"
	}
	c.join(in.User)
	s.add(c, m, s.settle(Version{Method: "person", Text: normalize(in.Text)}))
	return m.TS, nil
}

// Edit lets a person change what a person wrote. A mention of the bot that is new there
// fires app_mention.
func (s *Server) Edit(channel, ts, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c.alive(ts) == nil || c.byTS[ts].FromBot || text == "" {
		return false
	}
	m := c.byTS[ts]
	before := m.Last()
	v := before
	v.At, v.Method, v.Text = time.Now(), "person", normalize(text)
	s.change(c, m, s.settle(v))
	if !slices.Contains(before.Mentions, BotUser) {
		s.tellMention(c, m)
	}
	return true
}

// Delete lets a person delete a message, the bot's as an administrator may.
func (s *Server) Delete(channel, ts string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c.alive(ts) == nil {
		return false
	}
	s.remove(c, c.byTS[ts], "person")
	return true
}
