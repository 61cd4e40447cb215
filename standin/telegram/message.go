package telegram

import (
	"strconv"
	"strings"
	"time"
)

// deleteWindow is how old a message may be when it is deleted.
const deleteWindow = 48 * time.Hour

// target finds the chat of a call and whether the bot may write there. It
// answers 429 first when the chat is blocked.
func (s *Server) target(r *request) (*chat, *apiError) {
	id := strings.TrimSpace(r.text("chat_id"))
	if id == "" {
		return nil, badRequest("chat_id is empty")
	}
	c := s.findChat(id)
	if c == nil {
		return nil, badRequest("chat not found")
	}
	r.call.Chat = c.info.ID
	if aerr := s.checkBlocked(r.now, c, r.call); aerr != nil {
		return nil, aerr
	}
	switch {
	case c.migratedTo != 0:
		aerr := badRequest("group chat was upgraded to a supergroup chat")
		aerr.migrateTo = c.migratedTo
		return nil, aerr
	case c.deactivated:
		return nil, forbidden("user is deactivated")
	case c.blocked:
		return nil, forbidden("bot was blocked by the user")
	case c.kicked:
		return nil, forbidden("bot was kicked from the " + c.info.Type + " chat")
	}
	return c, nil
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

func (s *Server) sendMessage(r *request, c *chat) (any, *apiError) {
	f, aerr := s.content(r, false)
	if aerr != nil {
		return nil, aerr
	}
	if textLength(f.text) > maxText {
		return nil, badRequest("message is too long")
	}
	return s.post(r, c, f, func(*Message) {})
}

// post counts and stores the message of a send, which complete may add to.
func (s *Server) post(r *request, c *chat, f formatted, complete func(*Message)) (any, *apiError) {
	m, aerr := s.outgoing(r, c, f)
	if aerr != nil {
		return nil, aerr
	}
	if aerr := s.charge(r.now, c, r.call); aerr != nil {
		return nil, aerr
	}
	complete(m)
	s.add(c, m)
	s.stats.Messages++
	r.call.MessageID = m.ID
	return s.wire(c, m, true), nil
}

// version is what a call wants to be shown, and whether it can't be edited later.
func version(r *request, f formatted) (v Version, fixed bool, aerr *apiError) {
	keyboard, fixed, aerr := readMarkup(r)
	if aerr != nil {
		return v, false, aerr
	}
	off, link, aerr := linkPreview(r)
	return Version{
		At: r.now, Method: r.call.Method, Text: f.text, Entities: f.entities,
		Detected: detect(f.text, f.entities), LinkPreviewOff: off, LinkPreviewURL: link, Keyboard: keyboard,
	}, fixed, aerr
}

// outgoing builds the message of a send from its parameters.
func (s *Server) outgoing(r *request, c *chat, f formatted) (*Message, *apiError) {
	v, fixed, aerr := version(r, f)
	if aerr != nil {
		return nil, aerr
	}
	thread, topic, aerr := threadOf(r, c)
	if aerr != nil {
		return nil, aerr
	}
	reply, aerr := replyTarget(r, c)
	if aerr != nil {
		return nil, aerr
	}
	return &Message{
		ThreadID: thread, Topic: topic, From: s.me, FromBot: true, ReplyTo: reply,
		Silent: r.flag("disable_notification"), fixedMarkup: fixed, Versions: []Version{v},
	}, nil
}

// threadOf checks message_thread_id: a topic of a forum (the general topic is
// addressed without an id), a topic of a private chat, or the first message of a
// thread of replies in a supergroup.
func threadOf(r *request, c *chat) (thread int, topic bool, aerr *apiError) {
	id := int(r.integer("message_thread_id"))
	switch {
	case id == 0:
		return 0, false, nil
	case c.topics[id]:
		return id, true, nil
	case c.info.Type == Supergroup && !c.info.IsForum && c.byID[id] != nil:
		return id, false, nil
	}
	return 0, false, badRequest("message thread not found")
}

// replyTarget reads reply_parameters, or their older form. A target that is gone
// is an error unless the call allows it.
func replyTarget(r *request, c *chat) (int, *apiError) {
	var p wireReplyParameters
	found, err := r.object("reply_parameters", &p)
	if err != nil {
		return 0, badRequest("can't parse reply parameters JSON object")
	}
	if !found {
		p.MessageID = int(r.integer("reply_to_message_id"))
		p.AllowSendingWithoutReply = r.flag("allow_sending_without_reply")
		found = p.MessageID != 0
	}
	if !found {
		return 0, nil
	}
	if c.alive(p.MessageID) == nil {
		if p.AllowSendingWithoutReply {
			return 0, nil
		}
		return 0, badRequest("message to be replied not found")
	}
	return p.MessageID, nil
}

func (s *Server) editMessageText(r *request) (any, *apiError) {
	id := int(r.integer("message_id"))
	if id == 0 {
		return nil, badRequest("message identifier is not specified")
	}
	c, aerr := s.target(r)
	if aerr != nil {
		return nil, aerr
	}
	f, aerr := s.content(r, false)
	if aerr != nil {
		return nil, aerr
	}
	if textLength(f.text) > maxText {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	v, fixed, aerr := version(r, f)
	if aerr != nil {
		return nil, aerr
	}
	if aerr := s.charge(r.now, c, r.call); aerr != nil {
		return nil, aerr
	}
	m := c.alive(id)
	switch {
	case m == nil:
		return nil, badRequest("message to edit not found")
	case !m.FromBot, m.fixedMarkup, fixed, m.Service != "":
		return nil, badRequest("message can't be edited")
	case m.Media != "":
		return nil, badRequest("there is no text in the message to edit")
	}
	if unchanged(m.Last(), v) {
		s.stats.NotModified++
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message")
	}
	m.Versions = append(m.Versions, v)
	s.stats.Edits++
	s.Publish(Event{Kind: "edit", Chat: c.info.ID, Message: m})
	return s.wire(c, m, true), nil
}

// unchanged tells whether an edit would change nothing. Whether previews are on
// matters only where there is something to preview.
func unchanged(old, fresh Version) bool {
	return old.Text == fresh.Text && equalEntities(old.Entities, fresh.Entities) &&
		equalKeyboards(old.Keyboard, fresh.Keyboard) &&
		(old.LinkPreviewOff == fresh.LinkPreviewOff && old.LinkPreviewURL == fresh.LinkPreviewURL || !hasLink(fresh))
}

func (s *Server) deleteMessage(r *request, c *chat) (any, *apiError) {
	m := c.alive(int(r.integer("message_id")))
	switch {
	case m == nil:
		return nil, badRequest("message to delete not found")
	case !s.deletable(c, m, r.now):
		return nil, badRequest("message can't be deleted for everyone")
	}
	s.remove(c, m, r.now, "bot")
	s.stats.Deletes++
	return true, nil
}

// deletable: the bot's own messages, all in private chats and, for an admin,
// all in groups, while they are young enough.
func (s *Server) deletable(c *chat, m *Message, now time.Time) bool {
	return (m.FromBot || c.private() || c.admin) && now.Sub(m.Versions[0].At) < deleteWindow
}

func (s *Server) remove(c *chat, m *Message, now time.Time, by string) {
	m.Deleted, m.DeletedBy = now, by
	s.Publish(Event{Kind: "delete", Chat: c.info.ID, Message: m})
}

// deleteMessages skips what it can't delete, as the platform does.
func (s *Server) deleteMessages(r *request, c *chat) (any, *apiError) {
	var ids []int
	if found, err := r.object("message_ids", &ids); err != nil || !found || len(ids) == 0 {
		return nil, badRequest("message identifiers are not specified")
	}
	if len(ids) > 100 {
		return nil, badRequest("too many message identifiers specified")
	}
	for _, id := range ids {
		if m := c.alive(id); m != nil && s.deletable(c, m, r.now) {
			s.remove(c, m, r.now, "bot")
			s.stats.Deletes++
		}
	}
	return true, nil
}
