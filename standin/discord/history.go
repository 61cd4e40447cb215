package discord

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

// Message is one message of a channel, with every version that people saw.
type Message struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Guild   string `json:"guild,omitempty"`
	// Type is 0 for a message, 19 for a reply, and 20 for the answer to a slash command.
	Type    int    `json:"type"`
	From    User   `json:"from"`
	FromBot bool   `json:"from_bot"`
	ReplyTo string `json:"reply_to,omitempty"`
	// ForwardOf is the id of the message that this one forwards. The text and the files of this message are copies
	// from the time of the forward.
	ForwardOf string `json:"forward_of,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// Silent means that the message made no sound on people's devices.
	Silent bool `json:"silent,omitempty"`
	// Pings lists the mentions that notified people, each as "user:<id>", "role:<id>", "everyone" or "here". The list of
	// Pings is sorted.
	Pings []string `json:"pings,omitempty"`
	// Interaction is the id of the interaction that the message answers.
	Interaction string `json:"interaction,omitempty"`
	// OnlyFor is the only person who sees the message; "" means that everybody sees it.
	OnlyFor string `json:"only_for,omitempty"`
	// Thread is the id of the thread that starts at the message.
	Thread string `json:"thread,omitempty"`
	rig.Seen[Version]

	forwarded   *snapshot
	forwardFrom string // the channel of the message that ForwardOf names

	nonce           json.RawMessage // the nonce as received, which may be a JSON number
	mentions        []string        // ids of the mentioned users
	mentionRoles    []string
	mentionEveryone bool
}

// Version is the content that a message showed from the time At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the name of the call that made the version, or "person".
	Method string `json:"method"`
	// Content is the text of the message after trimming.
	Content     string          `json:"content"`
	Embeds      json.RawMessage `json:"embeds,omitempty"`
	Components  json.RawMessage `json:"components,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	// Flags are Discord's message flags; 128 means that the answer is still loading.
	Flags int `json:"flags,omitempty"`
	// Buttons are the buttons that people can press.
	Buttons []Button `json:"buttons,omitempty"`

	edited bool // clients show that the message was edited
}

// Loading reports whether the message shows no text yet, only that the bot is thinking.
func (v Version) Loading() bool { return v.Flags&flagLoading != 0 }

// linkPattern matches the texts that Discord turns into links. A URL in angle brackets becomes a link without a
// preview. Source: https://support.discord.com/hc/en-us/articles/210298617
var linkPattern = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|<https?://[^\\s>]*>|\\]\\(<https?://[^\\s>]*>\\)|https?://[^\\s<>]+[^\\s<>.,:;\"'\\])]")

// Opened returns the URLs that Discord itself fetches to show embeds below the message. Source:
// https://docs.discord.com/developers/resources/message#message-object-message-flags, SUPPRESS_EMBEDS.
func (v Version) Opened() []string {
	if v.Flags&flagSuppressEmbeds != 0 {
		return nil
	}
	return slices.DeleteFunc(linkPattern.FindAllString(v.Content, -1), func(a string) bool { return !strings.HasPrefix(a, "http") })
}

// Button is a button below a message. A button with a URL is a link.
type Button struct {
	CustomID string `json:"custom_id,omitempty"`
	Label    string `json:"label,omitempty"`
	URL      string `json:"url,omitempty"`
	Style    int    `json:"style"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Content returns the text of the newest version.
func (m Message) Content() string { return m.Last().Content }

// Since returns when the version was first shown.
func (v Version) Since() time.Time { return v.At }

// clone returns a copy of the message that does not change when the server changes the message.
func (m *Message) clone() Message {
	c := *m
	c.Seen = m.Copy()
	return c
}

// Period is a span of time in which people saw the bot typing.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Screen is everything that people saw in a channel at one moment, including messages that only one person sees.
type Screen struct {
	Channel  Channel   `json:"channel"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	// Typing means that clients show the bot as typing.
	Typing bool `json:"typing,omitempty"`
	// Failed lists the interactions that the bot did not answer in time. For each such interaction, the person reads that
	// the application did not respond.
	Failed []string `json:"failed,omitempty"`
}

// ChannelHistory is everything that happened in a channel.
type ChannelHistory struct {
	Channel  Channel   `json:"channel"`
	Messages []Message `json:"messages"`
	Typing   []Period  `json:"typing,omitempty"`
}

// History returns a copy of all messages of a channel, including deleted ones, in the order of sending.
func (s *Server) History(channelID string) []Message { return s.Chronicle(channelID).Messages }

// Chronicle returns a copy of the messages and typing indicators of a channel.
func (s *Server) Chronicle(channelID string) ChannelHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.channels[channelID]
	if !ok {
		return ChannelHistory{Channel: Channel{ID: channelID}}
	}
	h := ChannelHistory{Channel: c.info, Typing: slices.Clone(c.typing)}
	for _, m := range c.messages {
		h.Messages = append(h.Messages, m.clone())
	}
	return h
}

// View returns the messages that a channel showed at a moment, each with its versions up to then. The last version of
// each message is the one that people saw.
func (s *Server) View(channelID string, at time.Time) []Message {
	return s.Screen(channelID, at).Messages
}

// Screen returns everything that people saw in a channel at a moment.
func (s *Server) Screen(channelID string, at time.Time) Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen := Screen{Channel: Channel{ID: channelID}, At: at, Messages: []Message{}}
	c, ok := s.channels[channelID]
	if !ok {
		return screen
	}
	screen.Channel = c.info
	for _, m := range c.messages {
		if seen, ok := m.At(at); ok {
			c := *m
			c.Seen = seen
			screen.Messages = append(screen.Messages, c)
		}
	}
	for _, p := range c.typing {
		if !p.From.After(at) && p.To.After(at) {
			screen.Typing = true
		}
	}
	for _, i := range s.interactionList {
		if i.Channel == channelID && i.failed(at) {
			screen.Failed = append(screen.Failed, i.ID)
		}
	}
	return screen
}

// Call is one API call.
type Call struct {
	rig.Call
	// Request is the HTTP method and path.
	Request string `json:"request"`
	Channel string `json:"channel,omitempty"`
	// Message is the id of the message that the call created, or that its path names.
	Message string `json:"message,omitempty"`
	// Code and Description are the error code and the message of an error response.
	Code        int    `json:"code,omitempty"`
	Description string `json:"description,omitempty"`
	// Body is the JSON of the request, without files.
	Body json.RawMessage `json:"body,omitempty"`

	bucket, resource string // the bucket that counts the call
}
