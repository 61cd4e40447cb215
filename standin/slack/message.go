package slack

import (
	"slices"
	"time"
)

// add posts the message m, whose first version is v, and sends the events.
func (s *Server) add(c *channel, m *Message, v Version) {
	s.show(c, m, v)
	if m.EphemeralTo == "" {
		s.sendMessageEvents(c, m)
	}
}

// show posts the message m, whose first version is v, without events.
func (s *Server) show(c *channel, m *Message, v Version) {
	m.TS, m.Channel = s.nextTS(), c.info.ID
	v.At = time.Now()
	m.Versions = []Version{v}
	c.messages = append(c.messages, m)
	c.byTS[m.TS] = m
	if m.FromBot && m.EphemeralTo == "" {
		s.endStatus(c, m.Thread())
	}
	if !m.FromBot {
		c.endPrompts(m.ThreadTS)
	}
	s.Publish("message", Event{Channel: c.info.ID, Message: m})
}

// change adds a version to the message m and sends the events.
func (s *Server) change(c *channel, m *Message, v Version) {
	before := s.wire(c, m)
	m.Versions = append(m.Versions, v)
	s.Publish("edit", Event{Channel: c.info.ID, Message: m})
	if m.EphemeralTo != "" {
		return
	}
	ts := s.nextTS()
	s.deliverEvent(c, "message", object{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.info.ID,
		"channel_type": c.info.channelType(), "ts": ts, "event_ts": ts,
		"message": s.wire(c, m), "previous_message": before,
	})
}

// remove deletes the message m and sends the event. by is "bot" or "person". If m is a thread's parent that has
// replies, a tombstone replaces m, and the event reports a changed message. Source:
// https://github.com/openclaw/openclaw/pull/22035
func (s *Server) remove(c *channel, m *Message, by string) {
	before := s.wire(c, m)
	m.Deleted, m.DeletedBy = time.Now(), by
	m.StreamEnds = time.Time{}
	s.Publish("delete", Event{Channel: c.info.ID, Message: m})
	if m.EphemeralTo != "" {
		return
	}
	ts := s.nextTS()
	if len(c.replies(m.TS)) > 0 {
		s.deliverEvent(c, "message", object{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.info.ID,
			"channel_type": c.info.channelType(), "ts": ts, "event_ts": ts, "message": tombstone(m), "previous_message": before,
		})
		return
	}
	s.deliverEvent(c, "message", object{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.info.ID,
		"channel_type": c.info.channelType(), "ts": ts, "event_ts": ts, "deleted_ts": m.TS, "previous_message": before,
	})
}

// sendMessageEvents sends the events about a new message: message, and also app_mention if the message mentions the bot
// outside of a direct message. The events message and app_mention have the same ts. Source:
// https://docs.slack.dev/reference/events/app_mention
func (s *Server) sendMessageEvents(c *channel, m *Message) {
	event := s.wire(c, m)
	event["channel"], event["channel_type"], event["event_ts"] = c.info.ID, c.info.channelType(), m.TS
	s.deliverEvent(c, "message", event)
	s.sendMentionEvent(c, m)
}

func (s *Server) sendMentionEvent(c *channel, m *Message) {
	if c.info.Kind == KindIM || m.FromBot || !slices.Contains(m.Last().Mentions, BotUser) {
		return
	}
	event := s.wire(c, m)
	event["type"], event["channel"], event["event_ts"] = "app_mention", c.info.ID, m.TS
	delete(event, "subtype")
	s.deliverEvent(c, "app_mention", event)
}

// wire returns m in the form that methods and events have in common.
func (s *Server) wire(c *channel, m *Message) object {
	v := m.Last()
	w := object{"type": "message", "ts": m.TS, "text": v.Text, "team": TeamID}
	set := func(name, value string) {
		if value != "" {
			w[name] = value
		}
	}
	set("subtype", m.Subtype)
	set("user", m.User)
	set("bot_id", m.BotID)
	set("client_msg_id", m.clientID)
	set("thread_ts", m.ThreadTS)
	if team := s.users[m.User].Team; team != "" {
		w["user_team"], w["source_team"] = team, team
	}
	if m.FromBot {
		w["app_id"] = AppID
		w["bot_profile"] = object{"id": BotID, "app_id": AppID, "name": s.opts.BotName, "team_id": TeamID, "deleted": false}
	}
	if m.ThreadTS != "" {
		if parent := c.byTS[m.ThreadTS]; parent != nil {
			set("parent_user_id", parent.User)
		}
	}
	switch {
	case len(v.Blocks) > 0:
		w["blocks"] = v.Blocks
	case v.Markdown != "":
		w["blocks"] = []object{{"type": "markdown", "block_id": "md", "text": v.Markdown}}
	}
	if len(m.Versions) > 1 && v.Method != "chat.appendStream" && v.Method != "chat.stopStream" && v.Method != "expired" {
		w["edited"] = object{"user": m.User, "ts": writeTS(v.At.UnixMicro())}
	}
	if len(m.Files) > 0 {
		files := make([]object, len(m.Files))
		for i, f := range m.Files {
			files[i] = s.wireFile(f)
		}
		w["files"] = files
		w["upload"] = false
	}
	if m.share != nil {
		w["attachments"] = []object{s.wireShare(c, m.share)}
	}
	s.addThread(c, m, w)
	return w
}

// wireShare returns a forwarded message as an attachment of the message that forwards it. Source:
// https://docs.slack.dev/reference/messaging/attachments. Slack does not document the fields of such an attachment.
// These fields are from recorded responses in https://hackage.haskell.org/package/slack-web.
func (s *Server) wireShare(c *channel, m *Message) object {
	text, author := m.Last().Text, s.users[m.User].Name
	if m.User == BotUser {
		author = s.opts.BotName
	}
	w := object{
		"is_share": true, "is_msg_unfurl": true, "ts": m.TS, "channel_id": c.info.ID, "author_id": m.User, "author_name": author,
		"text": text, "fallback": "[" + m.TS + "] " + author + ": " + text, "mrkdwn_in": []string{"text"}, "footer": "Posted in #" + c.info.Name,
	}
	if len(m.Files) > 0 {
		files := make([]object, len(m.Files))
		for i, f := range m.Files {
			files[i] = s.wireFile(f)
		}
		w["files"] = files
	}
	return w
}

// addThread adds the fields about the replies to w, if m is the parent of a thread.
func (s *Server) addThread(c *channel, m *Message, w object) {
	if m.ThreadTS != "" {
		return
	}
	replies := c.replies(m.TS)
	if len(replies) == 0 {
		return
	}
	var users []string
	for _, r := range replies {
		if !slices.Contains(users, r.User) {
			users = append(users, r.User)
		}
	}
	w["thread_ts"], w["reply_count"], w["latest_reply"] = m.TS, len(replies), replies[len(replies)-1].TS
	w["reply_users"], w["reply_users_count"] = users, len(users)
}

// replies returns the replies in a thread. replies leaves out deleted replies, and replies that only one person sees.
func (c *channel) replies(thread string) []*Message {
	var list []*Message
	for _, m := range c.messages {
		if m.ThreadTS == thread && m.Alive() && m.EphemeralTo == "" {
			list = append(list, m)
		}
	}
	return list
}

// tombstone returns the message that replaces a deleted parent of a thread while the thread has replies.
func tombstone(m *Message) object {
	return object{
		"type": "message", "subtype": "tombstone", "ts": m.TS, "thread_ts": m.TS, "hidden": true,
		"user": "USLACKBOT", "text": "This message was deleted.",
	}
}
