package telegram

import (
	"slices"
	"time"
	"unicode/utf16"

	"telex/standin/rig"
)

// Message is one message of a chat, with every version that people saw.
type Message struct {
	ID       int    `json:"id"`
	Chat     int64  `json:"chat"`
	ThreadID int    `json:"thread_id,omitempty"`
	Topic    bool   `json:"topic,omitempty"` // the message is in a forum topic; in a thread of replies, only ThreadID is set
	From     User   `json:"from"`
	FromBot  bool   `json:"from_bot"`
	ReplyTo  int    `json:"reply_to,omitempty"`
	Quote    string `json:"quote,omitempty"` // the quoted part of the message to which this one replies
	Silent   bool   `json:"silent,omitempty"`
	Service  string `json:"service,omitempty"` // the text of a service message, or ""
	Media    string `json:"media,omitempty"`   // kind of the file as in Attachment.Media, or "" for a message without a file
	FileName string `json:"file_name,omitempty"`
	MimeType string `json:"mime_type,omitempty"`
	FileSize int64  `json:"file_size,omitempty"` // the size in bytes that the stand-in reports to the bot
	File     []byte `json:"-"`                   // the content; not a copy, so the caller must not change it
	Width    int    `json:"width,omitempty"`     // pixels
	Height   int    `json:"height,omitempty"`    // pixels
	Duration int    `json:"duration,omitempty"`  // seconds
	// MediaGroup is equal for all messages of an album.
	MediaGroup string   `json:"media_group,omitempty"`
	Forward    *Forward `json:"forward,omitempty"`
	// Reaction is the bot's emoji on the message, or "".
	Reaction string `json:"reaction,omitempty"`
	rig.Seen[Version]

	external    *Message // the message to which this one replies, if it is in another chat
	thumb       *thumbnail
	fixedMarkup bool // the message has a reply keyboard, so it can't be edited
}

// Version is the content that a message showed from the time At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made the version, or "person".
	Method string `json:"method"`
	// Text is the shown text, after Telegram's cleaning and trimming.
	Text string `json:"text"`
	// Entities are the sender's entities, sorted and normalized as Telegram does it.
	Entities []Entity `json:"entities,omitempty"`
	// Detected are the entities that Telegram found by itself: links, mentions, commands.
	Detected []Entity `json:"detected,omitempty"`
	// LinkPreviewOff means that the bot disabled link previews.
	LinkPreviewOff bool `json:"link_preview_off,omitempty"`
	// LinkPreviewURL is the URL that the bot requested for the preview.
	LinkPreviewURL string `json:"link_preview_url,omitempty"`
	// Rich contains the blocks of a rich message, of which Text is then the plain text. Rich is nil for other
	// messages.
	Rich     []RichBlock `json:"rich,omitempty"`
	Keyboard [][]Button  `json:"keyboard,omitempty"`
}

// Opened returns the URL that Telegram itself fetches to show a preview below the text: the requested URL, or else the
// first one in the text. Opened returns "" if there is no preview. Captions have no previews. Source:
// https://core.telegram.org/bots/api#linkpreviewoptions
func (v Version) Opened() string {
	switch {
	case v.LinkPreviewOff:
		return ""
	case v.LinkPreviewURL != "":
		return v.LinkPreviewURL
	}
	links := slices.Concat(v.Entities, v.Detected)
	sortEntities(links)
	for _, e := range links {
		switch e.Type {
		case "text_link":
			return e.URL
		case "url":
			return string(utf16.Decode(utf16.Encode([]rune(v.Text))[e.Offset:e.end()]))
		}
	}
	return ""
}

// Text returns the text of the newest version.
func (m Message) Text() string { return m.Last().Text }

// Since returns when the version was first shown.
func (v Version) Since() time.Time { return v.At }

// clone returns a copy of the message that does not change when the server changes the message.
func (m *Message) clone() Message {
	c := *m
	c.Seen = m.Copy()
	return c
}

// Draft is one state of an ephemeral preview in a private chat.
type Draft struct {
	At       time.Time   `json:"at"`
	ID       int64       `json:"id"`
	ThreadID int         `json:"thread_id,omitempty"`
	Text     string      `json:"text"` // empty: the "Thinking…" placeholder
	Entities []Entity    `json:"entities,omitempty"`
	Rich     []RichBlock `json:"rich,omitempty"`
	CanStop  bool        `json:"can_stop,omitempty"`
	// KeepOnStop means that the draft's text stays visible after a person presses the stop button, until the draft
	// expires or a message arrives.
	KeepOnStop bool `json:"keep_on_stop,omitempty"`
	// Ended is when this state of the draft disappeared, because another state replaced it, it expired, or a message
	// arrived. While clients show this state, Ended is in the future.
	Ended time.Time `json:"ended"`
}

// Period is a span of time in which clients showed a chat action.
type Period struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Action string    `json:"action"`
	Thread int       `json:"thread_id,omitempty"`
}

// Screen is everything that a person saw in a chat at one moment.
type Screen struct {
	Chat     Chat      `json:"chat"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	Drafts   []Draft   `json:"drafts,omitempty"`
	// Action is the chat action that clients show, or "".
	Action string `json:"action,omitempty"`
}

// ChatHistory is everything that happened in a chat.
type ChatHistory struct {
	Chat     Chat      `json:"chat"`
	Messages []Message `json:"messages"`
	Typing   []Period  `json:"typing,omitempty"`
	Drafts   []Draft   `json:"drafts,omitempty"`
}

// History returns a copy of all messages of a chat, including deleted ones, in the order of sending.
func (s *Server) History(chat int64) []Message { return s.Chronicle(chat).Messages }

// Chronicle returns a copy of the messages, chat actions and drafts of a chat.
func (s *Server) Chronicle(chat int64) ChatHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.chats[chat]
	if !ok {
		return ChatHistory{Chat: Chat{ID: chat}}
	}
	h := ChatHistory{Chat: c.info, Typing: slices.Clone(c.typing), Drafts: slices.Clone(c.drafts)}
	for _, m := range c.messages {
		h.Messages = append(h.Messages, m.clone())
	}
	return h
}

// View returns the messages that a person saw in a chat at a moment, each with its versions up to then. The last
// version of each message is the one that the person saw.
func (s *Server) View(chat int64, at time.Time) []Message { return s.Screen(chat, at).Messages }

// Screen returns everything that a person saw in a chat at a moment.
func (s *Server) Screen(chat int64, at time.Time) Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen := Screen{Chat: Chat{ID: chat}, At: at, Messages: []Message{}}
	c, ok := s.chats[chat]
	if !ok {
		return screen
	}
	screen.Chat = c.info
	for _, m := range c.messages {
		if seen, ok := m.At(at); ok {
			c := *m
			c.Seen = seen
			screen.Messages = append(screen.Messages, c)
		}
	}
	for _, d := range c.drafts {
		if !d.At.After(at) && d.Ended.After(at) {
			screen.Drafts = append(screen.Drafts, d)
		}
	}
	for _, p := range c.typing {
		if !p.From.After(at) && p.To.After(at) {
			screen.Action = p.Action
		}
	}
	return screen
}

// Chats returns the chats that exist, sorted by id.
func (s *Server) Chats() []Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Chat, 0, len(s.chats))
	for _, c := range s.chats {
		list = append(list, c.info)
	}
	slices.SortFunc(list, func(a, b Chat) int { return int(max(-1, min(1, a.ID-b.ID))) })
	return list
}

// Call is one API call.
type Call struct {
	rig.Call
	Chat int64 `json:"chat,omitempty"`
	// MessageID is the id of the message that the call created, or that its parameter message_id names.
	MessageID   int    `json:"message_id,omitempty"`
	Description string `json:"description,omitempty"` // text of an error response
	// Params are the received parameters without files.
	Params map[string]string `json:"params,omitempty"`

	late bool // a fault with ActLate delayed the call; the limits counted it when it arrived
}
