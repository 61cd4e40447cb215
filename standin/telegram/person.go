package telegram

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// Incoming is something a person writes.
type Incoming struct {
	// Chat is where; 0 means the private chat with User. Negative ids are groups,
	// those up to -1000000000000 supergroups, as on the platform.
	Chat int64 `json:"chat"`
	// ChatType overrides what the id says; see the constants.
	ChatType string `json:"chat_type"`
	Title    string `json:"title"` // of a group.
	// User is the writer's id; in private chats the chat's id when 0, else 1001.
	User      int64  `json:"user"`
	Username  string `json:"username"`
	FirstName string `json:"first_name"`
	// IsBot makes the writer another bot, which this bot sees only where its
	// messages are replies to it or commands for it.
	IsBot bool `json:"is_bot"`

	Text string `json:"text"`
	// Entities are formatting the person applied; links, mentions and commands
	// are found by themselves.
	Entities []Entity `json:"entities"`
	// ThreadID is the forum topic; it and the forum come into being with it.
	ThreadID int `json:"thread_id"`
	// ReplyTo is the message that this one answers, and Quote the part of its text that the writer marked.
	ReplyTo int    `json:"reply_to"`
	Quote   string `json:"quote"`
	// External is a message of another chat that this one answers.
	External *External `json:"external"`
	// EditOf makes this a new text of the person's message with that id; a file it had stays.
	EditOf int `json:"edit_of"`
	// Attachment is a file, of which Text is then the caption.
	Attachment
	// Album is several files at once: as many messages with one media_group_id, the
	// first of them with the caption.
	Album []Attachment `json:"album"`
	// Forward makes it a forwarded message.
	Forward *Forward `json:"forward"`
	// LanguageCode is the language of the writer's client; "en" when they are new.
	LanguageCode string `json:"language_code"`
}

const defaultUser = 1001

// Say lets a person write and returns the message's id, of an album the first one's,
// and 0 when an edited message does not exist. Chats, people and topics come into
// being with their first message. It panics on entities that do not fit the text, and
// on files that can't be sent so.
func (s *Server) Say(in Incoming) int {
	said, err := in.read()
	if err != nil {
		panic(fmt.Sprintf("telegram stand-in: say: %v", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ids := s.say(in, said); len(ids) > 0 {
		return ids[0]
	}
	return 0
}

// say returns the ids of the messages; none when a message to be edited is not the person's, or a marked part is not there.
func (s *Server) say(in Incoming, said saying) []int {
	c, user := s.place(&in)
	now, f := time.Now(), said.text
	v := Version{At: now, Method: "person", Text: f.text, Entities: f.entities, Detected: detect(f.text, f.entities)}
	if in.EditOf != 0 {
		m := c.alive(in.EditOf)
		if m == nil || m.FromBot || m.From.ID != user.ID || m.Service != "" || m.Forward != nil {
			return nil
		}
		m.Versions = append(m.Versions, v)
		s.Publish("edit", Event{Chat: c.info.ID, Message: m})
		if s.sees(c, m) {
			s.deliver(&wireUpdate{EditedMessage: s.wire(c, m, true)})
		}
		return []int{m.ID}
	}
	if !in.quotes(c) {
		return nil
	}
	group := ""
	if len(in.Album) > 0 {
		s.albums++
		group = strconv.Itoa(13_900_000_000_000 + s.albums)
	}
	var ids []int
	for i := range max(1, len(said.files)) {
		m := &Message{
			From: user, ReplyTo: in.ReplyTo, Quote: in.Quote, Forward: in.Forward, MediaGroup: group,
			Seen: rig.Seen[Version]{Versions: []Version{v}},
		}
		if in.External != nil {
			m.external = in.External.message(said.external, now)
		}
		if i > 0 {
			m.Versions = []Version{{At: now, Method: "person"}}
		}
		if len(said.files) > 0 {
			said.files[i].attach(m)
		}
		s.setThread(c, m, in.ThreadID)
		s.add(c, m)
		if x := m.external; x != nil {
			x.Chat, x.ID = m.Chat, -m.ID // an id of its own for the file
			s.storeFile(x)
		}
		if s.sees(c, m) {
			s.deliver(&wireUpdate{Message: s.wire(c, m, true)})
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// place fills in who writes where, and makes both known.
func (s *Server) place(in *Incoming) (*chat, User) {
	if in.Chat == 0 {
		in.Chat = cmp.Or(in.User, defaultUser)
	}
	kind := cmp.Or(in.ChatType, chatTypeOf(in.Chat))
	if in.User == 0 {
		in.User = defaultUser
		if kind == Private {
			in.User = in.Chat
		}
	}
	user, known := s.users[in.User]
	if !known {
		user = User{ID: in.User, FirstName: fmt.Sprintf("Person %d", in.User), LanguageCode: "en", IsBot: in.IsBot}
	}
	user.FirstName = cmp.Or(in.FirstName, user.FirstName)
	user.Username = cmp.Or(in.Username, user.Username)
	user.LanguageCode = cmp.Or(in.LanguageCode, user.LanguageCode)
	s.users[in.User] = user
	_, existed := s.chats[in.Chat]
	c := s.chatFor(in.Chat, kind)
	if c.private() {
		c.info.FirstName, c.info.Username = user.FirstName, user.Username
		if c.blocked {
			s.setBlocked(c, false)
		}
	} else {
		c.info.Title = cmp.Or(in.Title, cmp.Or(c.info.Title, fmt.Sprintf("Group %d", -in.Chat)))
	}
	if !existed {
		info := c.info
		s.Publish("chat", Event{Chat: c.info.ID, Info: &info})
	}
	return c, user
}

// setThread places a message in a topic. In a supergroup without topics a reply
// carries the id of the first message of its thread, without being in a topic.
func (s *Server) setThread(c *chat, m *Message, thread int) {
	if thread != 0 {
		c.topics[thread] = true
		if !c.private() {
			c.info.IsForum = true
		}
		m.ThreadID, m.Topic = thread, true
		return
	}
	if target := c.alive(m.ReplyTo); target != nil && (target.Topic || c.info.Type == Supergroup) {
		m.ThreadID, m.Topic = cmp.Or(target.ThreadID, target.ID), target.Topic
	}
}

// sees tells whether the bot gets a message under privacy mode.
// Source: https://core.telegram.org/bots/features#privacy-mode
func (s *Server) sees(c *chat, m *Message) bool {
	if c.kicked {
		return false
	}
	if c.private() || c.info.Type == Channel || m.Service != "" {
		return true
	}
	if !m.From.IsBot && (s.opts.ReadAll || c.admin) {
		return true
	}
	if target := c.byID[m.ReplyTo]; target != nil && target.FromBot {
		return true
	}
	v := m.Last()
	for _, e := range v.Detected {
		word := utf16Slice(v.Text, e.Offset, e.end())
		switch e.Type {
		case "mention":
			if !m.From.IsBot && strings.EqualFold(word[1:], s.me.Username) {
				return true
			}
		case "bot_command":
			_, to, addressed := strings.Cut(word, "@")
			if strings.EqualFold(to, s.me.Username) || !addressed && !m.From.IsBot {
				return true
			}
		}
	}
	return false
}

// Press lets a person press the button with that callback data under a message
// and returns the query's id, "" when there is no such button.
func (s *Server) Press(chatID int64, user int64, message int, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.chats[chatID].alive(message)
	if m == nil || !hasButton(m.Last().Keyboard, data) {
		return ""
	}
	c, who := s.place(&Incoming{Chat: chatID, User: user})
	s.nextQuery++
	id := strconv.Itoa(4_000_000_000_000 + s.nextQuery)
	s.queries[id] = time.Now()
	s.deliver(&wireUpdate{CallbackQuery: &wireCallback{
		ID: id, From: who, Message: s.wire(c, m, true), Data: data,
		ChatInstance: strconv.FormatInt(chatID*31+7, 10),
	}})
	return id
}

func hasButton(keyboard [][]Button, data string) bool {
	for _, row := range keyboard {
		for _, b := range row {
			if b.CallbackData == data {
				return true
			}
		}
	}
	return false
}

// Delete lets a person delete a message, the bot's too. The bot is not told.
func (s *Server) Delete(chatID int64, message int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.chats[chatID].alive(message)
	if m != nil {
		s.remove(s.chats[chatID], m, time.Now(), "person")
	}
	return m != nil
}

// Block lets the person of a private chat block or unblock the bot, or the
// members of a group remove or add it. Writing unblocks, too.
func (s *Server) Block(chatID int64, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setBlocked(s.chatFor(chatID, ""), blocked)
}

func (s *Server) setBlocked(c *chat, blocked bool) {
	row := func(in bool) wireMemberRow {
		if in {
			return wireMemberRow{User: s.me, Status: "member"}
		}
		out := "left"
		if blocked || c.private() {
			out = "kicked"
		}
		return wireMemberRow{User: s.me, Status: out}
	}
	from := User{ID: defaultUser, FirstName: "Somebody"}
	if c.private() {
		c.blocked = blocked
		from = s.users[c.info.ID]
	} else {
		c.kicked = blocked
	}
	s.deliver(&wireUpdate{MyChatMember: &wireMember{
		Chat: c.info, From: from, Date: time.Now().Unix(), Old: row(blocked), New: row(!blocked),
	}})
}

// Deactivate lets the account of a private chat vanish.
func (s *Server) Deactivate(chatID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").deactivated = true
}

// SetAdmin makes the bot an administrator of a group: it sees all messages and
// may delete them.
func (s *Server) SetAdmin(chatID int64, admin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").admin = admin
}

// SetPersonAdmin makes a person an administrator of a group, which decides on the command
// menu they are offered.
func (s *Server) SetPersonAdmin(chatID, userID int64, admin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").admins[userID] = admin
}

// Migrate turns a group into a supergroup and returns its new id. Calls to the
// old id are from now on answered with migrate_to_chat_id.
func (s *Server) Migrate(chatID int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.chatFor(chatID, Group)
	if old.migratedTo != 0 {
		return old.migratedTo
	}
	id := supergroupIDs - 100_000_000 + chatID
	fresh := s.chatFor(id, Supergroup)
	fresh.info.Title = old.info.Title
	fresh.admin, fresh.admins = old.admin, maps.Clone(old.admins)
	info := fresh.info
	s.Publish("chat", Event{Chat: id, Info: &info})

	from := User{ID: defaultUser, FirstName: "Somebody"}
	service := func(c *chat, text string) *wireMessage {
		m := &Message{From: from, Service: text, Seen: rig.Seen[Version]{Versions: []Version{{At: time.Now(), Method: "person"}}}}
		s.add(c, m)
		return s.wire(c, m, false)
	}
	to := service(old, "The group was upgraded to a supergroup")
	to.MigrateToChatID = id
	s.deliver(&wireUpdate{Message: to})
	old.migratedTo = id
	came := service(fresh, "The group was upgraded to a supergroup")
	came.MigrateFromChatID = chatID
	s.deliver(&wireUpdate{Message: came})
	return id
}

// StopDraft lets a person press the stop button of a draft; false when there is
// no such button on display.
func (s *Server) StopDraft(chatID, draft int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return false
	}
	now := time.Now()
	for i := len(c.drafts) - 1; i >= 0; i-- {
		d := &c.drafts[i]
		if d.ID == draft && d.Ended.After(now) && d.CanStop {
			if d.CanStop = false; !d.KeepOnStop {
				d.Ended = now
			}
			s.Publish("draft", Event{Chat: chatID, Draft: new(*d)})
			s.deliver(&wireUpdate{Stopped: &wireStopDraft{Chat: c.info, ThreadID: d.ThreadID, DraftID: draft}})
			return true
		}
	}
	return false
}
