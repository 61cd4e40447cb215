package discord

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"telex/standin/rig"
)

// maxName is the maximum length of a thread's name in characters.
const maxName = 100

// startThread answers POST /channels/{channel}/threads. startThread creates a thread that does not start at a message.
func (s *Server) startThread(r *request, c *channel) any {
	f := r.form()
	kind := PrivateThread // private is Discord's default, for historical reasons
	if f.has("type") {
		kind = f.integer("type")
		f.badIf(kind != PublicThread && kind != PrivateThread, "BASE_TYPE_CHOICES", "Value must be one of {10, 11, 12}.", "type")
	}
	name, minutes := readThread(f)
	f.errs.refuse()
	t := s.openThread(c, Channel{ID: s.ids.next(r.now), Type: kind, Name: name, Owner: s.me.ID}, minutes)
	r.call.Channel = t.info.ID
	if kind == PublicThread {
		s.add(c, &Message{
			ID: s.ids.next(r.now), Type: typeThreadCreated, From: s.me, FromBot: true,
			Seen: rig.Seen[Version]{Versions: []Version{{At: r.now, Method: r.call.Method, Content: name}}},
		})
	}
	return created{s.wireChannel(t)}
}

// startThreadFrom answers POST /channels/{channel}/messages/{message}/threads. The thread gets the id of the message at
// which it starts.
func (s *Server) startThreadFrom(r *request, c *channel) any {
	m := c.message(r.param("message"))
	rig.RefuseIf(m == nil, unknownMessage())
	f := r.form()
	name, minutes := readThread(f)
	f.errs.refuse()
	rig.RefuseIf(s.channels[m.ID] != nil, fail(http.StatusBadRequest, codeThreadExists, "A thread has already been created for this message"))
	t := s.openThread(c, Channel{ID: m.ID, Type: PublicThread, Name: name, Owner: s.me.ID}, minutes)
	s.linkThread(c, m, t)
	return created{s.wireChannel(t)}
}

// threadParent returns the channel in the path of the call. threadParent refuses the call if the bot may not create
// threads in the channel.
func (s *Server) threadParent(r *request) *channel {
	c := s.channelOf(r)
	rig.RefuseIf(c.info.Type != GuildText, fail(http.StatusBadRequest, codeWrongChannelType, "Cannot execute action on this channel type"))
	rig.RefuseIf(s.access(c).NoThreads, missingPermissions())
	return c
}

func readThread(f form) (name string, minutes int) {
	name = f.text("name", 1, maxName)
	minutes = cmp.Or(f.integer("auto_archive_duration"), 4320)
	f.badIf(!slices.Contains([]int{60, 1440, 4320, 10080}, minutes), "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).", "auto_archive_duration")
	return name, minutes
}

func (s *Server) openThread(parent *channel, info Channel, minutes int) *channel {
	info.Guild, info.Parent = parent.info.Guild, parent.info.ID
	t := s.addChannel(info)
	t.autoArchive, t.archivedAt = minutes, time.Now()
	s.dispatchTo(t, intentGuilds, "THREAD_CREATE", newThread{s.wireChannel(t), true})
	return t
}

// newThread is a new thread in the form in which the gateway reports it.
type newThread struct {
	*wireChannel
	New bool `json:"newly_created"`
}

// linkThread links a thread with its first message.
func (s *Server) linkThread(c *channel, m *Message, t *channel) {
	m.Thread = t.info.ID
	m.Versions[len(m.Versions)-1].Flags |= flagHasThread
	s.dispatchMessage(c, "MESSAGE_UPDATE", m)
}

// unarchive reopens an archived thread. The server calls unarchive for messages of people and for messages that
// createMessage sends.
func (s *Server) unarchive(c *channel) {
	if c.info.Archived {
		c.info.Archived = false
		c.archivedAt = time.Now()
		s.dispatchTo(c, intentGuilds, "THREAD_UPDATE", s.wireChannel(c))
	}
}

// editChannel answers PATCH /channels/{channel}. editChannel refuses the call if the channel is not a thread.
func (s *Server) editChannel(r *request, c *channel) any {
	rig.RefuseIf(!c.info.thread(), missingPermissions())
	f := r.form()
	archived := f.flag("archived", c.info.Archived)
	locked := f.flag("locked", c.info.Locked)
	name := c.info.Name
	if f.has("name") {
		name = f.text("name", 1, maxName)
	}
	f.errs.refuse()
	rig.RefuseIf(c.info.Archived && archived, archivedThread())
	s.setThread(c, name, archived, locked)
	return s.wireChannel(c)
}

func (s *Server) setThread(c *channel, name string, archived, locked bool) {
	c.info.Name, c.info.Archived, c.info.Locked = name, archived, locked
	c.archivedAt = time.Now()
	s.dispatchTo(c, intentGuilds, "THREAD_UPDATE", s.wireChannel(c))
}

// StartThread creates a thread in a channel as a person, and returns the thread's id. The thread starts at message, or
// at no message if message is "".
func (s *Server) StartThread(channelID, message, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil || c.info.Type != GuildText {
		return "", fmt.Errorf("start thread: no such text channel %q", channelID)
	}
	info := Channel{Type: PublicThread, Name: name, Owner: DefaultPerson}
	if message == "" {
		info.ID = s.ids.next(time.Now())
		return s.openThread(c, info, 4320).info.ID, nil
	}
	m := c.message(message)
	if m == nil || s.channels[message] != nil {
		return "", fmt.Errorf("start thread: no message %q without a thread", message)
	}
	info.ID = message
	t := s.openThread(c, info, 4320)
	s.linkThread(c, m, t)
	return t.info.ID, nil
}

// Archive archives a thread or reopens it. If the thread is locked, messages of the bot do not reopen it.
func (s *Server) Archive(thread string, archived, locked bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[thread]
	if c == nil || !c.info.thread() {
		return fmt.Errorf("archive: no such thread %q", thread)
	}
	s.setThread(c, c.info.Name, archived, locked)
	return nil
}
