package whatsapp

import (
	"slices"
	"time"

	"telex/standin/rig"
)

// Message is one message of a conversation, with every version that its reader saw.
type Message struct {
	ID      string `json:"id"`
	User    string `json:"user"`     // the business-scoped user id of the person
	FromBot bool   `json:"from_bot"` // the message is from the business
	// Type is text, image, document, audio, video, sticker or interactive. A message of a person may also have the type
	// location, contacts or unsupported.
	Type string `json:"type"`
	// ReplyTo is the id of the message that this one quotes.
	ReplyTo   string `json:"reply_to,omitempty"`
	Forwarded bool   `json:"forwarded,omitempty"`
	// Pressed is the id of the button that the person pressed to send this message.
	Pressed string `json:"pressed,omitempty"`
	// Seen contains only one version for a message of the business, because the business can't change its messages.
	rig.Seen[Version]
	// Statuses are the statuses that webhooks have reported for a message of the business: sent, delivered or read.
	Statuses []Status `json:"statuses,omitempty"`
	// Read is when the business marked a person's message as read.
	Read      time.Time  `json:"read,omitzero"`
	Reactions []Reaction `json:"reactions,omitempty"`

	opaque  string // the parameter biz_opaque_callback_data
	toPhone bool   // the message was sent to a phone number
}

// Version is the content that a message showed from the time At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made the version, or "person".
	Method string `json:"method"`
	// Text is the body or the caption, with WhatsApp's formatting characters, such as * and _.
	Text    string   `json:"text"`
	Header  string   `json:"header,omitempty"`
	Footer  string   `json:"footer,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	File    *File    `json:"file,omitempty"`
	// Link is the URL of media that the business sent as a link. The stand-in does not fetch this URL.
	Link string `json:"link,omitempty"`
	// Opened are the URLs that WhatsApp itself fetches to show a preview.
	Opened []string `json:"opened,omitempty"`
}

// Since returns when the version was first shown.
func (v Version) Since() time.Time { return v.At }

// Button is a reply button.
type Button struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Status is one status of a message of the business.
type Status struct {
	At     time.Time `json:"at"`
	Status string    `json:"status"`
}

// Reaction is an emoji that the person or the business added to a message, or "" if the sender removed the emoji.
type Reaction struct {
	At      time.Time `json:"at"`
	FromBot bool      `json:"from_bot"`
	Emoji   string    `json:"emoji"`

	to string // the id of the message to which the emoji belongs
}

// Typing is a period in which the person saw that the business types.
type Typing struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // in the future while WhatsApp shows the indicator
}

// Shown returns the text of the newest version.
func (m Message) Shown() string { return m.Last().Text }

// Status returns the newest status of a message of the business.
func (m Message) Status() string {
	if len(m.Statuses) == 0 {
		return ""
	}
	return m.Statuses[len(m.Statuses)-1].Status
}

// age returns the time since the message was sent.
func (m *Message) age(now time.Time) time.Duration { return now.Sub(m.Versions[0].At) }

func (m *Message) clone() Message {
	c := *m
	c.Seen = m.Copy()
	c.Statuses, c.Reactions = slices.Clone(m.Statuses), slices.Clone(m.Reactions)
	return c
}

// conversation is a person, and all messages that the person and the business exchanged.
type conversation struct {
	person   Person
	messages []*Message
	typings  []Typing
	// last is when the person last wrote. Until 24 hours after that message, the business may write.
	last time.Time
}

// Screen is everything that a person saw at one moment.
type Screen struct {
	Person   Person    `json:"person"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	// Typing means that WhatsApp showed the business as typing.
	Typing bool `json:"typing"`
}

// Chronicle is everything that happened in a conversation.
type Chronicle struct {
	Person   Person    `json:"person"`
	Messages []Message `json:"messages"`
	Typings  []Typing  `json:"typings,omitempty"`
	// WindowEnds is the time until which the business may write, or zero if the person never wrote.
	WindowEnds time.Time `json:"window_ends,omitzero"`
}

// History returns a copy of all messages of the conversation with a person, including deleted ones, in their order.
// user is a business-scoped user id or a phone number. "" means DefaultUser.
func (s *Server) History(user string) []Message { return s.Chronicle(user).Messages }

// Chronicle returns a copy of everything that happened in the conversation with a person.
func (s *Server) Chronicle(user string) Chronicle {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(user)
	if c == nil {
		return Chronicle{}
	}
	h := Chronicle{Person: c.person, Typings: slices.Clone(c.typings)}
	if !c.last.IsZero() {
		h.WindowEnds = c.last.Add(window)
	}
	for _, m := range c.messages {
		h.Messages = append(h.Messages, m.clone())
	}
	return h
}

// Screen returns everything that a person saw of the conversation at a moment.
func (s *Server) Screen(user string, at time.Time) Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen := Screen{At: at, Messages: []Message{}}
	c := s.find(user)
	if c == nil {
		return screen
	}
	screen.Person = c.person
	for _, m := range c.messages {
		if seen, ok := m.At(at); ok {
			shown := m.clone()
			shown.Seen = seen
			screen.Messages = append(screen.Messages, shown)
		}
	}
	screen.Typing = slices.ContainsFunc(c.typings, func(t Typing) bool { return !t.From.After(at) && t.To.After(at) })
	return screen
}
