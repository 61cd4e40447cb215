package whatsapp

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Incoming is a message that a person sends: a text, a file, a location, contacts, or something unsupported.
type Incoming struct {
	// User is the sender's business-scoped user id or phone number; empty means DefaultUser. Say creates an unknown person
	// with a user id and a phone number. For example, the unknown person US.15551234567 gets the phone number 15551234567.
	User string `json:"user"`
	Text string `json:"text"` // the text, or the caption of File
	File *Media `json:"file"`
	// Location and Contacts are the content of a location or contacts message. The webhook contains Location and Contacts
	// unchanged.
	Location map[string]any   `json:"location"`
	Contacts []map[string]any `json:"contacts"`
	// Unsupported is the name of a kind of message that WhatsApp's API does not support, such as poll_creation.
	Unsupported string `json:"unsupported"`
	// ReplyTo is the message that this one quotes.
	ReplyTo             string `json:"reply_to"`
	Forwarded           bool   `json:"forwarded"`
	FrequentlyForwarded bool   `json:"frequently_forwarded"`
}

// Media is a file that a person sends.
type Media struct {
	// Type is image, audio, voice, video, document or sticker.
	Type string `json:"type"`
	Name string `json:"filename"` // file name of a document
	// Mime is the media type. If Mime is empty, the webhook contains the media type that WhatsApp usually sends for Type.
	Mime    string `json:"mime_type"`
	Content []byte `json:"content"` // base64 in JSON
	// Size is the size in bytes that the stand-in reports to the business; 0 means the true size.
	Size int `json:"file_size"`
}

// Say sends a message as a person, and returns the id of the message. Say fails if WhatsApp's app would not let a
// person send the content of the message, such as an empty text.
func (s *Server) Say(in Incoming) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findOrAdd(in.User)
	if err != nil {
		return "", fmt.Errorf("say: %w", err)
	}
	if m := s.messages[in.ReplyTo]; in.ReplyTo != "" && (m == nil || m.User != c.person.UserID || !m.Alive()) {
		return "", fmt.Errorf("say: no message %q to reply to", in.ReplyTo)
	}
	m := &Message{ReplyTo: in.ReplyTo, Forwarded: in.Forwarded || in.FrequentlyForwarded}
	v := Version{Text: in.Text}
	item, err := s.item(in, m, &v)
	if err != nil {
		return "", fmt.Errorf("say: %w", err)
	}
	context := object{}
	if in.ReplyTo != "" {
		context = s.contextOf(c, in.ReplyTo)
	}
	if in.Forwarded {
		context["forwarded"] = true
	}
	if in.FrequentlyForwarded {
		context["frequently_forwarded"] = true
	}
	s.receive(c, m, v, item, context)
	return m.ID, nil
}

// item returns the part of a webhook that describes the content of a person's message. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages
func (s *Server) item(in Incoming, m *Message, v *Version) (object, error) {
	switch {
	case in.File != nil:
		file, voice, err := s.receiveFile(*in.File)
		if err != nil {
			return nil, err
		}
		m.Type, v.File = file.kind, file.File
		return object{"type": m.Type, m.Type: mediaItem(m.Type, v, voice)}, nil
	case in.Location != nil:
		m.Type = "location"
		return object{"type": m.Type, m.Type: in.Location}, nil
	case len(in.Contacts) > 0:
		m.Type = "contacts"
		return object{"type": m.Type, m.Type: in.Contacts}, nil
	case in.Unsupported != "":
		m.Type = "unsupported"
		return unsupported(in.Unsupported), nil
	case strings.TrimSpace(in.Text) == "":
		return nil, errors.New("text is empty")
	case units(in.Text) > maxIncoming:
		return nil, fmt.Errorf("text is longer than %d characters", maxIncoming)
	}
	m.Type = "text"
	return object{"type": "text", "text": object{"body": in.Text}}, nil
}

// maxIncoming is the maximum length of a person's text in characters.
const maxIncoming = 65536

// unsupported returns the content of a webhook about a message of a kind that WhatsApp's API does not support. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/unsupported
func unsupported(kind string) object {
	return object{
		"type": "unsupported", "unsupported": object{"type": kind},
		"errors": []object{{
			"code": CodeType, "title": "Message type unknown", "message": "Message type unknown",
			"error_data": object{"details": "Message type is currently not supported."},
		}},
	}
}

// receivedFile is a file that a person sent, and the type of the message that contains it.
type receivedFile struct {
	*File
	kind string
}

// receiveFile validates and stores a file that a person sends.
func (s *Server) receiveFile(in Media) (file receivedFile, voice bool, err error) {
	kind, usual := in.Type, map[string]string{
		"image": "image/jpeg", "audio": "audio/mpeg", "voice": "audio/ogg; codecs=opus", "video": "video/mp4",
		"document": "", "sticker": "image/webp",
	}
	mimeType, ok := usual[kind]
	if !ok {
		return receivedFile{}, false, fmt.Errorf("a file of type %q: image, audio, voice, video, document or sticker expected", kind)
	}
	if voice = kind == "voice"; voice {
		kind = "audio"
	}
	if in.Name == "" && kind == "document" {
		in.Name = "file"
	}
	f := s.storeFile(File{Name: in.Name, Mime: cmp.Or(in.Mime, mimeType), Size: in.Size, Content: in.Content}, time.Now().Add(webhookLifetime))
	return receivedFile{File: f, kind: kind}, voice, nil
}

// mediaItem returns the part of a webhook that describes a file from a person. mediaItem leaves out the property url,
// because WhatsApp "gradually releases" this property and asks apps not to rely on it.
func mediaItem(kind string, v *Version, voice bool) object {
	f := v.File
	sum, _ := hex.DecodeString(f.SHA256) // storeFile encoded the hash, so the hash is valid
	item := object{
		"mime_type": f.Mime, "sha256": base64.StdEncoding.EncodeToString(sum), "id": f.ID,
	}
	if v.Text != "" {
		item["caption"] = v.Text
	}
	switch kind {
	case "document":
		item["filename"] = f.Name
	case "audio":
		item["voice"] = voice
	case "sticker":
		item["animated"] = false
	}
	return item
}

// contextOf returns the part of a webhook that describes the message to which a person's message refers.
func (s *Server) contextOf(c *conversation, id string) object {
	context := object{"id": id}
	switch m := s.messages[id]; {
	case m != nil && m.FromBot:
		context["from"] = Number
	case !c.person.HidePhone:
		context["from"] = c.person.Phone
	}
	return context
}

// receive adds a person's message to the conversation and sends a webhook about it.
func (s *Server) receive(c *conversation, m *Message, v Version, item, context object) {
	now := time.Now()
	m.ID, m.User = s.nextMessageID(c.person.UserID), c.person.UserID
	v.At, v.Method = now, "person"
	m.Versions = []Version{v}
	s.recordActivity(c, now)
	s.add(c, m)
	s.sendMessageWebhook(c, m.ID, item, context)
}

// recordActivity records that a person wrote, reacted or pressed a button. After such an action, the business may write
// for 24 hours, and the person has read all messages so far.
func (s *Server) recordActivity(c *conversation, now time.Time) {
	c.last = now
	s.readAll(c)
	s.limiter.throughput().Take(now)
}

// sendMessageWebhook sends a webhook about an action of a person.
func (s *Server) sendMessageWebhook(c *conversation, id string, item, context object) {
	item["id"], item["timestamp"] = id, stamp(time.Now())
	item["from_user_id"] = c.person.UserID
	if !c.person.HidePhone {
		item["from"] = c.person.Phone
	}
	if len(context) > 0 {
		item["context"] = context
	}
	s.notify(&webhookItem{user: c.person.UserID, message: id, kind: kindMessage, contact: c.person.contact(true), item: item})
}

// React adds a person's emoji to a message. If emoji is "", React removes the person's emoji.
func (s *Server) React(user, message, emoji string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.findMessage(user, message)
	if err != nil {
		return fmt.Errorf("react: %w", err)
	}
	now := time.Now()
	s.recordActivity(c, now)
	s.react(m, Reaction{At: now, Emoji: emoji})
	reaction := object{"message_id": message}
	if emoji != "" {
		reaction["emoji"] = emoji
	}
	s.sendMessageWebhook(c, s.nextMessageID(c.person.UserID), object{"type": "reaction", "reaction": reaction}, nil)
	return nil
}

// Press presses a reply button as a person. button is the button's id or title. Press returns the id of the message
// that WhatsApp then sends in the person's name. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/interactive
func (s *Server) Press(user, message, button string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.findMessage(user, message)
	if err != nil {
		return "", fmt.Errorf("press: %w", err)
	}
	buttons := m.Last().Buttons
	i := slices.IndexFunc(buttons, func(b Button) bool { return b.ID == button || b.Title == button })
	if i < 0 {
		return "", fmt.Errorf("press: message %q has no button %q", message, button)
	}
	b := buttons[i]
	pressed := &Message{Type: "interactive", ReplyTo: message, Pressed: b.ID}
	s.receive(c, pressed, Version{Text: b.Title}, object{
		"type": "interactive", "interactive": object{"type": "button_reply", "button_reply": object{"id": b.ID, "title": b.Title}},
	}, s.contextOf(c, message))
	return pressed.ID, nil
}

// findMessage returns a message in the conversation with a person. findMessage returns an error if there is no such
// message.
func (s *Server) findMessage(user, message string) (*conversation, *Message, error) {
	c := s.find(user)
	if c == nil {
		return nil, nil, fmt.Errorf("no person %q", user)
	}
	m := s.messages[message]
	if m == nil || m.User != c.person.UserID || !m.Alive() {
		return nil, nil, fmt.Errorf("no message %q", message)
	}
	return c, m, nil
}
