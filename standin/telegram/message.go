package telegram

import (
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// deleteWindow is the maximum age of a message that the bot can delete.
const deleteWindow = 48 * time.Hour

// target returns the chat of a call. If a scope of the chat is blocked, target refuses the call with 429, even if the
// bot may not write in the chat. Otherwise, target refuses the call with another error if the bot may not write in the
// chat.
func (s *Server) target(r *request) *chat {
	id := strings.TrimSpace(r.text("chat_id"))
	badRequestIf(id == "", "chat_id is empty")
	c := s.findChat(id)
	badRequestIf(c == nil, "chat not found")
	r.call.Chat = c.info.ID
	if aerr := s.checkBlocked(r.now, c, r.call); aerr != nil {
		panic(aerr)
	}
	moved := badRequest("group chat was upgraded to a supergroup chat")
	moved.migrateTo = c.migratedTo
	rig.RefuseIf(c.migratedTo != 0, moved)
	rig.RefuseIf(c.deactivated, forbidden("user is deactivated"))
	rig.RefuseIf(c.blocked, forbidden("bot was blocked by the user"))
	rig.RefuseIf(c.kicked, forbidden("bot was kicked from the "+c.info.Type+" chat"))
	return c
}

func (s *Server) findChat(id string) *chat {
	if name, ok := strings.CutPrefix(id, "@"); ok {
		for _, c := range s.chats {
			if !c.private() && strings.EqualFold(c.info.Username, name) {
				return c
			}
		}
		return nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	return s.chats[n]
}

func (s *Server) sendMessage(r *request, c *chat) any {
	f := s.content(r, false)
	badRequestIf(textLength(f.text) > maxText, "message is too long")
	return s.post(r, c, f, func(*Message) {})
}

// post counts a call that sends a message, and adds the message to the chat. Before post adds the message, post calls
// the function complete, which may set further fields of the message.
func (s *Server) post(r *request, c *chat, f formatted, complete func(*Message)) any {
	m := s.outgoing(r, c, f)
	s.charge(r.now, c, r.call)
	complete(m)
	s.add(c, m)
	s.stats.Messages++
	r.call.MessageID = m.ID
	return s.wire(c, m, true)
}

// requestedVersion returns the message version that a call sends. fixed means that the bot can't edit the message
// later.
func requestedVersion(r *request, f formatted) (v Version, fixed bool) {
	keyboard, fixed := readMarkup(r)
	off, link := linkPreview(r)
	return Version{
		At: r.now, Method: r.call.Method, Text: f.text, Entities: f.entities,
		Detected: detect(f.text, f.entities), LinkPreviewOff: off, LinkPreviewURL: link, Keyboard: keyboard,
	}, fixed
}

// outgoing creates the message that a call sends, from the parameters of the call.
func (s *Server) outgoing(r *request, c *chat, f formatted) *Message {
	v, fixed := requestedVersion(r, f)
	thread, topic := threadOf(r, c)
	reply, quote := replyTarget(r, c)
	return &Message{
		ThreadID: thread, Topic: topic, From: s.me, FromBot: true, ReplyTo: reply, Quote: quote,
		Silent: r.flag("disable_notification"), fixedMarkup: fixed, Seen: rig.Seen[Version]{Versions: []Version{v}},
	}
}

// threadOf reads and checks message_thread_id. The thread may be a topic of a forum or of a private chat. In a
// supergroup without topics, the thread may also be a thread of replies, whose id is the id of its first message. A
// forum's general topic has no id.
func threadOf(r *request, c *chat) (thread int, topic bool) {
	id := int(r.integer("message_thread_id"))
	switch {
	case id == 0:
		return 0, false
	case c.topics[id]:
		return id, true
	case c.info.Type == Supergroup && !c.info.IsForum && c.byID[id] != nil:
		return id, false
	}
	panic(badRequest("message thread not found"))
}

func (s *Server) editMessageText(r *request) any {
	return s.edit(r, "there is no text in the message to edit", func(m *Message) bool { return m.Media == "" }, s.editedVersion)
}

// editMessageCaption implements https://core.telegram.org/bots/api#editmessagecaption.
func (s *Server) editMessageCaption(r *request) any {
	return s.edit(r, "there is no caption in the message to edit", func(m *Message) bool { return m.Media != "" }, func(r *request) (Version, bool) {
		f := s.contentOf(r, "caption", "caption_entities", true)
		badRequestIf(textLength(f.text) > maxCaption, "MEDIA_CAPTION_TOO_LONG")
		return requestedVersion(r, f)
	})
}

// edit replaces a message's content. fits reports whether the called method can edit this kind of message. If the
// method can't edit the message, edit refuses the call with the error otherKind.
func (s *Server) edit(r *request, otherKind string, fits func(*Message) bool, wanted func(*request) (v Version, fixed bool)) any {
	id := int(r.integer("message_id"))
	badRequestIf(id == 0, "message identifier is not specified")
	c := s.target(r)
	v, fixed := wanted(r)
	s.charge(r.now, c, r.call)
	m := c.message(id)
	badRequestIf(m == nil, "message to edit not found")
	badRequestIf(!m.FromBot || m.fixedMarkup || fixed || m.Service != "", "message can't be edited")
	badRequestIf(!fits(m), "%s", otherKind)
	if isUnchanged(m.Last(), v) {
		s.stats.NotModified++
		panic(badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message"))
	}
	m.Versions = append(m.Versions, v)
	s.stats.Edits++
	s.Publish("edit", Event{Chat: c.info.ID, Message: m})
	return s.wire(c, m, true)
}

// editedVersion returns the message version that an edit requests: a text, or a rich message if the server supports
// rich messages.
func (s *Server) editedVersion(r *request) (v Version, fixed bool) {
	if !r.has("rich_message") || s.richUnsupported {
		f := s.content(r, false)
		badRequestIf(textLength(f.text) > maxText, "MESSAGE_TOO_LONG")
		return requestedVersion(r, f)
	}
	badRequestIf(r.has("text"), "exactly one of text and rich_message must be used")
	_, v = s.richContent(r)
	v.Keyboard, fixed = readMarkup(r)
	return v, fixed
}

// isUnchanged reports whether an edit would change nothing. isUnchanged compares the settings of link previews only if
// the text contains a link.
func isUnchanged(old, fresh Version) bool {
	return old.Text == fresh.Text && equalRich(old.Rich, fresh.Rich) && equalEntities(old.Entities, fresh.Entities) &&
		equalKeyboards(old.Keyboard, fresh.Keyboard) &&
		(old.LinkPreviewOff == fresh.LinkPreviewOff && old.LinkPreviewURL == fresh.LinkPreviewURL || !hasLink(fresh))
}

func (s *Server) deleteMessage(r *request, c *chat) any {
	m := c.message(int(r.integer("message_id")))
	badRequestIf(m == nil, "message to delete not found")
	badRequestIf(!s.canDelete(c, m, r.now), "message can't be deleted for everyone")
	s.remove(c, m, r.now, "bot")
	s.stats.Deletes++
	return true
}

// canDelete reports whether the bot may delete a message. The bot may delete only messages that are less than 48 hours
// old. The bot may delete messages of others only in a private chat, and in a group in which the bot is an
// administrator.
func (s *Server) canDelete(c *chat, m *Message, now time.Time) bool {
	return (m.FromBot || c.private() || c.admin) && now.Sub(m.Versions[0].At) < deleteWindow
}

func (s *Server) remove(c *chat, m *Message, now time.Time, by string) {
	m.Deleted, m.DeletedBy = now, by
	s.Publish("delete", Event{Chat: c.info.ID, Message: m})
}

// deleteMessages deletes the given messages. Like Telegram, deleteMessages skips messages that the bot can't delete.
func (s *Server) deleteMessages(r *request, c *chat) any {
	var ids []int
	none := badRequest("message identifiers are not specified")
	rig.RefuseIf(!r.object("message_ids", &ids, none) || len(ids) == 0, none)
	badRequestIf(len(ids) > 100, "too many message identifiers specified")
	for _, id := range ids {
		if m := c.message(id); m != nil && s.canDelete(c, m, r.now) {
			s.remove(c, m, r.now, "bot")
			s.stats.Deletes++
		}
	}
	return true
}
