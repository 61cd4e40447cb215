package discord

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"telex/standin/rig"
)

// Types of messages.
// Source: https://docs.discord.com/developers/resources/message#message-object-message-types
const (
	typeDefault       = 0
	typeThreadCreated = 18
	typeReply         = 19
	typeCommand       = 20

	// referenceForward is the reference type of a forward; 0 is a reply.
	referenceForward = 1
)

const (
	// oldMessageAge is the minimum age of a message whose edits count against the limit OldEdits.
	oldMessageAge = time.Hour
	// bulkDeleteAge is the maximum age of messages in a bulk delete.
	bulkDeleteAge = 14 * 24 * time.Hour
	// typingLifetime is how long clients show a typing indicator, if no message arrives before. Source:
	// https://docs.discord.com/developers/resources/channel#trigger-typing-indicator
	typingLifetime = 10 * time.Second
)

// checkWritable refuses a call if the bot may not write in the channel. checkWritable accepts an archived thread that
// is not locked, because a new message reopens it.
func (s *Server) checkWritable(c *channel) {
	switch a := s.access(c); {
	case c.info.Blocked:
		panic(fail(http.StatusForbidden, codeCannotSendToUser, "Cannot send messages to this user"))
	case a.ReadOnly:
		panic(missingPermissions())
	case c.info.Locked && c.info.Archived:
		panic(archivedThread())
	}
}

func archivedThread() *apiError {
	return fail(http.StatusBadRequest, codeArchivedThread, "Thread is archived")
}

// createMessage answers POST /channels/{channel}/messages.
func (s *Server) createMessage(r *request, c *channel) any {
	p := readPayload(r.form(), r.files, false, false, flagSuppressEmbeds|flagSilent|flagComponentsV2)
	p.form.errs.refuse()
	rig.RefuseIf(len(p.files) > 0 && s.access(c).NoFiles, missingPermissions())
	if m := s.messageByNonce(p.nonce, r.now); m != nil && p.enforce {
		s.stats.Deduplicated++
		r.call.Message = m.ID
		return s.wire(s.channels[m.Channel], m)
	}
	m := s.compose(r, c, p)
	s.unarchive(c)
	s.add(c, m)
	s.stats.Messages++
	r.call.Message = m.ID
	w := s.wire(c, m)
	w.Nonce = m.nonce
	return w
}

// compose creates and shows a message of the bot.
func (s *Server) compose(r *request, c *channel, p payload) *Message {
	m := &Message{
		ID: s.ids.next(r.now), From: s.me, FromBot: true, Nonce: p.nonce, nonce: p.rawNonce, Silent: p.flags&flagSilent != 0,
	}
	if target := c.message(p.replyTo); target != nil && target.OnlyFor == "" {
		rig.RefuseIf(target.Type == typeThreadCreated,
			badField("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message", "message_reference"))
		m.Type, m.ReplyTo = typeReply, p.replyTo
	}
	rig.RefuseIf(p.replyTo != "" && m.ReplyTo == "" && p.failIfNotExists, badField("REPLIES_UNKNOWN_MESSAGE", "Unknown message", "message_reference"))
	v := Version{
		At: r.now, Method: r.call.Method, Content: p.content, Embeds: p.embeds, Components: p.components, Flags: p.flags, Buttons: p.buttons,
	}
	v.Attachments = s.store(r.now, c, p.files)
	rig.RefuseIf(v.empty(), emptyMessage())
	m.Versions = []Version{v}
	s.mention(c, m, textOf(p.content, p.components), p.allowed)
	return m
}

func emptyMessage() *apiError {
	return fail(http.StatusBadRequest, codeEmptyMessage, "Cannot send an empty message")
}

// messageByNonce returns the message that the bot sent with this nonce within NonceWindow, or nil.
func (s *Server) messageByNonce(nonce string, now time.Time) *Message {
	if nonce == "" {
		return nil
	}
	if m := s.nonces[nonce]; m != nil && now.Sub(m.Versions[0].At) <= s.opts.NonceWindow {
		return m
	}
	return nil
}

// add adds a message to a channel and sends it to the gateway.
func (s *Server) add(c *channel, m *Message) {
	m.Channel, m.Guild = c.info.ID, c.info.Guild
	c.messages = append(c.messages, m)
	c.byID[m.ID] = m
	if m.FromBot {
		if m.Nonce != "" {
			s.nonces[m.Nonce] = m
		}
		s.stopTyping(c, m.Versions[0].At)
	}
	s.Publish("message", Event{Channel: c.info.ID, Message: m})
	s.dispatchMessage(c, "MESSAGE_CREATE", m)
}

func (s *Server) stopTyping(c *channel, now time.Time) {
	if n := len(c.typing); n > 0 && c.typing[n-1].To.After(now) {
		c.typing[n-1].To = now
	}
}

// target returns the channel and the message that are named in the path of the call.
func (s *Server) target(r *request) (*channel, *Message) {
	c := s.channelOf(r)
	m := c.message(r.param("message"))
	rig.RefuseIf(m == nil || m.OnlyFor != "", unknownMessage())
	return c, m
}

// editMessage answers PATCH /channels/{channel}/messages/{message}.
func (s *Server) editMessage(r *request, c *channel, m *Message) any {
	rig.RefuseIf(!m.FromBot, fail(http.StatusForbidden, codeForeignMessage, "Cannot edit a message authored by another user"))
	rig.RefuseIf(c.info.Archived, archivedThread())
	v, _ := s.revise(r, c, m, false)
	if r.now.Sub(m.Versions[0].At) > oldMessageAge {
		s.chargeOldEdit(r, c)
	}
	s.change(c, m, v)
	return s.wire(c, m)
}

// chargeOldEdit counts an edit of an old message, and refuses the edit if there were too many. Discord sends no headers
// about the limit on such edits.
func (s *Server) chargeOldEdit(r *request, c *channel) {
	sc := s.limiter.scope(bucketOldEdits, c.info.ID)
	full := s.limiter.Charge(r.now, sc)
	if full == nil {
		return
	}
	e := tooMany(full.Wait, scopeUser)
	e.code, e.message = codeOldEdits, "Maximum number of edits to messages older than 1 hour reached. Try again later."
	panic(e)
}

// revise creates the next version of a message from the fields of an edit.
func (s *Server) revise(r *request, c *channel, m *Message, interaction bool) (Version, payload) {
	last := m.Last()
	p := readPayload(r.form(), r.files, interaction, last.Flags&flagComponentsV2 != 0, flagSuppressEmbeds|flagComponentsV2)
	p.form.badIf(p.flags&flagComponentsV2 != 0 && last.Flags&flagComponentsV2 == 0 && last.Content != "" && !(p.hasContent && p.content == ""),
		"MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2", "content")
	p.form.errs.refuse()
	v := last
	v.At, v.Method, v.edited = r.now, r.call.Method, !last.Loading()
	v.Flags &^= flagLoading
	if p.hasFlags {
		v.Flags = v.Flags&^flagSuppressEmbeds | p.flags
	}
	if p.hasContent {
		v.Content = p.content
	}
	if p.hasEmbeds {
		v.Embeds = p.embeds
	}
	if p.hasComponents {
		v.Components, v.Buttons = p.components, p.buttons
	}
	v.Attachments = slices.Clone(v.Attachments)
	if p.keep != nil {
		v.Attachments = slices.DeleteFunc(v.Attachments, func(a Attachment) bool { return !slices.Contains(p.keep, a.ID) })
	}
	v.Attachments = append(v.Attachments, s.store(r.now, c, p.files)...)
	rig.RefuseIf(v.empty(), emptyMessage())
	return v, p
}

// change adds a new version to a message and reports it to the gateway.
func (s *Server) change(c *channel, m *Message, v Version) {
	m.Versions = append(m.Versions, v)
	if m.FromBot {
		s.stats.Edits++
	}
	s.Publish("edit", Event{Channel: c.info.ID, Message: m})
	s.dispatchMessage(c, "MESSAGE_UPDATE", m)
}

// deleteMessage answers DELETE /channels/{channel}/messages/{message}.
func (s *Server) deleteMessage(r *request, c *channel, m *Message) any {
	rig.RefuseIf(c.info.Archived, archivedThread())
	rig.RefuseIf(!m.FromBot && (c.info.Type == DM || s.access(c).ReadOnly), missingPermissions())
	s.remove(c, m, r.now, "bot")
	s.stats.Deletes++
	return nil
}

// deleteMessages answers POST /channels/{channel}/messages/bulk-delete.
func (s *Server) deleteMessages(r *request, c *channel) any {
	f := r.form()
	ids := f.texts("messages", 100)
	f.errs.refuse()
	rig.RefuseIf(len(ids) < 2, fail(http.StatusBadRequest, codeDeleteCount,
		"Provided too few or too many messages to delete. Must provide at least 2 and fewer than 100 messages to delete"))
	rig.RefuseIf(c.info.Type == DM, fail(http.StatusForbidden, codeWrongChannelType, "Cannot execute action on this channel type"))
	for _, id := range ids {
		m := c.message(id)
		rig.RefuseIf(m != nil && r.now.Sub(m.Versions[0].At) > bulkDeleteAge,
			fail(http.StatusBadRequest, codeOldBulkDelete, "You can only bulk delete messages that are under 14 days old."))
	}
	s.stats.Deletes += s.removeAll(c, ids, "bot")
	return nil
}

// removeAll deletes several messages at once, with one event on the gateway. removeAll returns their number. Source:
// https://docs.discord.com/developers/events/gateway-events#message-delete-bulk
func (s *Server) removeAll(c *channel, ids []string, by string) int {
	gone := []string{}
	for _, id := range ids {
		if m := c.message(id); m != nil && m.OnlyFor == "" {
			s.hide(c, m, time.Now(), by)
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		s.dispatchTo(c, intentGuildMessages, "MESSAGE_DELETE_BULK", map[string]any{"ids": gone, "channel_id": c.info.ID, "guild_id": c.info.Guild})
	}
	return len(gone)
}

// hide marks a message as deleted without an event on the gateway.
func (s *Server) hide(c *channel, m *Message, now time.Time, by string) {
	m.Deleted, m.DeletedBy = now, by
	s.Publish("delete", Event{Channel: c.info.ID, Message: m})
}

// remove deletes a message and reports the deletion to the gateway.
func (s *Server) remove(c *channel, m *Message, now time.Time, by string) {
	s.hide(c, m, now, by)
	if m.OnlyFor != "" {
		return
	}
	gone := map[string]string{"id": m.ID, "channel_id": m.Channel}
	if m.Guild != "" {
		gone["guild_id"] = m.Guild
	}
	s.dispatchTo(c, messageIntent(c), "MESSAGE_DELETE", gone)
}

// getMessage answers GET /channels/{channel}/messages/{message}.
func (s *Server) getMessage(r *request, c *channel, m *Message) any {
	rig.RefuseIf(s.access(c).NoHistory, missingPermissions())
	return s.readableMessage(c, m)
}

// readableMessage returns a message as calls such as getMessage return it: without the text if the application may not
// see it.
func (s *Server) readableMessage(c *channel, m *Message) *wireMessage {
	w := s.gatewayMessage(c, m, s.opts.MessageContent)
	w.GuildID, w.ChannelType, w.Nonce, w.Member = "", nil, nil, nil
	return w
}

// getMessages answers GET /channels/{channel}/messages with the newest message first.
func (s *Server) getMessages(r *request, c *channel) any {
	limit := 50
	if text := r.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		rig.RefuseIf(err != nil || n < 1 || n > 100, badField("NUMBER_TYPE_MAX", "int value should be between 1 and 100.", "limit"))
		limit = n
	}
	for _, name := range []string{"before", "after", "around"} {
		id := r.query.Get(name)
		rig.RefuseIf(id != "" && id != "0" && !isSnowflake(id), badField("NUMBER_TYPE_COERCE", "Value "+strconv.Quote(id)+" is not snowflake.", name))
	}
	if s.access(c).NoHistory {
		return []any{} // Discord's response if the bot may not read the history
	}
	list := []*wireMessage{}
	for _, m := range selectMessages(c.messages, r.query.Get("before"), r.query.Get("after"), r.query.Get("around"), limit) {
		list = append(list, s.readableMessage(c, m))
	}
	return list
}

// selectMessages returns at most limit messages that were not deleted, newest first.
func selectMessages(all []*Message, before, after, around string, limit int) []*Message {
	var list []*Message
	for _, m := range all {
		if m.Deleted.IsZero() && m.OnlyFor == "" {
			list = append(list, m)
		}
	}
	switch {
	case around != "":
		i := slices.IndexFunc(list, func(m *Message) bool { return !older(m.ID, around) })
		if i < 0 {
			i = len(list)
		}
		from := max(0, i-limit/2)
		list = list[from:min(len(list), from+limit)]
	case before != "":
		list = slices.DeleteFunc(list, func(m *Message) bool { return !older(m.ID, before) })
		list = list[max(0, len(list)-limit):]
	case after != "":
		list = slices.DeleteFunc(list, func(m *Message) bool { return !older(after, m.ID) })
		list = list[:min(limit, len(list))]
	default:
		list = list[max(0, len(list)-limit):]
	}
	slices.Reverse(list)
	return list
}

// startTyping answers POST /channels/{channel}/typing.
func (s *Server) startTyping(r *request, c *channel) any {
	s.stopTyping(c, r.now)
	p := Period{From: r.now, To: r.now.Add(typingLifetime)}
	c.typing = append(c.typing, p)
	s.stats.Typings++
	s.Publish("typing", Event{Channel: c.info.ID, Typing: &p})
	return nil
}
