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

// Incoming is a message that a person sends.
type Incoming struct {
	// Chat is the chat's id; 0 means the private chat with User. As in the Bot API, groups have negative ids, and
	// supergroups have ids of -1000000000000 and less.
	Chat int64 `json:"chat"`
	// ChatType replaces the chat type that follows from the id. ChatType is one of the constants Private, Group,
	// Supergroup and Channel.
	ChatType string `json:"chat_type"`
	Title    string `json:"title"` // title of a group
	// User is the writer's id. 0 means the chat's id in private chats, and 1001 in other chats.
	User      int64  `json:"user"`
	Username  string `json:"username"`
	FirstName string `json:"first_name"`
	// IsBot means that the writer is a bot, but not the tested one. In a group, the tested bot receives a message
	// of another bot only if the message is a reply to the tested bot or a command for it.
	IsBot bool `json:"is_bot"`

	Text string `json:"text"`
	// Entities are the formats that the person applied to the text. The server itself detects links, mentions and
	// commands.
	Entities []Entity `json:"entities"`
	// ThreadID is the id of a forum topic. Say creates the topic, and makes the chat a forum, if necessary.
	ThreadID int `json:"thread_id"`
	// ReplyTo is the message to which this one replies. Quote is the text that the person selected in the message to which
	// this one replies.
	ReplyTo int    `json:"reply_to"`
	Quote   string `json:"quote"`
	// If External is set, this message replies to a message in another chat, which External describes.
	External *External `json:"external"`
	// If EditOf is set, Say edits the person's message with this id. A file of the edited message stays.
	EditOf int `json:"edit_of"`
	// Attachment is the file of the message. If there is a file, Text is its caption.
	Attachment
	// Album contains several files. Each file of an album becomes a message, and all of these messages have the same
	// media_group_id. The first message of an album has the caption.
	Album []Attachment `json:"album"`
	// If Forward is set, the message is a forwarded one, and Forward is its origin.
	Forward *Forward `json:"forward"`
	// LanguageCode is the language of the writer's client; for a new person, "" means "en".
	LanguageCode string `json:"language_code"`
}

const defaultUser = 1001

// Say sends a message as a person, and returns the id of the message. For an album, Say returns the id of the first
// message. Say returns 0 if the message to edit does not exist. Say creates the chat, the person and the topic if
// necessary. Say panics if an entity ends after the text or a file is invalid.
func (s *Server) Say(in Incoming) int {
	said, err := in.parse()
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

// say sends one message, or several for an album, and returns their ids. say returns no ids if the message to edit is
// not the person's own, or if the quote is not in the message to which the person replies.
func (s *Server) say(in Incoming, said parsedIncoming) []int {
	c, user := s.setSender(&in)
	now, f := time.Now(), said.text
	v := Version{At: now, Method: "person", Text: f.text, Entities: f.entities, Detected: detect(f.text, f.entities)}
	if in.EditOf != 0 {
		m := c.message(in.EditOf)
		if m == nil || m.FromBot || m.From.ID != user.ID || m.Service != "" || m.Forward != nil {
			return nil
		}
		m.Versions = append(m.Versions, v)
		s.Publish("edit", Event{Chat: c.info.ID, Message: m})
		if s.botSees(c, m) {
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
			said.files[i].addTo(m)
		}
		s.setThread(c, m, in.ThreadID)
		s.add(c, m)
		if x := m.external; x != nil {
			x.Chat, x.ID = m.Chat, -m.ID // a negative id gives the file a file_id of its own
			s.storeFile(x)
		}
		if s.botSees(c, m) {
			s.deliver(&wireUpdate{Message: s.wire(c, m, true)})
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// setSender returns the chat and the writer of a message, and creates both if necessary.
func (s *Server) setSender(in *Incoming) (*chat, User) {
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

// setThread sets the ThreadID and the Topic of a message. In a supergroup without topics, the ThreadID of a reply is
// the id of the first message in the thread of replies, and Topic is false.
func (s *Server) setThread(c *chat, m *Message, thread int) {
	if thread != 0 {
		c.topics[thread] = true
		if !c.private() {
			c.info.IsForum = true
		}
		m.ThreadID, m.Topic = thread, true
		return
	}
	if target := c.message(m.ReplyTo); target != nil && (target.Topic || c.info.Type == Supergroup) {
		m.ThreadID, m.Topic = cmp.Or(target.ThreadID, target.ID), target.Topic
	}
}

// botSees reports whether the bot receives a message according to the rules of privacy mode. Source:
// https://core.telegram.org/bots/features#privacy-mode
func (s *Server) botSees(c *chat, m *Message) bool {
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

// Press presses the button with this callback data below a message as a person. Press returns the id of the callback
// query, or "" if the message has no such button.
func (s *Server) Press(chatID int64, user int64, message int, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.chats[chatID].message(message)
	if m == nil || !hasButton(m.Last().Keyboard, data) {
		return ""
	}
	c, who := s.setSender(&Incoming{Chat: chatID, User: user})
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

// Delete deletes a message as a person, who may also delete the bot's messages. As on Telegram, the bot receives no
// update about the deletion.
func (s *Server) Delete(chatID int64, message int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.chats[chatID].message(message)
	if m != nil {
		s.remove(s.chats[chatID], m, time.Now(), "person")
	}
	return m != nil
}

// Block lets the person of a private chat block or unblock the bot. For a group, Block removes the bot or adds it
// again. A person who writes to the bot also unblocks it.
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

// Deactivate deletes the account of the person in a private chat.
func (s *Server) Deactivate(chatID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").deactivated = true
}

// SetAdmin makes the bot an administrator of a group, or takes this role away. As an administrator, the bot sees all
// messages and may delete them.
func (s *Server) SetAdmin(chatID int64, admin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").admin = admin
}

// SetPersonAdmin makes a person an administrator of a group, which affects the person's command menu.
func (s *Server) SetPersonAdmin(chatID, userID int64, admin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chatFor(chatID, "").admins[userID] = admin
}

// Migrate turns a group into a supergroup and returns the new id. A later call with the group's old id gets an error
// with migrate_to_chat_id.
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

// StopDraft presses the stop button of a draft as a person. StopDraft returns false if the chat shows no such button.
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
