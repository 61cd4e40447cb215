package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// errNoPlace is the cause when a target's ids are none of Discord's.
var errNoPlace = errors.New("not a Discord chat")

// Send shows a new message. Repeating it with its key within [keyFor] makes no second one. The answer
// to a slash command takes the place of "thinking…", which can be repeated as well; where that can't be
// done any more it is a message like any other.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if c, ok := parseCommand(m.ReplyTo); ok {
		r, err := b.respond(ctx, c, to, m)
		if !errors.Is(err, errOwnWay) {
			return r, err
		}
	}
	if c, ok := parseCommand(cmp.Or(m.Answers, m.ReplyTo)); ok && c.alone {
		return b.sendAlone(ctx, c, to, m, nil)
	}
	r, err := b.create(ctx, "createMessage", to, m, nil)
	if c, ok := parseCommand(m.Answers); ok && forbidden(err) && b.interactions.get(c).alive(tokenLife) {
		return b.followUp(ctx, c, to, m, nil)
	}
	return r, err
}

// create shows a new message through the channel.
func (b *Bot) create(ctx context.Context, name string, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	content := encode(m)
	if f != nil {
		content.Attachments = []upload{{Filename: f.Name}}
	}
	post := func(channel string, reply bool) (*answer, error) {
		body := content.keyed(channel, m.Key)
		if reply {
			body = body.replying(channel, m.ReplyTo)
		}
		return b.call(ctx, request{
			name: name, verb: http.MethodPost, path: "/channels/" + channel + "/messages", body: body, file: f, op: chat.OpSend,
		})
	}
	a, channel, err := b.inPlace(ctx, name, to, func(channel string) (*answer, error) {
		a, err := post(channel, true)
		if codeOf(err) == discordgo.ErrCodeCannotReplyWithoutPermissionToReadMessageHistory { // who may not read the past can't refer to it
			return post(channel, false)
		}
		return a, err
	})
	if err != nil {
		return chat.Receipt{}, err
	}
	var s sent
	if channel != channelOf(to) {
		s.channel = channel
	}
	receipt, err := a.receipt(name, to, s)
	receipt.RateLimits = b.buckets.rateLimitInfo(request{op: chat.OpSend}, a.Header)
	return receipt, err
}

// receipt names the message that an answer shows. If the answer has no id, the message stands all the same: the failure is
// Uncertain.
func (a *answer) receipt(name string, to chat.Target, s sent) (chat.Receipt, error) {
	if s.message = a.id(); s.message == "" {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Uncertain, Err: fmt.Errorf("%s: the answer names no message", name)}
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: s.id()}}, nil
}

// Edit replaces what a message shows, its buttons included. One that is older than an hour may be edited only so
// often, which nobody tells: it is Frozen then.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	a, r, err := b.change(ctx, ref, request{name: "editMessage", verb: http.MethodPatch, body: encode(m), op: chat.OpEdit})
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref, RateLimits: b.buckets.rateLimitInfo(r, a.Header)}, nil
}

// Delete removes a message. A message that is gone already is a success.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	_, _, err := b.change(ctx, ref, request{name: "deleteMessage", verb: http.MethodDelete, op: chat.OpDelete})
	if codeOf(err) == discordgo.ErrCodeUnknownMessage {
		return nil
	}
	return err
}

// change makes a call about a message: by the interaction that it answers while that lasts, else
// through the channel. It returns the call that was made last.
func (b *Bot) change(ctx context.Context, ref chat.MessageRef, r request) (*answer, request, error) {
	s, ok := parseSent(ref.ID)
	channel := cmp.Or(s.channel, channelOf(ref.Target))
	if !ok || !isSnowflake(channel) {
		return nil, r, &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not a message id", r.name, s.message)}
	}
	own := r // by the token of the interaction
	own.path, own.token = ownPath(s.by, s.message), s.by.token
	r.path = "/channels/" + channel + "/messages/" + s.message
	alive := func(use time.Duration) bool { return s.by != (command{}) && b.interactions.get(s.by).alive(use) }
	if alive(tokenUse) {
		a, err := b.call(ctx, own)
		if !deadToken(err) {
			return a, own, err
		}
		b.interactions.markDead(s.by)
	}
	a, err := b.call(ctx, r)
	switch {
	case forbidden(err) && alive(tokenLife): // the bot does not see the channel
		a, err = b.call(ctx, own)
		return a, own, err
	case codeOf(err) == discordgo.ErrCodePerformedOperationOnArchivedThread:
		if err := b.unarchive(ctx, channel); err != nil {
			return nil, r, err
		}
		a, err = b.call(ctx, r)
	}
	return a, r, err
}

// forbidden reports whether a call failed for a missing permission in a channel.
func forbidden(err error) bool { return err != nil && chat.AsSendError(err).Kind == chat.Forbidden }

// ownPath is the path of a message that answers an interaction.
// https://docs.discord.com/developers/interactions/receiving-and-responding#edit-original-interaction-response
func ownPath(c command, message string) string {
	return "/webhooks/" + c.app + "/" + url.PathEscape(c.token) + "/messages/" + message
}

// Typing shows that the bot is typing, for ten seconds or until it sends a message. Where a command shows that the bot
// is thinking it does nothing.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	if b.interactions.thinking(channelOf(to)) {
		return nil // which everybody sees, and typing would outlast the answer
	}
	_, _, err := b.inPlace(ctx, "typing", to, func(channel string) (*answer, error) {
		return b.call(ctx, request{name: "typing", verb: http.MethodPost, path: "/channels/" + channel + "/typing", op: chat.OpTyping})
	})
	return err
}
