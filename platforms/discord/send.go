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

// errInvalidTarget means that the ids of a target are not ids of Discord.
var errInvalidTarget = errors.New("not a Discord chat")

// Send sends a new message. If Send is called again with the same idempotency key within [nonceLifetime], Discord
// creates no second message. The first message of the answer to a slash command replaces "thinking…"; repeating the
// call that replaces "thinking…" is safe too. If Send can't replace "thinking…", Send sends the answer as a normal
// message.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if c, ok := parseCommand(m.ReplyTo); ok {
		r, err := b.respond(ctx, c, to, m)
		if !errors.Is(err, errUseChannel) {
			return r, err
		}
	}
	if c, ok := parseCommand(cmp.Or(m.Answers, m.ReplyTo)); ok && c.ephemeral {
		return b.sendEphemeral(ctx, c, to, m, nil)
	}
	r, err := b.create(ctx, "createMessage", to, m, nil)
	if c, ok := parseCommand(m.Answers); ok && isForbidden(err) && b.interactions.get(c).tokenValid(tokenLifetime) {
		return b.followUp(ctx, c, to, m, nil)
	}
	return r, err
}

// create sends a new message to the channel, with the bot's own token.
func (b *Bot) create(ctx context.Context, name string, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	content := encode(m)
	if f != nil {
		content.Attachments = []upload{{Filename: f.Name}}
	}
	post := func(channel string, reply bool) (*response, error) {
		body := content.withNonce(channel, m.Key)
		if reply {
			body = body.withReply(channel, m.ReplyTo)
		}
		return b.call(ctx, request{
			name: name, method: http.MethodPost, path: "/channels/" + channel + "/messages", body: body, file: f, op: chat.OpSend,
		})
	}
	a, channel, err := b.inChannel(ctx, name, to, func(channel string) (*response, error) {
		a, err := post(channel, true)
		if codeOf(err) == discordgo.ErrCodeCannotReplyWithoutPermissionToReadMessageHistory { // send the message without the reply
			return post(channel, false)
		}
		return a, err
	})
	if err != nil {
		return chat.Receipt{}, err
	}
	var s sentID
	if channel != channelOf(to) {
		s.channel = channel
	}
	receipt, err := a.receipt(name, to, s)
	receipt.RateLimits = b.buckets.rateLimitInfo(request{op: chat.OpSend}, a.Header)
	return receipt, err
}

// receipt returns the receipt for the message in the response. If the response contains no id, receipt fails with
// Uncertain: the message was sent, but the bot can't find it.
func (a *response) receipt(name string, to chat.Target, s sentID) (chat.Receipt, error) {
	if s.message = a.id(); s.message == "" {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Uncertain, Err: fmt.Errorf("%s: the answer names no message", name)}
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: s.messageID()}}, nil
}

// Edit replaces a message's content and its buttons. Discord has an undocumented limit for edits of messages that are
// older than an hour. When the limit for edits of old messages is exceeded, Edit fails with Frozen.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	a, r, err := b.callForMessage(ctx, ref, request{name: "editMessage", method: http.MethodPatch, body: encode(m), op: chat.OpEdit})
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref, RateLimits: b.buckets.rateLimitInfo(r, a.Header)}, nil
}

// Delete removes a message. Delete succeeds if the message no longer exists.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	_, _, err := b.callForMessage(ctx, ref, request{name: "deleteMessage", method: http.MethodDelete, op: chat.OpDelete})
	if codeOf(err) == discordgo.ErrCodeUnknownMessage {
		return nil
	}
	return err
}

// callForMessage makes a call about a message. If the message answers a slash command, the call uses the interaction's
// token during tokenUseTime. After tokenUseTime, after Discord has refused the interaction's token, and for any other
// message, the call uses the bot's own token and the channel. If the bot's own token has no access to the channel,
// callForMessage repeats the call with an interaction's token that is still valid. callForMessage also returns the
// request of the last call that it made.
func (b *Bot) callForMessage(ctx context.Context, ref chat.MessageRef, r request) (*response, request, error) {
	s, ok := parseSent(ref.ID)
	channel := cmp.Or(s.channel, channelOf(ref.Target))
	if !ok || !isSnowflake(channel) {
		return nil, r, &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not a message id", r.name, s.message)}
	}
	byToken := r // the same call with the token of the interaction
	byToken.path, byToken.token = interactionPath(s.command, s.message), s.command.token
	r.path = "/channels/" + channel + "/messages/" + s.message
	tokenValid := func(lifetime time.Duration) bool {
		return s.command != (command{}) && b.interactions.get(s.command).tokenValid(lifetime)
	}
	if tokenValid(tokenUseTime) {
		a, err := b.call(ctx, byToken)
		if !isDeadToken(err) {
			return a, byToken, err
		}
		b.interactions.markDead(s.command)
	}
	a, err := b.call(ctx, r)
	switch {
	case isForbidden(err) && tokenValid(tokenLifetime): // the bot can't access the channel with its own token
		a, err = b.call(ctx, byToken)
		return a, byToken, err
	case codeOf(err) == discordgo.ErrCodePerformedOperationOnArchivedThread:
		if err := b.unarchive(ctx, channel); err != nil {
			return nil, r, err
		}
		a, err = b.call(ctx, r)
	}
	return a, r, err
}

// isForbidden reports whether a call failed because the bot lacks a permission in the channel.
func isForbidden(err error) bool { return err != nil && chat.AsSendError(err).Kind == chat.Forbidden }

// interactionPath returns the path of a message that answers an interaction.
// https://docs.discord.com/developers/interactions/receiving-and-responding#edit-original-interaction-response
func interactionPath(c command, message string) string {
	return "/webhooks/" + c.app + "/" + url.PathEscape(c.token) + "/messages/" + message
}

// Typing shows in the chat that the bot is typing, for ten seconds or until the bot sends a message. Typing does
// nothing while a command in the chat shows "thinking…".
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	if b.interactions.thinking(channelOf(to)) {
		return nil // everybody in the channel would see "typing", and for longer than necessary
	}
	_, _, err := b.inChannel(ctx, "typing", to, func(channel string) (*response, error) {
		return b.call(ctx, request{name: "typing", method: http.MethodPost, path: "/channels/" + channel + "/typing", op: chat.OpTyping})
	})
	return err
}
