package discord

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

// Message is one message of a channel with everything a person ever saw of it.
type Message struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Guild   string `json:"guild,omitempty"`
	// Type is 0 for a message, 19 for a reply, 20 for the answer to a slash command.
	Type    int    `json:"type"`
	From    User   `json:"from"`
	FromBot bool   `json:"from_bot"`
	ReplyTo string `json:"reply_to,omitempty"`
	// ForwardOf is the message that this one forwards; its text and files then are those of the other when it was forwarded.
	ForwardOf string `json:"forward_of,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// Silent tells that nobody's device made a sound.
	Silent bool `json:"silent,omitempty"`
	// Pings are who was notified: "user:<id>", "role:<id>", "everyone" or "here". Sorted.
	Pings []string `json:"pings,omitempty"`
	// Interaction is the one that it answers.
	Interaction string `json:"interaction,omitempty"`
	// OnlyFor is the person who alone sees it, "" when all do.
	OnlyFor string `json:"only_for,omitempty"`
	// Thread is the thread that began with it.
	Thread string `json:"thread,omitempty"`
	rig.Seen[Version]

	forwarded   *snapshot
	forwardFrom string // the channel of ForwardOf.

	nonce           json.RawMessage // as it came: a number stays one.
	mentions        []string        // users.
	mentionRoles    []string
	mentionEveryone bool
}

// Version is what a message showed from At until the next version.
type Version struct {
	At time.Time `json:"at"`
	// Method is the call that made it, or "person".
	Method string `json:"method"`
	// Content is the text as it stands after trimming.
	Content     string          `json:"content"`
	Embeds      json.RawMessage `json:"embeds,omitempty"`
	Components  json.RawMessage `json:"components,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	// Flags are those of the platform; 128 is an answer that is still thinking.
	Flags int `json:"flags,omitempty"`
	// Buttons are the components that can be pressed.
	Buttons []Button `json:"buttons,omitempty"`

	edited bool // shows as edited.
}

// Loading tells whether the message shows only that the bot is thinking.
func (v Version) Loading() bool { return v.Flags&flagLoading != 0 }

// addresses are what the platform makes links of in a text: what stands in angle brackets is a link without a preview.
// Source: https://support.discord.com/hc/en-us/articles/210298617
var addresses = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|<https?://[^\\s>]*>|\\]\\(<https?://[^\\s>]*>\\)|https?://[^\\s<>]+[^\\s<>.,:;\"'\\])]")

// Opened are the addresses that the platform opens to show embeds below the message, without anybody clicking.
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags, SUPPRESS_EMBEDS.
func (v Version) Opened() []string {
	if v.Flags&flagSuppressEmbeds != 0 {
		return nil
	}
	return slices.DeleteFunc(addresses.FindAllString(v.Content, -1), func(a string) bool { return !strings.HasPrefix(a, "http") })
}

// Button is a button on display, or a link when it has a URL.
type Button struct {
	CustomID string `json:"custom_id,omitempty"`
	Label    string `json:"label,omitempty"`
	URL      string `json:"url,omitempty"`
	Style    int    `json:"style"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Content is the newest version's text.
func (m Message) Content() string { return m.Last().Content }

// Since is when the version came on display.
func (v Version) Since() time.Time { return v.At }

// clone detaches the message from the server's own.
func (m *Message) clone() Message {
	c := *m
	c.Seen = m.Copy()
	return c
}

// Period is a span of time in which the bot was shown typing.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Screen is everything that people saw in a channel at one moment. Messages that only one person sees
// are among them, and say so.
type Screen struct {
	Channel  Channel   `json:"channel"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
	// Typing tells whether the bot is shown typing.
	Typing bool `json:"typing,omitempty"`
	// Failed are interactions that got no answer: the person reads that the application did not respond.
	Failed []string `json:"failed,omitempty"`
}

// ChannelHistory is everything that ever happened in a channel.
type ChannelHistory struct {
	Channel  Channel   `json:"channel"`
	Messages []Message `json:"messages"`
	Typing   []Period  `json:"typing,omitempty"`
}

// History returns all messages of a channel, deleted ones too, in the order in which they were sent. It
// is a copy.
func (s *Server) History(channelID string) []Message { return s.Chronicle(channelID).Messages }

// Chronicle returns the messages and typing indicators of a channel. It is a copy.
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

// View returns the messages on display in a channel at a moment, each with its versions up to then; the
// last one is what was on the screen.
func (s *Server) View(channelID string, at time.Time) []Message {
	return s.Screen(channelID, at).Messages
}

// Screen returns everything on display in a channel at a moment.
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
	// Request is the method and path of HTTP.
	Request string `json:"request"`
	Channel string `json:"channel,omitempty"`
	// Message is the one that was made or addressed.
	Message string `json:"message,omitempty"`
	// Code and Description are those of an error answer.
	Code        int    `json:"code,omitempty"`
	Description string `json:"description,omitempty"`
	// Body is the JSON of the request; files are left out.
	Body json.RawMessage `json:"body,omitempty"`

	bucket, resource string // that it counts in.
}
