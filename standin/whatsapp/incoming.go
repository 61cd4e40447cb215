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

// Incoming is something that a person sends. It has a text, a file, a location, contacts, or something unsupported.
type Incoming struct {
	// User is the sender's business-scoped user id or phone number; DefaultUser when empty. An unknown person gets the
	// other one as well: US.15551234567 has the phone number 15551234567.
	User string `json:"user"`
	Text string `json:"text"` // or the caption of the file.
	File *Media `json:"file"`
	// Location and Contacts are sent as they are.
	Location map[string]any   `json:"location"`
	Contacts []map[string]any `json:"contacts"`
	// Unsupported is the name of something that the API can't show, such as poll_creation.
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
	Name string `json:"filename"` // of a document.
	// Mime is what WhatsApp usually says for the type when empty.
	Mime    string `json:"mime_type"`
	Content []byte `json:"content"` // in JSON as base64.
	// Size is what the platform names instead of the true size, in bytes.
	Size int `json:"file_size"`
}

// Say lets a person send something, and returns the message's id. It fails for what the person's app would not send,
// such as an empty text.
func (s *Server) Say(in Incoming) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.ensure(in.User)
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

// item is the part of a webhook that describes the content.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages
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

// maxIncoming is the longest text that a person can write, in characters.
const maxIncoming = 65536

// unsupported is what the business learns of a message that the API can't show.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/unsupported
func unsupported(kind string) object {
	return object{
		"type": "unsupported", "unsupported": object{"type": kind},
		"errors": []object{{
			"code": CodeType, "title": "Message type unknown", "message": "Message type unknown",
			"error_data": object{"details": "Message type is currently not supported."},
		}},
	}
}

// received is a file with the kind of message that it makes.
type received struct {
	*File
	kind string
}

// receiveFile stores a file that a person sends.
func (s *Server) receiveFile(in Media) (file received, voice bool, err error) {
	kind, usual := in.Type, map[string]string{
		"image": "image/jpeg", "audio": "audio/mpeg", "voice": "audio/ogg; codecs=opus", "video": "video/mp4",
		"document": "", "sticker": "image/webp",
	}
	mimeType, ok := usual[kind]
	if !ok {
		return received{}, false, fmt.Errorf("a file of type %q: image, audio, voice, video, document or sticker expected", kind)
	}
	if voice = kind == "voice"; voice {
		kind = "audio"
	}
	if in.Name == "" && kind == "document" {
		in.Name = "file"
	}
	f := s.keep(File{Name: in.Name, Mime: cmp.Or(in.Mime, mimeType), Size: in.Size, Content: in.Content}, time.Now().Add(webhookLife))
	return received{File: f, kind: kind}, voice, nil
}

// mediaItem describes a file that a person sent. The property url is left out: the platform "gradually releases" it,
// and asks not to rely on it.
func mediaItem(kind string, v *Version, voice bool) object {
	f := v.File
	sum, _ := hex.DecodeString(f.SHA256) // is one
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

// contextOf describes the message that a person's message refers to.
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

// receive adds a person's message to the conversation, and sends a webhook about it.
func (s *Server) receive(c *conversation, m *Message, v Version, item, context object) {
	now := time.Now()
	m.ID, m.User = s.nextMessageID(c.person.UserID), c.person.UserID
	v.At, v.Method = now, "person"
	m.Versions = []Version{v}
	s.active(c, now)
	s.add(c, m)
	s.tell(c, m.ID, item, context)
}

// active notes that a person has sent something: the window begins anew, and the person has seen the conversation.
func (s *Server) active(c *conversation, now time.Time) {
	c.last = now
	s.readAll(c)
	s.limiter.throughput().Take(now)
}

// tell sends a webhook about something that a person did.
func (s *Server) tell(c *conversation, id string, item, context object) {
	item["id"], item["timestamp"] = id, stamp(time.Now())
	item["from_user_id"] = c.person.UserID
	if !c.person.HidePhone {
		item["from"] = c.person.Phone
	}
	if len(context) > 0 {
		item["context"] = context
	}
	s.notify(&notice{user: c.person.UserID, about: id, kind: kindMessage, contact: c.person.contact(true), item: item})
}

// React lets a person add an emoji to a message, or take it back with "".
func (s *Server) React(user, message, emoji string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.own(user, message)
	if err != nil {
		return fmt.Errorf("react: %w", err)
	}
	now := time.Now()
	s.active(c, now)
	s.react(m, Reaction{At: now, Emoji: emoji})
	reaction := object{"message_id": message}
	if emoji != "" {
		reaction["emoji"] = emoji
	}
	s.tell(c, s.nextMessageID(c.person.UserID), object{"type": "reaction", "reaction": reaction}, nil)
	return nil
}

// Press lets a person press a reply button, which is named by its id or by its title, and returns the id of the
// message that this sends.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/interactive
func (s *Server) Press(user, message, button string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.own(user, message)
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

// own finds a message in the conversation with a person.
func (s *Server) own(user, message string) (*conversation, *Message, error) {
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
