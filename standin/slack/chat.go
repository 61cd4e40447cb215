package slack

// resolve is the channel that a call names and may see.
func (s *Server) resolve(r *request, name string) *channel {
	c := s.channels[r.text(name)]
	failIf(c == nil || (c.info.BotOut && c.info.Kind != KindPublic), "channel_not_found")
	r.call.Channel = c.info.ID
	return c
}

// writable is the channel that a call wants to write to.
func (s *Server) writable(r *request, name string) *channel {
	c := s.resolve(r, name)
	failIf(c.info.Archived, "is_archived")
	failIf(c.info.BotOut && !s.granted("chat:write.public"), "not_in_channel")
	return c
}

// place is the channel of a call, and postable is it where the bot may write.
func (s *Server) place(r *request) *channel { return s.resolve(r, "channel") }

func (s *Server) postable(r *request) *channel { return s.writable(r, "channel") }

// thread checks thread_ts and returns the thread's parent, "" when there is none.
func (s *Server) thread(c *channel, r *request) string {
	ts := r.text("thread_ts")
	if ts == "" {
		return ""
	}
	failIf(!validTS(ts), "invalid_thread_ts")
	parent := c.byTS[ts]
	failIf(parent == nil || parent.EphemeralTo != "" || (!parent.Alive() && len(c.replies(ts)) == 0), "thread_not_found")
	if parent.ThreadTS != "" {
		s.violate(ReplyAsThread, r.call.Method, c.info.ID, "thread_ts "+ts+" is a reply of "+parent.ThreadTS)
		return parent.ThreadTS
	}
	return ts
}

// own is a message of the bot that a call wants to change.
func (s *Server) own(c *channel, r *request, refusal string) *Message {
	m := c.alive(r.text("ts"))
	failIf(m == nil || m.EphemeralTo != "", "message_not_found")
	failIf(!m.FromBot, refusal)
	m.expire(r.now)
	return m
}

// postMessage: https://docs.slack.dev/reference/methods/chat.postMessage
func (s *Server) postMessage(r *request) any {
	if id := r.text("channel"); s.isPerson(id) {
		r.Values["channel"] = s.ensure(imOf(id)).info.ID
	}
	c := s.writable(r, "channel")
	s.charge(r.now, s.limiter.post(c.info.ID), r.call)
	thread := s.thread(c, r)
	content := s.readContent(r, maxText, true)
	failIf(content.empty(), "no_text")
	m := &Message{ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true, Broadcast: thread != "" && r.flag("reply_broadcast")}
	if m.Broadcast {
		m.Subtype = "thread_broadcast"
	}
	s.add(c, m, s.apply(r.now, Version{}, content, r.call.Method))
	r.call.TS = m.TS
	s.stats.Messages++
	return s.warn(r, content, object{"channel": c.info.ID, "ts": m.TS, "message": s.wire(c, m)})
}

func (s *Server) isPerson(id string) bool {
	u, ok := s.users[id]
	return ok && !u.IsBot
}

// updateMessage: https://docs.slack.dev/reference/methods/chat.update
func (s *Server) updateMessage(r *request, c *channel) any {
	m := s.own(c, r, "cant_update_message")
	failIf(c.info.Archived, "is_inactive")
	failIf(c.info.BotOut, "cant_update_message")
	failIf(s.opts.EditWindow > 0 && r.now.Sub(m.Versions[0].At) > s.opts.EditWindow, "edit_window_closed")
	failIf(!m.StreamEnds.IsZero(), "streaming_state_conflict")
	content := s.readContent(r, maxUpdateText, false)
	failIf(!content.hasText && !content.hasMarkdown && !content.hasBlocks, "no_text")
	before := m.Last()
	v := s.apply(r.now, before, content, r.call.Method)
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

// deleteMessage: https://docs.slack.dev/reference/methods/chat.delete
func (s *Server) deleteMessage(r *request, c *channel) any {
	m := s.own(c, r, "cant_delete_message")
	s.remove(c, m, "bot")
	s.stats.Deletes++
	return object{"channel": c.info.ID, "ts": m.TS}
}

// permalink: https://docs.slack.dev/reference/methods/chat.getPermalink
func (s *Server) permalink(r *request, c *channel) any {
	ts := r.text("message_ts")
	failIf(c.alive(ts) == nil, "message_not_found")
	return object{"channel": c.info.ID, "permalink": "https://" + teamDomain + ".slack.com/archives/" + c.info.ID + "/p" + ts[:len(ts)-7] + ts[len(ts)-6:]}
}
