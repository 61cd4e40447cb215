package telegram

import (
	"time"
	"unicode/utf16"
)

// chat is the server's state of a chat.
type chat struct {
	info     Chat
	messages []*Message
	byID     map[int]*Message
	lastID   int // set only for supergroups and channels, each of which has its own sequence of ids
	topics   map[int]bool

	typing []Period
	drafts []Draft

	blocked     bool // private chat: the person has blocked the bot
	deactivated bool // private chat: the person's account was deleted
	kicked      bool // the bot was removed from the group
	migratedTo  int64
	admin       bool           // the bot is an administrator: it sees all messages and may delete messages of others
	admins      map[int64]bool // people who are administrators
}

// Chat types of the Bot API.
const (
	Private    = "private"
	Group      = "group"
	Supergroup = "supergroup"
	Channel    = "channel"
)

// supergroupIDs is the greatest id of a supergroup or a channel. Basic groups have greater negative ids.
const supergroupIDs = -1_000_000_000_000

func chatTypeOf(id int64) string {
	switch {
	case id > 0:
		return Private
	case id <= supergroupIDs:
		return Supergroup
	}
	return Group
}

// private reports whether the chat is private.
func (c *chat) private() bool { return c.info.Type == Private }

// chatFor returns the chat with this id. chatFor creates the chat if necessary.
func (s *Server) chatFor(id int64, kind string) *chat {
	if c, ok := s.chats[id]; ok {
		return c
	}
	if kind == "" {
		kind = chatTypeOf(id)
	}
	c := &chat{lastID: s.firstID, info: Chat{ID: id, Type: kind}, byID: make(map[int]*Message), topics: make(map[int]bool), admins: make(map[int64]bool)}
	s.chats[id] = c
	return c
}

// nextMessageID returns the id of the next message in the chat. Each supergroup and channel has its own sequence of
// ids. All other chats share one sequence.
func (s *Server) nextMessageID(c *chat) int {
	if c.info.Type == Supergroup || c.info.Type == Channel {
		c.lastID++
		return c.lastID
	}
	s.nextShared++
	return s.nextShared
}

// add adds a new message to a chat. A message of the bot ends the chat actions and drafts that its thread shows.
func (s *Server) add(c *chat, m *Message) {
	m.ID = s.nextMessageID(c)
	m.Chat = c.info.ID
	c.messages = append(c.messages, m)
	c.byID[m.ID] = m
	s.storeFile(m)
	if m.FromBot {
		c.endTyping(m.Versions[0].At, m.ThreadID)
		c.endDrafts(m.Versions[0].At, m.ThreadID)
	}
	s.Publish("message", Event{Chat: c.info.ID, Message: m})
}

func (c *chat) endTyping(at time.Time, thread int) {
	for i := len(c.typing) - 1; i >= 0 && i >= len(c.typing)-8; i-- {
		if p := &c.typing[i]; p.Thread == thread && p.To.After(at) {
			p.To = at
		}
	}
}

func (c *chat) endDrafts(at time.Time, thread int) {
	for i := len(c.drafts) - 1; i >= 0 && i >= len(c.drafts)-8; i-- {
		if d := &c.drafts[i]; d.ThreadID == thread && d.Ended.After(at) {
			d.Ended = at
		}
	}
}

// message returns the message with this id, or nil if the message or the chat does not exist or was deleted.
func (c *chat) message(id int) *Message {
	if c == nil || c.byID[id] == nil || !c.byID[id].Alive() {
		return nil
	}
	return c.byID[id]
}

// wire returns the message in the form of the Bot API. With withReply, this form contains the message to which m
// replies, but no further messages of the chain of replies.
func (s *Server) wire(c *chat, m *Message, withReply bool) *wireMessage {
	v := m.Last()
	from := m.From
	w := &wireMessage{
		MessageID: m.ID, ThreadID: m.ThreadID, IsTopicMessage: m.Topic,
		From: &from, Chat: c.info, Date: m.Versions[0].At.Unix(),
	}
	if len(m.Versions) > 1 {
		w.EditDate = v.At.Unix()
	}
	entities := mergeEntities(v.Entities, v.Detected)
	if v.Rich != nil {
		w.RichMessage = &wireRich{v.Rich}
	} else if m.Media == "" {
		w.Text, w.Entities = v.Text, entities
	} else {
		w.Caption, w.CaptionEntities, w.MediaGroupID, w.wireMedia = v.Text, entities, m.MediaGroup, m.wireMedia()
	}
	w.ForwardOrigin = m.wireOrigin()
	if v.LinkPreviewOff && v.Rich == nil {
		w.LinkPreviewOptions = &wireLinkPreview{IsDisabled: true}
	} else if v.LinkPreviewURL != "" {
		w.LinkPreviewOptions = &wireLinkPreview{URL: v.LinkPreviewURL}
	}
	if len(v.Keyboard) > 0 {
		w.ReplyMarkup = &wireMarkup{InlineKeyboard: v.Keyboard}
	}
	if withReply {
		s.wireReply(w, c, m)
	}
	return w
}

// utf16Slice returns the part of text between two offsets in UTF-16 units.
func utf16Slice(text string, start, end int) string {
	units := utf16.Encode([]rune(text))
	return string(utf16.Decode(units[start:end]))
}
