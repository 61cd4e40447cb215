package telegram

import (
	"slices"
	"time"
	"unicode/utf16"

	"telex/standin/rig"
)

// Message is one message of a chat with everything a person ever saw of it.
type Message struct {
	ID       int    `json:"id"`
	Chat     int64  `json:"chat"`
	ThreadID int    `json:"thread_id,omitempty"`
	Topic    bool   `json:"topic,omitempty"` // in a forum topic; a thread of replies has a ThreadID without it.
	From     User   `json:"from"`
	FromBot  bool   `json:"from_bot"`
	ReplyTo  int    `json:"reply_to,omitempty"`
	Quote    string `json:"quote,omitempty"` // the part of that message that was marked.
	Silent   bool   `json:"silent,omitempty"`
	Service  string `json:"service,omitempty"` // what a service message says, else "".
	Media    string `json:"media,omitempty"`   // as in Attachment, else "".
	FileName string `json:"file_name,omitempty"`
	MimeType string `json:"mime_type,omitempty"`
	FileSize int64  `json:"file_size,omitempty"` // bytes, as the platform names it.
	File     []byte `json:"-"`                   // the content; shared, not to be changed.
	Width    int    `json:"width,omitempty"`     // pixels.
	Height   int    `json:"height,omitempty"`    // pixels.
	Duration int    `json:"duration,omitempty"`  // seconds.
	// MediaGroup is the same for all messages of an album.
	MediaGroup string   `json:"media_group,omitempty"`
	Forward    *Forward `json:"forward,omitempty"`
	// Reaction is the emoji that the bot put on the message, "" for none.
	Reaction string `json:"reaction,omitempty"`
	rig.Seen[Version]

	external    *Message // of another chat, that this one replies to.
	thumb       *thumbnail
	fixedMarkup bool // carries a reply keyboard, so that it can't be edited.
}

// Version is what a message showed from At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made it, or "person".
	Method string `json:"method"`
	// Text is what is shown, after Telegram's cleaning and trimming.
	Text string `json:"text"`
	// Entities are the sender's, as Telegram normalizes them; sorted.
	Entities []Entity `json:"entities,omitempty"`
	// Detected are those Telegram found by itself: links, mentions, commands.
	Detected []Entity `json:"detected,omitempty"`
	// LinkPreviewOff tells whether link previews were disabled.
	LinkPreviewOff bool `json:"link_preview_off,omitempty"`
	// LinkPreviewURL is the one address that a preview was asked for.
	LinkPreviewURL string `json:"link_preview_url,omitempty"`
	// Rich are the blocks of a rich message, of which Text is the plain text; nil for other messages.
	Rich     []RichBlock `json:"rich,omitempty"`
	Keyboard [][]Button  `json:"keyboard,omitempty"`
}

// Opened is the address that the platform opens to show a preview below the text, without anybody clicking: the one
// that was asked for, else the first in the text; "" for none. Captions have no previews.
// Source: https://core.telegram.org/bots/api#linkpreviewoptions
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

// Text is the newest version's text.
func (m Message) Text() string { return m.Last().Text }

// Since is when the version came on display.
func (v Version) Since() time.Time { return v.At }

// clone detaches the message from the server's own.
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
	Text     string      `json:"text"` // empty: the "Thinking…" placeholder.
	Entities []Entity    `json:"entities,omitempty"`
	Rich     []RichBlock `json:"rich,omitempty"`
	CanStop  bool        `json:"can_stop,omitempty"`
	// KeepOnStop tells whether the text stays after a press on the stop button, until it expires or a message comes.
	KeepOnStop bool `json:"keep_on_stop,omitempty"`
	// Ended is when this state vanished: replaced, expired, or a message came.
	// It lies in the future while the draft is shown.
	Ended time.Time `json:"ended"`
}

// Period is a span of time in which a chat action was shown.
type Period struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Action string    `json:"action"`
	Thread int       `json:"thread_id,omitempty"`
}

// Screen is everything a person saw in a chat at one moment.
type Screen struct {
	Chat     Chat      `json:"chat"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	Drafts   []Draft   `json:"drafts,omitempty"`
	// Action is the chat action on display, "" for none.
	Action string `json:"action,omitempty"`
}

// ChatHistory is everything that ever happened in a chat.
type ChatHistory struct {
	Chat     Chat      `json:"chat"`
	Messages []Message `json:"messages"`
	Typing   []Period  `json:"typing,omitempty"`
	Drafts   []Draft   `json:"drafts,omitempty"`
}

// History returns all messages of a chat, deleted ones too, in the order in
// which they were sent. It is a copy.
func (s *Server) History(chat int64) []Message { return s.Chronicle(chat).Messages }

// Chronicle returns the messages, chat actions and drafts of a chat. It is a copy.
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

// View returns the messages that a person saw in a chat at a moment, each with
// its versions up to then; the last one is what was on the screen.
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

// Chats returns the chats that exist, by id.
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
	// MessageID is the message that was made or addressed.
	MessageID   int    `json:"message_id,omitempty"`
	Description string `json:"description,omitempty"` // of an error answer.
	// Params are the parameters as they arrived; files are left out.
	Params map[string]string `json:"params,omitempty"`

	late bool // its connection was cut before, and it was counted then.
}
