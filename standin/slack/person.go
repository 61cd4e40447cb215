package slack

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Incoming is a message that a person or another bot sends.
type Incoming struct {
	// Channel is the id of the channel: An id D… belongs to a direct message, G… to a group message, and C… to a public
	// channel. Say creates the channel if necessary. If Channel is empty, the message goes to the direct message with
	// User.
	Channel string `json:"channel"`
	// User is the id of the writer. If User is empty, the writer is the person of the direct message, or DefaultUser in
	// other channels.
	User string `json:"user"`
	// Text is mrkdwn. <@U…>, <!channel> and <https://…|label> are control sequences; all other &, < and > are escaped, as
	// in Slack's own editor.
	Text string `json:"text"`
	// Thread is the ts of a message to reply to. With Broadcast, the channel also shows the reply.
	Thread    string `json:"thread_ts"`
	Broadcast bool   `json:"broadcast"`
	// If Bot is set, the message is from another app's bot with this name.
	Bot   string       `json:"bot"`
	Files []Attachment `json:"files"`
	// Share is the ts of a message of the same channel that this message forwards. If Share is set, Text may be empty.
	Share string `json:"share"`
}

// Attachment is a file that a person sends.
type Attachment struct {
	Name    string `json:"name"`
	Mime    string `json:"mimetype"` // empty: derived from the name
	Content []byte `json:"content"`
	// Size is the size in bytes that the stand-in reports to the app; 0 means the true size. If Size is negative, the
	// stand-in reports the size 0.
	Size int `json:"size"`
}

// Say sends a message as a person or another bot, and returns the ts of the message. Say returns "" if the channel is
// archived, the thread does not exist, or the message is empty.
func (s *Server) Say(in Incoming) string {
	ts, _ := s.say(in) // ignore the reason for a failure, which only the control API reports
	return ts
}

func (s *Server) say(in Incoming) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Channel = cmp.Or(in.Channel, imOf(cmp.Or(in.User, DefaultUser)))
	c := s.channelFor(in.Channel)
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
	case in.Share != "" && c.message(in.Share) == nil:
		return "", errors.New("no such message to share")
	case in.Text == "" && len(in.Files) == 0 && in.Share == "":
		return "", errors.New("text is empty")
	}
	m := &Message{
		ThreadTS: thread, User: s.userFor(in.User).ID, Broadcast: in.Broadcast && thread != "", clientID: s.uuid(),
		share: c.message(in.Share),
	}
	for _, a := range in.Files {
		m.Files = append(m.Files, s.storeFile(File{Name: cmp.Or(a.Name, "file"), Mime: a.Mime, Content: a.Content, Size: a.Size, user: in.User}))
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
	s.add(c, m, s.complete(Version{Method: "person", Text: normalize(in.Text)}))
	return m.TS, nil
}

// Edit edits a person's message. If the new text adds a mention of the bot, the app gets the event app_mention.
func (s *Server) Edit(channel, ts, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c.message(ts) == nil || c.byTS[ts].FromBot || text == "" {
		return false
	}
	m := c.byTS[ts]
	before := m.Last()
	v := before
	v.At, v.Method, v.Text = time.Now(), "person", normalize(text)
	s.change(c, m, s.complete(v))
	if !slices.Contains(before.Mentions, BotUser) {
		s.sendMentionEvent(c, m)
	}
	return true
}

// Delete deletes a message as a person. Like an administrator, a person may also delete the bot's messages.
func (s *Server) Delete(channel, ts string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c.message(ts) == nil {
		return false
	}
	s.remove(c, c.byTS[ts], "person")
	return true
}
