package whatsapp

import (
	"slices"
	"time"

	"telex/standin/rig"
)

// Message is one message of a conversation with everything that its reader saw of it.
type Message struct {
	ID      string `json:"id"`
	User    string `json:"user"`     // the business-scoped user id of the person
	FromBot bool   `json:"from_bot"` // from the business, not from the person
	// Type is text, image, document, audio, video, sticker or interactive; for messages of people, also location, contacts
	// and unsupported.
	Type string `json:"type"`
	// ReplyTo is the message that this one quotes.
	ReplyTo   string `json:"reply_to,omitempty"`
	Forwarded bool   `json:"forwarded,omitempty"`
	// Pressed is the id of the button that made the message.
	Pressed string `json:"pressed,omitempty"`
	// Seen has one version for a message of the business, because nothing can change it.
	rig.Seen[Version]
	// Statuses are the statuses of its message that the business was told: sent, delivered or read.
	Statuses []Status `json:"statuses,omitempty"`
	// Read is when the business marked a person's message as read.
	Read      time.Time  `json:"read,omitzero"`
	Reactions []Reaction `json:"reactions,omitempty"`

	opaque  string // the parameter biz_opaque_callback_data
	toPhone bool   // the message was sent to a phone number
}

// Version is what a message showed from At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made the version, or "person".
	Method string `json:"method"`
	// Text is the body or the caption, with WhatsApp's marks such as * and _.
	Text    string   `json:"text"`
	Header  string   `json:"header,omitempty"`
	Footer  string   `json:"footer,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	File    *File    `json:"file,omitempty"`
	// Link is the URL of media that were sent by link. The stand-in does not open it.
	Link string `json:"link,omitempty"`
	// Opened are the URLs that the platform opens by itself to show a preview.
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

// Reaction is somebody's emoji on a message, or "" after they removed it.
type Reaction struct {
	At      time.Time `json:"at"`
	FromBot bool      `json:"from_bot"`
	Emoji   string    `json:"emoji"`

	to string // the id of the message
}

// Typing is a period in which the person saw that the business types.
type Typing struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // in the future while the indicator is shown
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
	// last is when the person last wrote, which starts the window of 24 hours.
	last time.Time
}

// Screen is everything that a person saw at one moment.
type Screen struct {
	Person   Person    `json:"person"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	// Typing says that the business was shown as typing.
	Typing bool `json:"typing"`
}

// Chronicle is everything that happened in a conversation.
type Chronicle struct {
	Person   Person    `json:"person"`
	Messages []Message `json:"messages"`
	Typings  []Typing  `json:"typings,omitempty"`
	// WindowEnds is when the business may no longer write, or zero if the person never wrote.
	WindowEnds time.Time `json:"window_ends,omitzero"`
}

// History returns a copy of all messages of the conversation with a person, including deleted ones, in their order.
// user is a business-scoped user id or a phone number. "" means DefaultUser.
func (s *Server) History(user string) []Message { return s.Chronicle(user).Messages }

// Chronicle returns everything that happened in the conversation with a person. It is a copy.
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

// Screen returns everything that a person saw at a moment.
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
