package slack

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

var (
	// https://docs.slack.dev/apis/events-api/#rate-limiting
	errRateLimited = errors.New("events: Slack dropped events for a minute, because the app gets more than 30,000 per hour: remove it from some channels")
	errMissingIDs  = errors.New("the channel, the person or the ts is missing")
)

// decodedEvent is a decoded message, command or button press. The methods complete and addNames later add people's
// names to a decodedEvent.
type decodedEvent struct {
	in   chat.Inbound
	raw  string   // the text as received
	ts   string   // time of the event, for order and resume cursor; empty: the bot can't read the event again
	self identity // the bot's account, whose mentions are removed from the text

	shared []attachment // messages that the author shared together with this message
	team   string       // the sender's workspace; empty: unknown

	command string    // the slash command that the person used
	arrived time.Time // when Slack delivered the event; zero: telex requested it from Slack, so it needs no acknowledgement
}

// decodeEvent decodes an event of the Events API. decodeEvent returns false if the event is not a message for the
// bot.
func decodeEvent(data []byte, self identity) (decodedEvent, bool, error) {
	c, err := receiving.Decode[callback](data)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode event: %w", err)
	}
	if c.Type == "app_rate_limited" {
		return decodedEvent{}, false, errRateLimited
	}
	if c.Type != "event_callback" {
		return decodedEvent{}, false, nil
	}
	head, err := receiving.Decode[struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}](c.Event)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode event: %w", err)
	}
	switch head.Type {
	case "message", "app_mention":
	case eventThread, eventHome, eventStop:
		return decodePane(head.Type, c.Event)
	default:
		return decodedEvent{}, false, nil
	}
	if head.Subtype == subtypeChanged || head.Subtype == subtypeDeleted {
		m, err := receiving.Decode[change](c.Event)
		if err != nil {
			return decodedEvent{}, false, fmt.Errorf("decode %s: %w", head.Subtype, err)
		}
		return m.decode(self)
	}
	m, err := receiving.Decode[message](c.Event)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode %s: %w", head.Type, err)
	}
	return m.decode(self)
}

// decode decodes an edit or deletion of a message. decode returns false if the change is neither a deletion nor an edit
// of the text by the message's author. decode ignores, for example, the changes that Slack reports when it adds a link
// preview, or when the bot edits its own message.
func (c *change) decode(self identity) (decodedEvent, bool, error) {
	m, before, kind := c.Message.value, c.Previous.value, chat.Edited
	if c.DeletedTS != "" || m.Subtype == subtypeTombstone {
		m, kind = before, chat.Deleted
		m.TS = cmp.Or(m.TS, c.DeletedTS)
	}
	editor := m.Edited.value.User
	if m.User == "" || kind == chat.Edited && (m.Text == before.Text || editor != "" && editor != m.User) {
		return decodedEvent{}, false, nil
	}
	m.Channel, m.ChannelType = c.Channel, c.ChannelType
	a, ok, err := m.decode(self)
	if err != nil || !ok {
		return decodedEvent{}, false, err
	}
	a.in.Kind, a.in.At, a.ts = kind, timeOf(c.TS), c.TS
	if kind == chat.Deleted {
		a.raw, a.shared, a.in.Attachments = "", nil, nil
	}
	return a, true, nil
}

// decode decodes the message m and decides whether m is for the bot. Slack sends two events for a message that mentions
// the bot, and decode returns the same result for both events.
func (m *message) decode(self identity) (decodedEvent, bool, error) {
	if !m.isUserMessage() || m.isFrom(self) {
		return decodedEvent{}, false, nil
	}
	if m.Channel == "" || !isTS(m.TS) {
		return decodedEvent{}, false, errMissingIDs
	}
	sender := chat.Sender{ID: chat.UserID(cmp.Or(m.User, m.BotID)), Bot: m.BotID != "" || m.Subtype == subtypeBot}
	if sender.Bot {
		sender.Name = cmp.Or(m.Username, m.BotProfile.Name)
	}
	if sender.ID == "" {
		return decodedEvent{}, false, nil
	}
	to := m.target()
	// In a thread, a message that mentions nobody may be for the bot.
	mayContinue := m.ThreadTS != "" && m.ThreadTS != m.TS && !mentionsAnyone(m.Text)
	addressed := to.Kind == chat.Private || m.Type == "app_mention" || mentions(m.Text, self.User) ||
		mayContinue && self.User != "" && m.ParentUserID == self.User
	return decodedEvent{
		in: chat.Inbound{
			To:          to,
			Sender:      sender,
			ID:          questionID(m.TS, string(sender.ID)),
			Addressed:   addressed,
			Follows:     mayContinue && !addressed && !sender.Bot,
			Reply:       to.Kind == chat.Group,
			Attachments: attachments(m.Files),
			At:          timeOf(m.TS),
		},
		raw: m.Text, ts: m.TS, self: self, shared: m.shared(), team: cmp.Or(m.UserTeam, m.Team),
	}, true, nil
}

// readableTS returns the ts of a message that the bot can read again from Slack. For edits and deletions, readableTS
// returns "".
func (a *decodedEvent) readableTS() string {
	if a.in.Kind == chat.Edited || a.in.Kind == chat.Deleted {
		return ""
	}
	return a.ts
}

// target returns the chat and thread in which the bot answers m. If m is in a thread, the bot answers in this thread.
// If m is in a channel outside of threads, the bot answers in a new thread that starts at m. If m is a direct message
// outside of threads, the bot also answers outside of threads.
func (m *message) target() chat.Target {
	to := channelTarget(m.Channel, m.ChannelType)
	switch {
	case m.ThreadTS != "" && m.ThreadTS != m.TS:
		to.Thread = chat.ThreadID(m.ThreadTS)
	case to.Kind == chat.Group:
		to.Thread = chat.ThreadID(m.TS)
	}
	return to
}

// channelTarget returns the target of a channel, outside of its threads. The id of the channel of a direct message
// begins with D. In some payloads, only the id shows that a channel is a direct message.
func channelTarget(channel, kind string) chat.Target {
	to := chat.Target{Chat: chat.ChatID(channel), Kind: chat.Group}
	if kind == "im" || kind == "" && strings.HasPrefix(channel, "D") {
		to.Kind = chat.Private
	}
	return to
}

// attachments lists the files of a message. A deleted file has no URL, so its attachment has no id.
func attachments(files []file) []chat.Attachment {
	var list []chat.Attachment
	for _, f := range files {
		a := chat.Attachment{
			Name: cmp.Or(f.Name, f.Title, "file"), MediaType: f.Mimetype, Size: max(0, f.Size), ID: cmp.Or(f.Download, f.Private),
		}
		if f.Mode == "tombstone" {
			a.ID = ""
		}
		list = append(list, a)
	}
	return list
}

// decodeCommand decodes a slash command. telex's Slack app has one slash command, whose name the operator chooses. The
// gateway parses the text after the name of the slash command. People can't use slash commands in threads, so the bot
// answers outside of threads.
func decodeCommand(data []byte) (decodedEvent, bool, error) {
	c, err := receiving.Decode[command](data)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode command: %w", err)
	}
	return c.decode()
}

func (c *command) decode() (decodedEvent, bool, error) {
	if c.Channel == "" || c.User == "" || c.Trigger == "" {
		return decodedEvent{}, false, errors.New("a command has no channel, user or trigger")
	}
	return decodedEvent{
		in: chat.Inbound{
			To:        channelTarget(c.Channel, ""),
			Sender:    chat.Sender{ID: chat.UserID(c.User), Name: c.UserName},
			ID:        questionID("command:"+c.Trigger, c.User),
			Kind:      chat.Command,
			Addressed: true,
			At:        time.Now(), // Slack does not send the time of a command
		},
		raw: c.Text, command: c.Command, team: c.Team,
	}, true, nil
}

// decodeInteraction decodes a button press. decodeInteraction gives each press a separate message id, because a person
// may press the same button several times.
func decodeInteraction(data []byte) (decodedEvent, bool, error) {
	i, err := receiving.Decode[interaction](data)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode interaction: %w", err)
	}
	if i.Type != "block_actions" || len(i.Actions) == 0 || i.Actions[0].Type != "button" {
		return decodedEvent{}, false, nil
	}
	channel := cmp.Or(i.Container.Channel, i.Channel.ID)
	ts, thread := cmp.Or(i.Container.TS, i.Message.TS), cmp.Or(i.Container.ThreadTS, i.Message.ThreadTS)
	pressed := i.Actions[0]
	if channel == "" || i.User.ID == "" || pressed.ID == "" || pressed.TS == "" {
		return decodedEvent{}, false, errors.New("a press of a button has no channel, user, action or time")
	}
	to := channelTarget(channel, "")
	if thread != ts { // if equal, the message begins the thread and counts as outside of the thread
		to.Thread = chat.ThreadID(thread)
	}
	return decodedEvent{team: i.User.Team, in: chat.Inbound{
		To:        to,
		Sender:    chat.Sender{ID: chat.UserID(i.User.ID), Name: cmp.Or(i.User.Name, i.User.Username)},
		ID:        questionID("press:"+pressed.TS, i.User.ID),
		Kind:      chat.Button,
		Action:    pressed.ID,
		Addressed: true,
		At:        time.Now(),
	}}, true, nil
}

// complete sets the text and the quotes of a decoded event, with people's names in place of their ids. complete returns
// false if the event has no text, no quotes and no files and is not addressed to the bot. If a message contains only a
// mention of the bot, complete therefore returns true.
func (a *decodedEvent) complete(name func(user string) string) bool {
	text := plainText(a.raw, a.self.User, name)
	switch a.in.Kind {
	case chat.Button, chat.Deleted, chat.Opened:
		return true
	case chat.Command:
		a.in.Args = text
		return true
	default:
	}
	a.in.Text = text
	for _, s := range a.shared {
		a.in.Quotes = append(a.in.Quotes, s.quote(a.self, name))
	}
	if a.in.Kind == chat.Edited {
		return true
	}
	a.in = receiving.Command(a.in) // Slack's apps don't send their own commands as messages, but a mention may precede a command
	return text != "" || len(a.in.Attachments) > 0 || len(a.in.Quotes) > 0 || a.in.Addressed
}
