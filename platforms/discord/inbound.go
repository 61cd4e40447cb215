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

// decodeMessage decides whether a message is for the bot and what it says. It may ask the platform where a
// thread is; a *chat.SendError says that it could not. A panic is an error that tells nothing of the text.
func (b *Bot) decodeMessage(ctx context.Context, m *incoming) (in chat.Inbound, found bool, err error) {
	defer receiving.Recover("decode message", &err)
	if !isSnowflake(m.ID) || !isSnowflake(m.Channel) {
		return chat.Inbound{}, false, errNoID
	}
	origin := m.unfold()
	self := b.identity()
	plain := m.Type == discordgo.MessageTypeDefault || m.Type == discordgo.MessageTypeReply
	if !plain || m.Author == nil || m.Author.ID == "" || m.Author.ID == self {
		return chat.Inbound{}, false, nil
	}
	role := b.places.role(m.Guild)
	text, mentioned := b.read(m, role)
	files := m.files()
	addressed := m.Guild == "" || mentioned || role != "" && slices.Contains(m.Roles, role) ||
		slices.ContainsFunc(m.Mentions, func(p user) bool { return p.ID == self }) || m.repliesTo(self)
	if !addressed || text == "" && len(files) == 0 {
		return chat.Inbound{}, false, nil // for others, or nothing said: a bare mention, or a text that only they may know
	}
	to, ok, err := b.where(ctx, m)
	if err != nil || !ok {
		return chat.Inbound{}, false, err
	}
	if to.Kind == chat.Group && to.Thread == chat.ThreadID(m.ID) {
		b.questions.Put(m.ID, nameOf(text))
	}
	return receiving.Command(chat.Inbound{
		To:          to,
		Sender:      chat.Sender{ID: chat.UserID(m.Author.ID), Name: m.Author.name(m.Member), Bot: m.Author.Bot || m.Webhook != ""},
		ID:          chat.MessageID(m.ID),
		Text:        text,
		Origin:      origin,
		Addressed:   true,
		Reply:       to.Kind == chat.Group,
		Attachments: files,
		At:          m.Timestamp,
		Missed:      m.missed,
	}), true, nil
}

// unfold replaces an empty message's content by that of the message it forwards, and returns the content's origin. A forward
// has no text of its own.
// https://docs.discord.com/developers/resources/message#message-snapshot-object
func (m *incoming) unfold() chat.Origin {
	if m.Content != "" || len(m.Attachments) > 0 || len(m.Forwarded) == 0 {
		return chat.Typed
	}
	m.Content, m.Attachments = m.Forwarded[0].Message.Content, m.Forwarded[0].Message.Attachments
	return chat.Forwarded
}

// repliesTo reports whether m replies to a message of the bot.
func (m *incoming) repliesTo(self string) bool {
	return self != "" && m.ReplyTo != nil && m.ReplyTo.Author != nil && m.ReplyTo.Author.ID == self
}

// files lists m's attachments. A sticker or poll has no content to fetch. It is listed without an id, and only if there is
// nothing else, so that the bot can say that it was not understood.
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

// where returns the place of a message, or the thread that its answer will begin; false if nobody can answer there.
func (b *Bot) where(ctx context.Context, m *incoming) (chat.Target, bool, error) {
	if m.Guild == "" {
		b.places.direct(m.Channel)
		return chat.Target{Chat: chat.ChatID(m.Channel)}, true, nil
	}
	r, ok := b.places.channels.Get(m.Channel)
	if !ok && m.ChannelType != nil {
		r = channelInfo{ID: m.Channel, Type: discordgo.ChannelType(*m.ChannelType)}
		ok = !r.isThread() // of which the parent must be known
	}
	if !ok {
		var err error
		if r, err = b.askChannel(ctx, m.Channel); err != nil {
			switch chat.AsSendError(err).Kind {
			case chat.Forbidden, chat.Gone, chat.Rejected: // nobody can answer there
				return chat.Target{}, false, nil
			}
			return chat.Target{}, false, err
		}
	}
	return b.target(r, m.ID), true, nil
}

// target returns the place that a guild's channel is, or the thread that begins with a message in it.
func (b *Bot) target(r channelInfo, message string) chat.Target {
	to := chat.Target{Chat: chat.ChatID(r.ID), Kind: chat.Group}
	text := r.Type == discordgo.ChannelTypeGuildText || r.Type == discordgo.ChannelTypeGuildNews
	switch {
	case r.isThread() && r.Parent != "":
		to.Chat, to.Thread = chat.ChatID(r.Parent), chat.ThreadID(r.ID)
	case b.threads && message != "" && text && !b.places.isThreadless(r.ID):
		to.Thread = chat.ThreadID(message)
	}
	return to
}

// askChannel looks a channel up.
func (b *Bot) askChannel(ctx context.Context, channel string) (channelInfo, error) {
	a, err := b.call(ctx, request{name: "getChannel", verb: http.MethodGet, path: "/channels/" + channel})
	if err != nil {
		return channelInfo{}, err
	}
	r, err := receiving.Decode[channelInfo](a.Body)
	if err != nil || r.ID != channel {
		return channelInfo{}, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("getChannel: unexpected answer")}
	}
	b.places.add(*r)
	return *r, nil
}

// decodeInteraction decodes the use of a command or a press of a button.
func (b *Bot) decodeInteraction(i *interacted) (in chat.Inbound, c command, found bool, err error) {
	defer receiving.Recover("decode interaction", &err)
	c = command{i.App, i.ID, i.Token}
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
		To:        b.placeOf(i),
		Sender:    chat.Sender{ID: chat.UserID(who.ID), Name: who.name(i.Member), Bot: who.Bot},
		Addressed: true,
		At:        began(i.ID, time.Now()),
	}
	switch i.Type {
	case discordgo.InteractionApplicationCommand:
		in.Kind, in.ID, in.Reply = chat.Command, c.id(), true
		in.Command, in.Args = strings.ToLower(i.Data.Name), i.argument()
		in.Text = strings.TrimSpace("/" + in.Command + " " + in.Args)
		return in, c, in.Command != "", nil
	case discordgo.InteractionMessageComponent:
		in.Kind, in.ID, in.Action = chat.Button, pressID(i.ID), i.Data.Action
		return in, c, true, nil
	}
	return chat.Inbound{}, c, false, nil
}

// argument returns the value of a command's first option.
func (i *interacted) argument() string {
	for _, o := range i.Data.Options {
		var text string
		if err := json.Unmarshal(o.Value, &text); err != nil {
			text = string(o.Value) // a number or a truth value
		}
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}

// placeOf returns where an interaction happened. It describes its channel itself.
func (b *Bot) placeOf(i *interacted) chat.Target {
	if i.Guild == "" {
		b.places.direct(i.Channel)
		return chat.Target{Chat: chat.ChatID(i.Channel)}
	}
	r := channelInfo{ID: i.Channel}
	if i.Where != nil && i.Where.ID == i.Channel {
		r = *i.Where
		r.Guild = i.Guild
		b.places.add(r)
	} else if known, ok := b.places.channels.Get(i.Channel); ok {
		r = known
	}
	return b.target(r, "")
}
