package slack

import (
	"encoding/json"
	"time"
)

// resolve is the channel that a call names and may see.
func (s *Server) resolve(r *request, name string) (*channel, *apiError) {
	c := s.channels[r.text(name)]
	if c == nil || (c.info.BotOut && c.info.Kind != KindPublic) {
		return nil, fail("channel_not_found")
	}
	r.call.Channel = c.info.ID
	return c, nil
}

// writable is the channel that a call wants to write to.
func (s *Server) writable(r *request, name string) (*channel, *apiError) {
	c, aerr := s.resolve(r, name)
	switch {
	case aerr != nil:
		return nil, aerr
	case c.info.Archived:
		return nil, fail("is_archived")
	case c.info.BotOut && !s.granted("chat:write.public"):
		return nil, fail("not_in_channel")
	}
	return c, nil
}

// place is the channel of a call, and postable is it where the bot may write.
func (s *Server) place(r *request) (*channel, *apiError) { return s.resolve(r, "channel") }

func (s *Server) postable(r *request) (*channel, *apiError) { return s.writable(r, "channel") }

// thread checks thread_ts and returns the thread's parent, "" when there is none.
func (s *Server) thread(c *channel, r *request) (string, *apiError) {
	ts := r.text("thread_ts")
	if ts == "" {
		return "", nil
	}
	if !validTS(ts) {
		return "", fail("invalid_thread_ts")
	}
	parent := c.byTS[ts]
	switch {
	case parent == nil || parent.EphemeralTo != "" || (!parent.Alive() && len(c.replies(ts)) == 0):
		return "", fail("thread_not_found")
	case parent.ThreadTS != "":
		s.violate(ReplyAsThread, r.call.Method, c.info.ID, "thread_ts "+ts+" is a reply of "+parent.ThreadTS)
		return parent.ThreadTS, nil
	}
	return ts, nil
}

// own is a message of the bot that a call wants to change.
func (s *Server) own(c *channel, r *request, refusal string) (*Message, *apiError) {
	m := c.alive(r.text("ts"))
	switch {
	case m == nil || m.EphemeralTo != "":
		return nil, fail("message_not_found")
	case !m.FromBot:
		return nil, fail(refusal)
	}
	m.expire(r.now)
	return m, nil
}

// postMessage: https://docs.slack.dev/reference/methods/chat.postMessage
func (s *Server) postMessage(r *request) (any, *apiError) {
	if id := r.text("channel"); s.isPerson(id) {
		r.Values["channel"] = s.ensure(imOf(id)).info.ID
	}
	c, aerr := s.writable(r, "channel")
	if aerr != nil {
		return nil, aerr
	}
	if aerr := s.charge(r.now, s.limiter.post(c.info.ID), r.call); aerr != nil {
		return nil, aerr
	}
	thread, aerr := s.thread(c, r)
	if aerr != nil {
		return nil, aerr
	}
	content, aerr := s.readContent(r, maxText, true)
	switch {
	case aerr != nil:
		return nil, aerr
	case content.empty():
		return nil, fail("no_text")
	}
	m := &Message{ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true, Broadcast: thread != "" && r.flag("reply_broadcast")}
	if m.Broadcast {
		m.Subtype = "thread_broadcast"
	}
	s.add(c, m, s.apply(r.now, Version{}, content, r.call.Method))
	r.call.TS = m.TS
	s.stats.Messages++
	return s.warn(r, content, object{"channel": c.info.ID, "ts": m.TS, "message": s.wire(c, m)}), nil
}

func (s *Server) isPerson(id string) bool {
	u, ok := s.users[id]
	return ok && !u.IsBot
}

// updateMessage: https://docs.slack.dev/reference/methods/chat.update
func (s *Server) updateMessage(r *request, c *channel) (any, *apiError) {
	m, aerr := s.own(c, r, "cant_update_message")
	switch {
	case aerr != nil:
		return nil, aerr
	case c.info.Archived:
		return nil, fail("is_inactive")
	case c.info.BotOut:
		return nil, fail("cant_update_message")
	case s.opts.EditWindow > 0 && r.now.Sub(m.Versions[0].At) > s.opts.EditWindow:
		return nil, fail("edit_window_closed")
	case !m.StreamEnds.IsZero():
		return nil, fail("streaming_state_conflict")
	}
	content, aerr := s.readContent(r, maxUpdateText, false)
	if aerr != nil {
		return nil, aerr
	}
	if !content.hasText && !content.hasMarkdown && !content.hasBlocks {
		return nil, fail("no_text")
	}
	before := m.Last()
	v := s.apply(r.now, before, content, r.call.Method)
	if v.Text == "" && v.Markdown == "" && len(v.Blocks) == 0 && len(m.Files) == 0 {
		return nil, fail("no_text")
	}
	if sameContent(before, v) {
		s.stats.NotModified++
	}
	s.change(c, m, v)
	s.stats.Edits++
	return object{"channel": c.info.ID, "ts": m.TS, "text": v.Text, "message": s.wire(c, m)}, nil
}

func sameContent(a, b Version) bool {
	return !a.Broken && a.Text == b.Text && a.Markdown == b.Markdown && string(a.Blocks) == string(b.Blocks) && string(a.Metadata) == string(b.Metadata)
}

// deleteMessage: https://docs.slack.dev/reference/methods/chat.delete
func (s *Server) deleteMessage(r *request, c *channel) (any, *apiError) {
	m, aerr := s.own(c, r, "cant_delete_message")
	if aerr != nil {
		return nil, aerr
	}
	s.remove(c, m, "bot")
	s.stats.Deletes++
	return object{"channel": c.info.ID, "ts": m.TS}, nil
}

// permalink: https://docs.slack.dev/reference/methods/chat.getPermalink
func (s *Server) permalink(r *request, c *channel) (any, *apiError) {
	ts := r.text("message_ts")
	if c.alive(ts) == nil {
		return nil, fail("message_not_found")
	}
	return object{"channel": c.info.ID, "permalink": "https://" + teamDomain + ".slack.com/archives/" + c.info.ID + "/p" + ts[:len(ts)-7] + ts[len(ts)-6:]}, nil
}

// setStatus: https://docs.slack.dev/reference/methods/assistant.threads.setStatus
func (s *Server) setStatus(r *request, c *channel, thread string) (any, *apiError) {
	var loading []string
	if text := r.text("loading_messages"); text != "" && (json.Unmarshal([]byte(text), &loading) != nil || len(loading) > maxLoading) {
		return nil, fail("invalid_arguments")
	}
	s.endStatus(c, thread)
	if text := r.text("status"); text != "" {
		st := Status{From: r.now, To: r.now.Add(statusLife), Text: text, Thread: thread}
		c.statuses = append(c.statuses, st)
		s.Publish(Event{Kind: "status", Channel: c.info.ID, Status: &st})
	}
	return object{}, nil
}

const (
	// statusLife is how long a status stands that nothing ends.
	statusLife = 2 * time.Minute
	// maxLoading is how many messages may take turns with it.
	maxLoading = 10
)

// endStatus takes a thread's status away.
func (s *Server) endStatus(c *channel, thread string) {
	now := time.Now()
	for i := range c.statuses {
		if st := &c.statuses[i]; st.Thread == thread && st.To.After(now) {
			st.To = now
		}
	}
}

// setTitle: https://docs.slack.dev/reference/methods/assistant.threads.setTitle
func (s *Server) setTitle(r *request, c *channel, thread string) (any, *apiError) {
	if c.info.Kind != KindIM {
		return nil, fail("channel_type_not_supported")
	}
	c.titles[thread] = r.text("title")
	return object{}, nil
}

// assistantThread is the thread that an assistant method names.
func (s *Server) assistantThread(r *request) (*channel, string, *apiError) {
	c, aerr := s.writable(r, "channel_id")
	if aerr != nil {
		return nil, "", aerr
	}
	ts := r.text("thread_ts")
	m := c.byTS[ts]
	if !validTS(ts) || m == nil {
		return nil, "", fail("invalid_thread_ts")
	}
	return c, m.Thread(), nil
}
