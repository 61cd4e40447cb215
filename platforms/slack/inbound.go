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
	errTooMany = errors.New("events: Slack left events out for a minute, for the app gets more than 30,000 in an hour: let it be in fewer channels")
	errNoPlace = errors.New("the channel, the person or the ts is missing")
)

// arrival is a decoded message, command or press, without the names of people.
type arrival struct {
	in   chat.Inbound
	raw  string   // the text as it came
	ts   string   // when it happened, for the order and for the resume cursor; empty: it can't be read again
	self identity // whose mention is left out

	shared []attached // the messages that came with it
	team   string     // of the sender; empty: unknown

	command string    // the slash command that was used
	arrived time.Time // when Slack delivered it; zero: it was read, and waits for no acknowledgement
}

// decodeEvent decodes an event of the Events API; false if it is no message for the bot.
func decodeEvent(data []byte, self identity) (arrival, bool, error) {
	c, err := receiving.Decode[callback](data)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode event: %w", err)
	}
	if c.Type == "app_rate_limited" {
		return arrival{}, false, errTooMany
	}
	if c.Type != "event_callback" {
		return arrival{}, false, nil
	}
	head, err := receiving.Decode[struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}](c.Event)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode event: %w", err)
	}
	switch head.Type {
	case "message", "app_mention":
	case eventThread, eventHome, eventStop:
		return decodePane(head.Type, c.Event)
	default:
		return arrival{}, false, nil
	}
	if head.Subtype == subtypeChanged || head.Subtype == subtypeDeleted {
		m, err := receiving.Decode[change](c.Event)
		if err != nil {
			return arrival{}, false, fmt.Errorf("decode %s: %w", head.Subtype, err)
		}
		return m.arrival(self)
	}
	m, err := receiving.Decode[message](c.Event)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode %s: %w", head.Type, err)
	}
	return m.arrival(self)
}

// arrival decides whether a change is one that the author of the message made to its text. Slack also reports a change when it
// adds the preview of a link, or when the bot edits a message of its own.
func (c *change) arrival(self identity) (arrival, bool, error) {
	m, before, kind := c.Message.value, c.Previous.value, chat.Edited
	if c.DeletedTS != "" || m.Subtype == subtypeTombstone {
		m, kind = before, chat.Deleted
		m.TS = cmp.Or(m.TS, c.DeletedTS)
	}
	editor := m.Edited.value.User
	if m.User == "" || kind == chat.Edited && (m.Text == before.Text || editor != "" && editor != m.User) {
		return arrival{}, false, nil
	}
	m.Channel, m.ChannelType = c.Channel, c.ChannelType
	a, ok, err := m.arrival(self)
	if err != nil || !ok {
		return arrival{}, false, err
	}
	a.in.Kind, a.in.At, a.ts = kind, timeOf(c.TS), c.TS
	if kind == chat.Deleted {
		a.raw, a.shared, a.in.Attachments = "", nil, nil
	}
	return a, true, nil
}

// arrival decides whether m is for the bot. The two events of one mention give the same result.
func (m *message) arrival(self identity) (arrival, bool, error) {
	if !m.isWritten() || m.isFrom(self) {
		return arrival{}, false, nil
	}
	if m.Channel == "" || !isTS(m.TS) {
		return arrival{}, false, errNoPlace
	}
	sender := chat.Sender{ID: chat.UserID(cmp.Or(m.User, m.BotID)), Bot: m.BotID != "" || m.Subtype == subtypeBot}
	if sender.Bot {
		sender.Name = cmp.Or(m.Username, m.BotProfile.Name)
	}
	if sender.ID == "" {
		return arrival{}, false, nil
	}
	to := m.target()
	// In a thread, a message that names neither the bot nor anybody else may be for the bot.
	open := m.ThreadTS != "" && m.ThreadTS != m.TS && !mentionsAnyone(m.Text)
	addressed := to.Kind == chat.Private || m.Type == "app_mention" || mentions(m.Text, self.User) ||
		open && self.User != "" && m.ParentUserID == self.User
	return arrival{
		in: chat.Inbound{
			To:          to,
			Sender:      sender,
			ID:          questionID(m.TS, string(sender.ID)),
			Addressed:   addressed,
			Follows:     open && !addressed && !sender.Bot,
			Reply:       to.Kind == chat.Group,
			Attachments: attachments(m.Files),
			At:          timeOf(m.TS),
		},
		raw: m.Text, ts: m.TS, self: self, shared: m.shared(), team: cmp.Or(m.UserTeam, m.Team),
	}, true, nil
}

// written returns the ts of a message that can be read again, or "" if the message can't be read again.
func (a *arrival) written() string {
	if a.in.Kind == chat.Edited || a.in.Kind == chat.Deleted {
		return ""
	}
	return a.ts
}

// target returns where an answer to m goes: to its thread. A message outside of threads is answered in the thread that it
// begins, or, in a direct message, outside of threads as well.
func (m *message) target() chat.Target {
	to := place(m.Channel, m.ChannelType)
	switch {
	case m.ThreadTS != "" && m.ThreadTS != m.TS:
		to.Thread = chat.ThreadID(m.ThreadTS)
	case to.Kind == chat.Group:
		to.Thread = chat.ThreadID(m.TS)
	}
	return to
}

// place returns a channel, outside of its threads. The ids of direct messages begin with D; some payloads say it in no other
// way.
func place(channel, kind string) chat.Target {
	to := chat.Target{Chat: chat.ChatID(channel), Kind: chat.Group}
	if kind == "im" || kind == "" && strings.HasPrefix(channel, "D") {
		to.Kind = chat.Private
	}
	return to
}

// attachments lists the files of a message. One that is gone has no address, and so no id.
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

// decodeCommand decodes a slash command. The app has one for all commands, with a name of the operator's choice: the gateway
// parses the text. It can't be used in threads, so its answer stands outside of threads.
func decodeCommand(data []byte) (arrival, bool, error) {
	c, err := receiving.Decode[command](data)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode command: %w", err)
	}
	return c.arrival()
}

func (c *command) arrival() (arrival, bool, error) {
	if c.Channel == "" || c.User == "" || c.Trigger == "" {
		return arrival{}, false, errors.New("a command has no channel, user or trigger")
	}
	return arrival{
		in: chat.Inbound{
			To:        place(c.Channel, ""),
			Sender:    chat.Sender{ID: chat.UserID(c.User), Name: c.UserName},
			ID:        questionID("command:"+c.Trigger, c.User),
			Kind:      chat.Command,
			Addressed: true,
			At:        time.Now(), // the platform does not say
		},
		raw: c.Text, command: c.Command, team: c.Team,
	}, true, nil
}

// decodeInteraction decodes a press of a button. The press has an id of its own, so that two presses of one button differ.
func decodeInteraction(data []byte) (arrival, bool, error) {
	i, err := receiving.Decode[interaction](data)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode interaction: %w", err)
	}
	if i.Type != "block_actions" || len(i.Actions) == 0 || i.Actions[0].Type != "button" {
		return arrival{}, false, nil
	}
	channel := cmp.Or(i.Container.Channel, i.Channel.ID)
	ts, thread := cmp.Or(i.Container.TS, i.Message.TS), cmp.Or(i.Container.ThreadTS, i.Message.ThreadTS)
	pressed := i.Actions[0]
	if channel == "" || i.User.ID == "" || pressed.ID == "" || pressed.TS == "" {
		return arrival{}, false, errors.New("a press of a button has no channel, user, action or moment")
	}
	to := place(channel, "")
	if thread != ts { // else the message is a parent and stands outside of its thread
		to.Thread = chat.ThreadID(thread)
	}
	return arrival{team: i.User.Team, in: chat.Inbound{
		To:        to,
		Sender:    chat.Sender{ID: chat.UserID(i.User.ID), Name: cmp.Or(i.User.Name, i.User.Username)},
		ID:        questionID("press:"+pressed.TS, i.User.ID),
		Kind:      chat.Button,
		Action:    pressed.ID,
		Addressed: true,
		At:        time.Now(),
	}}, true, nil
}

// said completes an arrival with its text and its quotes, in which people have names. It returns false if it says nothing to
// anybody. A bare mention is handed on.
func (a *arrival) said(name func(user string) string) bool {
	text := readable(a.raw, a.self.User, name)
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
	a.in = receiving.Command(a.in) // Slack's apps keep what they know as a command to themselves, but not what follows a mention
	return text != "" || len(a.in.Attachments) > 0 || len(a.in.Quotes) > 0 || a.in.Addressed
}
