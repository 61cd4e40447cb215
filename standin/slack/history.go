package slack

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"telex/standin/rig"
)

// Message is one message of a channel, with every version that people saw.
type Message struct {
	TS        string `json:"ts"`
	Channel   string `json:"channel"`
	ThreadTS  string `json:"thread_ts,omitempty"` // for a reply: the ts of the thread's parent message
	User      string `json:"user,omitempty"`
	BotID     string `json:"bot_id,omitempty"`
	FromBot   bool   `json:"from_bot"`            // the message is from the tested app
	Subtype   string `json:"subtype,omitempty"`   // the subtype in the message's event
	Broadcast bool   `json:"broadcast,omitempty"` // the message is a reply in a thread that the channel also shows
	// EphemeralTo is the only person who sees the message; "" means everybody.
	EphemeralTo string `json:"ephemeral_to,omitempty"`
	Files       []File `json:"files,omitempty"`
	rig.Seen[Version]
	// StreamEnds is when the server ends a native stream that the app does not end. StreamEnds is zero if the
	// message is not streaming.
	StreamEnds time.Time `json:"stream_ends,omitzero"`

	stopped  bool     // a person stopped the stream
	clientID string   // client_msg_id of a person's message
	share    *Message // the message that this one forwards; nil: none
}

// Version is the content that a message showed from the time At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made the version. Method is "person" for a person's message, and "respond" if the app
	// used a response URL.
	Method string `json:"method"`
	// Text is the message's text in the form in which Slack stores it: escaped mrkdwn, or the source of Markdown.
	Text string `json:"text"`
	// Markdown is the source that the app sent as markdown_text or in a stream.
	Markdown string          `json:"markdown,omitempty"`
	Blocks   json.RawMessage `json:"blocks,omitempty"`
	// Shown is the text that a person reads. In Shown, the texts of blocks are on separate lines. Shown contains names in
	// place of mentions, labels in place of links, and characters in place of entities. Formatting delimiters such as *
	// and ` stay visible.
	Shown string `json:"shown"`
	// Mentions are the mentioned user ids, !channel, !here, !everyone, and !subteam^S…. Slack notifies people only about
	// the mentions in the first version of a message.
	Mentions []string        `json:"mentions,omitempty"`
	Buttons  []Button        `json:"buttons,omitempty"`
	Tasks    []Task          `json:"tasks,omitempty"` // the tasks that a stream shows
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Opened are the URLs that Slack itself fetches to show link previews.
	Opened []string `json:"opened,omitempty"`
	// Streaming is set while a native stream runs. Broken is set if the server has ended the stream because of its age,
	// until an update repairs the message.
	Streaming bool `json:"streaming,omitempty"`
	Broken    bool `json:"broken,omitempty"`

	blocks      parsedBlocks
	previewsOff bool // link previews are off
}

// Shown returns the text that a person reads in the newest version.
func (m Message) Shown() string { return m.Last().Shown }

// Since returns when the version was first shown.
func (v Version) Since() time.Time { return v.At }

// Thread returns the ts of the thread to which the message belongs, or which a reply to the message would start.
func (m Message) Thread() string { return cmp.Or(m.ThreadTS, m.TS) }

// clone returns a copy of the message that does not change when the server changes the message.
func (m *Message) clone() Message {
	c := *m
	c.Seen = m.Copy()
	return c
}

// expire ends a stream that has run too long: it adds a version in which the message is broken.
func (m *Message) expire(now time.Time) {
	if m.StreamEnds.IsZero() || now.Before(m.StreamEnds) {
		return
	}
	v := m.Last()
	v.At, v.Method, v.Streaming, v.Broken = m.StreamEnds, "expired", false, true
	m.StreamEnds = time.Time{}
	if m.Alive() {
		m.Versions = append(m.Versions, v)
	}
}

// Status is a status that assistant.threads.setStatus showed below a thread.
type Status struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // in the future while clients show the status
	Text   string    `json:"text"`
	Thread string    `json:"thread_ts"`
}

// Screen is everything that a person saw in a channel and its threads at one moment.
type Screen struct {
	Channel  Channel   `json:"channel"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	Statuses []Status  `json:"statuses,omitempty"`
	Prompts  []Prompts `json:"prompts,omitempty"`
}

// In returns the messages of a thread, with the parent first. For the thread "", In returns the messages that the
// channel itself shows.
func (s Screen) In(thread string) []Message {
	var list []Message
	for _, m := range s.Messages {
		if thread == "" && (m.ThreadTS == "" || m.Broadcast) || thread != "" && m.Thread() == thread {
			list = append(list, m)
		}
	}
	return list
}

// ChannelHistory is everything that happened in a channel.
type ChannelHistory struct {
	Channel  Channel           `json:"channel"`
	Messages []Message         `json:"messages"`
	Statuses []Status          `json:"statuses,omitempty"`
	Titles   map[string]string `json:"titles,omitempty"` // titles of threads, by thread_ts
	Prompts  []Prompts         `json:"prompts,omitempty"`
	// Sessions contains the status of each session by thread_ts. The status of a session is "processing" while the app
	// works, and "active" at all other times.
	Sessions map[string]string `json:"sessions,omitempty"`
}

// History returns a copy of all messages of a channel, including deleted ones, sorted by ts.
func (s *Server) History(id string) []Message { return s.Chronicle(id).Messages }

// Chronicle returns a copy of everything that happened in a channel.
func (s *Server) Chronicle(id string) ChannelHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.channels[id]
	if !ok {
		return ChannelHistory{Channel: Channel{ID: id, Kind: kindOf(id)}}
	}
	h := ChannelHistory{Channel: c.info, Statuses: slices.Clone(c.statuses), Titles: maps.Clone(c.titles), Prompts: slices.Clone(c.prompts), Sessions: maps.Clone(c.sessions)}
	for _, m := range c.messages {
		m.expire(time.Now())
		h.Messages = append(h.Messages, m.clone())
	}
	return h
}

// View returns the messages that a person saw in a channel at a moment, each with its versions up to then. The last
// version of each message is the one that the person saw.
func (s *Server) View(id string, at time.Time) []Message { return s.Screen(id, at).Messages }

// Screen returns everything that a person saw in a channel at a moment.
func (s *Server) Screen(id string, at time.Time) Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen := Screen{Channel: Channel{ID: id, Kind: kindOf(id)}, At: at, Messages: []Message{}}
	c, ok := s.channels[id]
	if !ok {
		return screen
	}
	screen.Channel = c.info
	for _, m := range c.messages {
		m.expire(time.Now())
		if seen, ok := m.At(at); ok {
			c := *m
			c.Seen = seen
			screen.Messages = append(screen.Messages, c)
		}
	}
	for _, st := range c.statuses {
		if !st.From.After(at) && st.To.After(at) {
			screen.Statuses = append(screen.Statuses, st)
		}
	}
	for _, p := range c.prompts {
		if !p.From.After(at) && (p.To.IsZero() || p.To.After(at)) {
			screen.Prompts = append(screen.Prompts, p)
		}
	}
	return screen
}
