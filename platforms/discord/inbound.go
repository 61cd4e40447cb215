package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// decodeMessage decodes a message and decides whether the message is for the bot. If the channel of the message is
// unknown, decodeMessage requests the channel from Discord. If the request for the channel fails, decodeMessage returns
// a *chat.SendError. decodeMessage recovers from panics and returns an error that contains no part of the message's
// text.
func (b *Bot) decodeMessage(ctx context.Context, m *incoming) (in chat.Inbound, found bool, err error) {
	defer receiving.Recover("decode message", &err)
	if !isSnowflake(m.ID) || !isSnowflake(m.Channel) {
		return chat.Inbound{}, false, errNoID
	}
	self := b.identity()
	userMessage := m.Type == discordgo.MessageTypeDefault || m.Type == discordgo.MessageTypeReply
	if !userMessage || m.Author == nil || m.Author.ID == "" || m.Author.ID == self {
		return chat.Inbound{}, false, nil
	}
	text, addressed, follows := b.addressing(m, self)
	textVisible := strings.TrimSpace(m.Content) != "" // if false, Discord may have withheld the text
	origin := m.unwrapForward()
	if origin == chat.Forwarded {
		text, _ = m.readText("", "")
	}
	files, quotes := m.files(), b.quotes(m, self)
	hasContent := text != "" || len(files) > 0 || len(m.Forwarded) > 0 && len(quotes) > 0
	if !addressed && !follows || !hasContent && !textVisible {
		return chat.Inbound{}, false, nil
	}
	to, ok, err := b.targetOf(ctx, m)
	if err != nil || !ok {
		return chat.Inbound{}, false, err
	}
	if addressed && to.Kind == chat.Group && to.Thread == chat.ThreadID(m.ID) {
		b.questions.Put(m.ID, threadNameOf(text))
	}
	return receiving.Command(chat.Inbound{
		To:          to,
		Sender:      chat.Sender{ID: chat.UserID(m.Author.ID), Name: m.Author.name(m.Member), Bot: m.fromBot()},
		ID:          chat.MessageID(m.ID),
		Text:        text,
		Origin:      origin,
		Quotes:      quotes,
		Addressed:   addressed,
		Follows:     follows,
		Reply:       to.Kind == chat.Group,
		Attachments: files,
		At:          m.Timestamp,
		Missed:      m.backlog,
	}), true, nil
}

// addressing returns the text of a message, whether the message is for the bot, and whether the message may continue a
// conversation with the bot.
//
// In a reply to a message of the bot, Discord's list of mentioned users always contains the bot, because a reply
// notifies the author of that message. For a reply to the bot, addressing therefore looks for a mention of the bot in
// the text. A reply to the bot whose text mentions only other people is for those people.
func (b *Bot) addressing(m *incoming, self string) (text string, addressed, follows bool) {
	role := b.channels.role(m.Guild)
	text, named := m.readText(self, role)
	reply := self != "" && m.ReplyTo != nil && m.ReplyTo.Author != nil && m.ReplyTo.Author.ID == self
	named = named || role != "" && slices.Contains(m.Roles, role) || !reply && m.mentions(self)
	others := m.Everyone ||
		slices.ContainsFunc(m.Mentions, func(p user) bool { return p.ID != self && p.ID != m.Author.ID }) ||
		slices.ContainsFunc(m.Roles, func(id string) bool { return id != role })
	addressed = m.Guild == "" || named || reply && !others
	if addressed || others || !b.contentIntent || m.fromBot() {
		return text, addressed, false
	}
	where, _ := b.channels.channels.Get(m.Channel)
	if m.ChannelType != nil {
		where.Type = discordgo.ChannelType(*m.ChannelType)
	}
	// A person may also continue a conversation with a reply to a message that mentions the bot.
	return text, false, where.isThread() || m.ReplyTo != nil && m.ReplyTo.mentions(self)
}

// mentions reports whether the message m mentions the user with the given id.
func (m *incoming) mentions(id string) bool {
	return id != "" && slices.ContainsFunc(m.Mentions, func(p user) bool { return p.ID == id })
}

// fromBot reports whether a program wrote m.
func (m *incoming) fromBot() bool { return m.Author.Bot || m.Webhook != "" }

// files lists the attachments of m. telex can't download a sticker or a poll. If m contains only a sticker or a poll,
// files returns an attachment without an id for it. Because of an attachment without an id, the bot tells the person
// that it can't read the sticker or poll.
func (m *incoming) files() []chat.Attachment {
	var list []chat.Attachment
	for _, a := range m.Attachments {
		if a.URL != "" {
			list = append(list, chat.Attachment{Name: a.Name, MediaType: a.MediaType, Size: max(0, a.Size), ID: a.URL})
		}
	}
	if len(list) > 0 || m.Content != "" {
		return list
	}
	switch {
	case len(m.Stickers) > 0:
		list = append(list, chat.Attachment{Name: "sticker"})
	case m.Poll != nil:
		list = append(list, chat.Attachment{Name: "poll"})
	}
	return list
}

// targetOf returns the channel or thread in which the bot answers a message. The target that targetOf returns may be a
// thread that does not exist yet, because the bot creates the thread when it sends the answer. targetOf returns false
// if the bot can't answer in the channel of the message.
func (b *Bot) targetOf(ctx context.Context, m *incoming) (chat.Target, bool, error) {
	if m.Guild == "" {
		b.channels.addDM(m.Channel)
		return chat.Target{Chat: chat.ChatID(m.Channel)}, true, nil
	}
	r, ok := b.channels.channels.Get(m.Channel)
	if !ok && m.ChannelType != nil {
		r = channelInfo{ID: m.Channel, Type: discordgo.ChannelType(*m.ChannelType)}
		ok = !r.isThread() // for a thread, the event does not name the parent channel
	}
	if !ok {
		var err error
		if r, err = b.fetchChannel(ctx, m.Channel); err != nil {
			switch chat.AsSendError(err).Kind {
			case chat.Forbidden, chat.Gone, chat.Rejected: // the bot can't answer in this channel
				return chat.Target{}, false, nil
			}
			return chat.Target{}, false, err
		}
	}
	return b.channelTarget(r, m.ID), true, nil
}

// channelTarget returns the target for a guild's channel, or for the thread that starts at a message in the channel.
func (b *Bot) channelTarget(r channelInfo, message string) chat.Target {
	to := chat.Target{Chat: chat.ChatID(r.ID), Kind: chat.Group}
	text := r.Type == discordgo.ChannelTypeGuildText || r.Type == discordgo.ChannelTypeGuildNews
	switch {
	case r.isThread() && r.Parent != "":
		to.Chat, to.Thread = chat.ChatID(r.Parent), chat.ThreadID(r.ID)
	case b.threads && message != "" && text && !b.channels.isThreadless(r.ID):
		to.Thread = chat.ThreadID(message)
	}
	return to
}

// fetchChannel requests the description of a channel from Discord.
func (b *Bot) fetchChannel(ctx context.Context, channel string) (channelInfo, error) {
	a, err := b.call(ctx, request{name: "getChannel", method: http.MethodGet, path: "/channels/" + channel})
	if err != nil {
		return channelInfo{}, err
	}
	r, err := receiving.Decode[channelInfo](a.Body)
	if err != nil || r.ID != channel {
		return channelInfo{}, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("getChannel: unexpected answer")}
	}
	b.channels.add(*r)
	return *r, nil
}

// decodeInteraction decodes a command or a button press.
func (b *Bot) decodeInteraction(i *incomingInteraction) (in chat.Inbound, c command, found bool, err error) {
	defer receiving.Recover("decode interaction", &err)
	c = command{app: i.App, interaction: i.ID, token: i.Token}
	if !isSnowflake(i.ID) || !isSnowflake(i.App) || !isSnowflake(i.Channel) || i.Token == "" {
		return chat.Inbound{}, c, false, errNoID
	}
	who := i.User
	if i.Member != nil && i.Member.User != nil {
		who = i.Member.User
	}
	if who == nil || who.ID == "" {
		return chat.Inbound{}, c, false, nil
	}
	in = chat.Inbound{
		To:        b.interactionTarget(i),
		Sender:    chat.Sender{ID: chat.UserID(who.ID), Name: who.name(i.Member), Bot: who.Bot},
		Addressed: true,
		At:        beganAt(i.ID, time.Now()),
	}
	switch i.Type {
	case discordgo.InteractionApplicationCommand:
		in.Reply = true
		if i.Data.Type == discordgo.MessageApplicationCommand {
			in.ID = c.id()
			if about, ok := i.Data.Resolved.Messages[i.Data.Target]; ok {
				in.Quotes = b.quotes(&incoming{ReplyTo: &about}, b.identity())
			}
			return in, c, true, nil
		}
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(i.Data.Name), i.argument()
		in.Text = strings.TrimSpace("/" + in.Command + " " + in.Args)
		c.ephemeral = in.To.Kind == chat.Group && b.isEphemeral(in.Command)
		in.ID = c.id()
		return in, c, in.Command != "", nil
	case discordgo.InteractionMessageComponent:
		in.Kind, in.ID, in.Action = chat.Button, pressID(i.ID), i.Data.Action
		return in, c, true, nil
	}
	return chat.Inbound{}, c, false, nil
}

// isEphemeral reports whether only the person who uses a command needs to see the answer.
func (b *Bot) isEphemeral(name string) bool {
	return b.screen.Commands != nil && slices.ContainsFunc(b.screen.Commands(), func(c chat.CommandSpec) bool { return c.Name == name && c.Alone })
}

// argument returns the value of a command's first option.
func (i *incomingInteraction) argument() string {
	for _, o := range i.Data.Options {
		var text string
		if err := json.Unmarshal(o.Value, &text); err != nil {
			text = string(o.Value) // the value is a number or a boolean
		}
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}

// interactionTarget returns the channel or thread in which the bot answers an interaction. interactionTarget makes no
// call, because the interaction describes its channel.
func (b *Bot) interactionTarget(i *incomingInteraction) chat.Target {
	if i.Guild == "" {
		b.channels.addDM(i.Channel)
		return chat.Target{Chat: chat.ChatID(i.Channel)}
	}
	r := channelInfo{ID: i.Channel}
	if i.Where != nil && i.Where.ID == i.Channel {
		r = *i.Where
		r.Guild = i.Guild
		b.channels.add(r)
	} else if known, ok := b.channels.channels.Get(i.Channel); ok {
		r = known
	}
	return b.channelTarget(r, "")
}
