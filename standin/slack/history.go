package slack

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"telex/standin/rig"
)

// Message is one message of a channel with everything that a person saw of it.
type Message struct {
	TS        string `json:"ts"`
	Channel   string `json:"channel"`
	ThreadTS  string `json:"thread_ts,omitempty"` // ts of the parent; "" outside of threads and for parents
	User      string `json:"user,omitempty"`
	BotID     string `json:"bot_id,omitempty"`
	FromBot   bool   `json:"from_bot"`            // from the app under test
	Subtype   string `json:"subtype,omitempty"`   // the subtype in the message's event
	Broadcast bool   `json:"broadcast,omitempty"` // a reply that is also shown in the channel
	// EphemeralTo is the only person who sees the message; "" means everybody.
	EphemeralTo string `json:"ephemeral_to,omitempty"`
	Files       []File `json:"files,omitempty"`
	rig.Seen[Version]
	// StreamEnds is when a native stream ends by itself; zero if the message is not streaming.
	StreamEnds time.Time `json:"stream_ends,omitzero"`

	stopped  bool     // a person stopped the stream
	clientID string   // client_msg_id of a person's message
	share    *Message // the message that a person forwarded with this one; nil: none
}

// Version is what a message showed from At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the API method that made the version. It is "person" if a person did, and "respond" for a response URL.
	Method string `json:"method"`
	// Text is the message's text as the platform stores it: escaped mrkdwn, or the source of Markdown.
	Text string `json:"text"`
	// Markdown is the source that was sent as markdown_text or streamed.
	Markdown string          `json:"markdown,omitempty"`
	Blocks   json.RawMessage `json:"blocks,omitempty"`
	// Shown is what a person reads. The texts of blocks are on separate lines. Shown has names instead of mentions, labels
	// instead of links, and characters instead of entities. Marks such as * and ` stay.
	Shown string `json:"shown"`
	// Mentions are the mentioned user ids, !channel, !here, !everyone, and !subteam^S…. Only the mentions in the first
	// version notify people.
	Mentions []string        `json:"mentions,omitempty"`
	Buttons  []Button        `json:"buttons,omitempty"`
	Tasks    []Task          `json:"tasks,omitempty"` // the tasks that a stream shows
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Opened are the URLs that the platform opens by itself to show link previews.
	Opened []string `json:"opened,omitempty"`
	// Streaming is set while a native stream runs. Broken is set after the stream has ended by itself, until an update
	// repairs the message.
	Streaming bool `json:"streaming,omitempty"`
	Broken    bool `json:"broken,omitempty"`

	blocks      parsedBlocks
	previewsOff bool // link previews are off
}

// Shown returns what a person reads of the newest version.
func (m Message) Shown() string { return m.Last().Shown }

// Since returns when the version was first shown.
func (v Version) Since() time.Time { return v.At }

// Thread returns the ts of the thread that the message is in or would start.
func (m Message) Thread() string { return cmp.Or(m.ThreadTS, m.TS) }

// clone returns a copy that the server does not change.
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
	To     time.Time `json:"to"` // in the future while the status is shown
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

// In returns the messages of a thread, the parent first. For "", it returns the messages outside of threads.
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
	// Sessions has the status of each session by thread_ts. It is "processing" while the app works, and otherwise
	// "active".
	Sessions map[string]string `json:"sessions,omitempty"`
}

// History returns a copy of all messages of a channel, including deleted ones, sorted by ts.
func (s *Server) History(id string) []Message { return s.Chronicle(id).Messages }

// Chronicle returns everything that happened in a channel. It is a copy.
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
// version was on the screen.
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
