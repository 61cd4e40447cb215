package whatsapp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Edit changes the text of a person's message. With Options.Coexistence, the webhook about the edit contains the new
// text. Without Options.Coexistence, the webhook about the edit reports an unsupported message. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/edit
func (s *Server) Edit(user, message, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.findMessage(user, message)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	v := m.Last()
	if now := time.Now(); m.FromBot || m.age(now) > editWindow || strings.TrimSpace(text) == "" {
		return errors.New("edit: only the person's own texts, for 15 minutes")
	}
	v.At, v.Text = time.Now(), text
	m.Versions = append(m.Versions, v)
	s.Publish("edit", Event{User: m.User, Message: m})
	item := unsupported("edit")
	if s.opts.Coexistence {
		content := object{"type": m.Type, "text": object{"body": text}}
		if v.File != nil {
			content = object{"type": m.Type, m.Type: mediaItem(m.Type, &v, false)}
		}
		if m.ReplyTo != "" {
			content["context"] = object{"id": m.ReplyTo}
		}
		item = object{"type": "edit", "edit": object{"original_message_id": m.ID, "message": content}}
	}
	s.sendMessageWebhook(c, s.nextMessageID(m.User), item, nil)
	return nil
}

// A person may edit a message within editWindow, and delete it within revokeWindow. The comments on Edit and Revoke
// name the sources.
const (
	editWindow   = 15 * time.Minute
	revokeWindow = 48 * time.Hour
)

// Revoke deletes a person's message for everybody. The webhook about the deletion names the message only with
// Options.Coexistence. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/revoke
func (s *Server) Revoke(user, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.findMessage(user, message)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	now := time.Now()
	if m.FromBot || m.age(now) > revokeWindow {
		return errors.New("revoke: only the person's own messages, for two days")
	}
	m.Deleted, m.DeletedBy = now, "person"
	s.Publish("delete", Event{User: m.User, Message: m})
	item := unsupported("unknown")
	if s.opts.Coexistence {
		item = object{"type": "revoke", "revoke": object{"original_message_id": m.ID}}
	}
	s.sendMessageWebhook(c, s.nextMessageID(m.User), item, nil)
	return nil
}

// Read lets a person open the conversation. A webhook reports to the business that the person read its messages. A
// person who writes also opens the conversation.
func (s *Server) Read(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.find(user); c != nil {
		s.readAll(c)
	}
}

func (s *Server) readAll(c *conversation) {
	for _, m := range c.messages {
		if m.FromBot && m.Status() == "delivered" {
			s.status(c, m, "read")
		}
	}
}
