package slack

// visibleChannel returns the channel that a call names. visibleChannel refuses the call if the bot may not see the
// channel.
func (s *Server) visibleChannel(r *request, name string) *channel {
	c := s.channels[r.text(name)]
	failIf(c == nil || (c.info.BotOut && c.info.Kind != KindPublic), "channel_not_found")
	r.call.Channel = c.info.ID
	return c
}

// writableChannel returns the channel that a call names. writableChannel refuses the call if the bot may not write in
// the channel.
func (s *Server) writableChannel(r *request, name string) *channel {
	c := s.visibleChannel(r, name)
	failIf(c.info.Archived, "is_archived")
	failIf(c.info.BotOut && !s.granted("chat:write.public"), "not_in_channel")
	return c
}

// channelOf returns the channel that a call names in the argument "channel". postChannel also checks that the bot may
// write in this channel.
func (s *Server) channelOf(r *request) *channel { return s.visibleChannel(r, "channel") }

func (s *Server) postChannel(r *request) *channel { return s.writableChannel(r, "channel") }

// thread checks the argument thread_ts. thread returns the ts of the thread's parent, or "" if the call names no
// thread.
func (s *Server) thread(c *channel, r *request) string {
	ts := r.text("thread_ts")
	if ts == "" {
		return ""
	}
	failIf(!validTS(ts), "invalid_thread_ts")
	parent := c.byTS[ts]
	failIf(parent == nil || parent.EphemeralTo != "" || (!parent.Alive() && len(c.replies(ts)) == 0), "thread_not_found")
	if parent.ThreadTS != "" {
		s.recordViolation(ReplyAsThread, r.call.Method, c.info.ID, "thread_ts "+ts+" is a reply of "+parent.ThreadTS)
		return parent.ThreadTS
	}
	return ts
}

// ownMessage returns the message that a call changes. ownMessage refuses the call if the message is not the bot's own.
func (s *Server) ownMessage(c *channel, r *request, refusal string) *Message {
	m := c.message(r.text("ts"))
	failIf(m == nil || m.EphemeralTo != "", "message_not_found")
	failIf(!m.FromBot, refusal)
	m.expire(r.now)
	return m
}

// postMessage implements https://docs.slack.dev/reference/methods/chat.postMessage.
func (s *Server) postMessage(r *request) any {
	if id := r.text("channel"); s.isPerson(id) {
		r.Values["channel"] = s.channelFor(imOf(id)).info.ID
	}
	c := s.writableChannel(r, "channel")
	s.charge(r.now, s.limiter.post(c.info.ID), r.call)
	thread := s.thread(c, r)
	content := s.readContent(r, maxText, true)
	failIf(content.empty(), "no_text")
	m := &Message{ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true, Broadcast: thread != "" && r.flag("reply_broadcast")}
	if m.Broadcast {
		m.Subtype = "thread_broadcast"
	}
	s.add(c, m, s.newVersion(r.now, Version{}, content, r.call.Method))
	r.call.TS = m.TS
	s.stats.Messages++
	return s.warnTruncated(r, content, object{"channel": c.info.ID, "ts": m.TS, "message": s.wire(c, m)})
}

func (s *Server) isPerson(id string) bool {
	u, ok := s.users[id]
	return ok && !u.IsBot
}

// updateMessage implements https://docs.slack.dev/reference/methods/chat.update.
func (s *Server) updateMessage(r *request, c *channel) any {
	m := s.ownMessage(c, r, "cant_update_message")
	failIf(c.info.Archived, "is_inactive")
	failIf(c.info.BotOut, "cant_update_message")
	failIf(s.opts.EditWindow > 0 && r.now.Sub(m.Versions[0].At) > s.opts.EditWindow, "edit_window_closed")
	failIf(!m.StreamEnds.IsZero(), "streaming_state_conflict")
	content := s.readContent(r, maxUpdateText, false)
	failIf(!content.hasText && !content.hasMarkdown && !content.hasBlocks, "no_text")
	before := m.Last()
	v := s.newVersion(r.now, before, content, r.call.Method)
	failIf(v.Text == "" && v.Markdown == "" && len(v.Blocks) == 0 && len(m.Files) == 0, "no_text")
	if sameContent(before, v) {
		s.stats.NotModified++
	}
	s.change(c, m, v)
	s.stats.Edits++
	return object{"channel": c.info.ID, "ts": m.TS, "text": v.Text, "message": s.wire(c, m)}
}

func sameContent(a, b Version) bool {
	return !a.Broken && a.Text == b.Text && a.Markdown == b.Markdown && string(a.Blocks) == string(b.Blocks) && string(a.Metadata) == string(b.Metadata)
}

// deleteMessage implements https://docs.slack.dev/reference/methods/chat.delete.
func (s *Server) deleteMessage(r *request, c *channel) any {
	m := s.ownMessage(c, r, "cant_delete_message")
	s.remove(c, m, "bot")
	s.stats.Deletes++
	return object{"channel": c.info.ID, "ts": m.TS}
}

// permalink implements https://docs.slack.dev/reference/methods/chat.getPermalink.
func (s *Server) permalink(r *request, c *channel) any {
	ts := r.text("message_ts")
	failIf(c.message(ts) == nil, "message_not_found")
	return object{"channel": c.info.ID, "permalink": "https://" + teamDomain + ".slack.com/archives/" + c.info.ID + "/p" + ts[:len(ts)-7] + ts[len(ts)-6:]}
}
