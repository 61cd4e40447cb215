package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"golang.org/x/sync/errgroup"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// answerMargin is how long a call may take before the call counts as failed, so that the bot notices dead connections.
// A poll may take pollTimeout longer than other calls, because it asks Telegram to wait for updates.
const answerMargin = 15 * time.Second

// allowedUpdates lists the kinds of updates that telex requests. Telegram has no updates about deleted messages.
const allowedUpdates = `["message","edited_message","callback_query","stopped_message_generation","my_chat_member"]`

// Run receives messages until ctx ends and passes each message to the function accept, one after the other, in order of
// arrival. Run confirms an update to Telegram only after accept has returned nil: by the next poll, or by the response
// to the webhook's request. If from has no cursor of an earlier [chat.Inbound], polling starts with the oldest update
// that Telegram still has.
//
// Run returns ctx's error if ctx ended, and accept's error if accept failed. If receiving failed, Run returns a
// *chat.SendError. The kind of the *chat.SendError is Auth if Telegram does not know the bot; otherwise the kind is
// Conflict, RateLimited or Temporary. If accept has not accepted an update, the next Run receives the update again. If
// the bot polls, the next Run begins with the update that was not accepted.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	self, err := b.self(ctx)
	if err != nil {
		return receiveError(ctx, err)
	}
	b.greeting.Log(ctx, b.log, slog.String("username", self.UserName),
		slog.Bool("reads_all_group_messages", self.CanReadAllGroupMessages))
	b.ids.loadHistory(slices.Concat(from.Sent, from.Received))
	r := &receiver{self: self}
	r.answers.SetLimit(maxAnswers)
	defer func() { _ = r.answers.Wait() }() // Wait returns nil, because no function in the group returns an error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if b.webhook.URL != "" {
		return b.runWebhook(ctx, r, from, accept)
	}
	return b.runPolling(ctx, r, from, accept)
}

// runPolling receives updates by polling.
func (b *Bot) runPolling(ctx context.Context, r *receiver, from chat.Resume, accept func(context.Context, chat.Inbound) error) (err error) {
	offset := 0
	if from.Cursor != "" {
		if offset, err = strconv.Atoi(from.Cursor); err != nil {
			b.log.WarnContext(ctx, "invalid resume cursor; starting with the oldest update", slog.String("resume", from.Cursor))
			offset = 0
		}
	}
	for r.backlog = true; ; {
		b.heart.Beat()
		updates, err := b.poll(ctx, offset, r.backlog)
		if hasWebhook(err) && b.removeWebhook(ctx) {
			continue
		}
		if err != nil {
			// The call of getMe at the start has shown that the token is valid. A refusal of getUpdates by the same
			// token therefore counts as Temporary. If the token has become invalid, the call of getMe in the next Run
			// fails with Auth.
			return receiveError(ctx, calls.Reclassify(err, chat.Temporary, chat.Auth))
		}
		if offset, err = b.handleUpdates(ctx, r, offset, updates, accept); err != nil {
			return err
		}
		r.backlog = r.backlog && len(updates) >= maxUpdates
	}
}

// Pulse implements gateway.Pulse. If the bot polls, Run reports before each poll that it works. The limit is therefore
// the maximum time of a poll and one more minute.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) {
	return b.heart.Last(), pollTimeout + answerMargin + time.Minute
}

// Name implements gateway.Named. People mention the bot by its username.
func (b *Bot) Name() string {
	if name := b.name.Load(); name != nil {
		return *name
	}
	return ""
}

// self requests the bot's account from Telegram.
func (b *Bot) self(ctx context.Context) (tgbotapi.User, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMargin)
	defer cancel()
	result, err := b.call(ctx, "getMe", nil)
	if err != nil {
		return tgbotapi.User{}, err
	}
	var self tgbotapi.User
	if err := json.Unmarshal(result, &self); err != nil || self.ID == 0 {
		return tgbotapi.User{}, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getMe: the answer names no bot")}
	}
	b.name.Store(new("@" + self.UserName))
	return self, nil
}

// poll requests the updates whose ids are at least offset. If noWait is true, Telegram responds at once, even if
// there are no updates.
func (b *Bot) poll(ctx context.Context, offset int, noWait bool) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout+answerMargin)
	defer cancel()
	params := tgbotapi.Params{"allowed_updates": allowedUpdates}
	params.AddNonZero("offset", offset)
	params.AddNonZero("limit", maxUpdates)
	if !noWait {
		params.AddNonZero("timeout", int(pollTimeout/time.Second))
	}
	result, err := b.call(ctx, "getUpdates", params)
	if err != nil {
		return nil, err
	}
	var updates []json.RawMessage
	if err := json.Unmarshal(result, &updates); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getUpdates: the answer is not a list")}
	}
	return updates, nil
}

// handleUpdates delivers updates and returns the offset that confirms them. handleUpdates logs updates that can't be
// decoded, and confirms them too. The ids of updates increase only within one response, because after a week without
// updates Telegram continues with a random id.
func (b *Bot) handleUpdates(
	ctx context.Context, r *receiver, offset int, updates []json.RawMessage,
	accept func(context.Context, chat.Inbound) error,
) (int, error) {
	b.ids.addReceived(updates)
	confirmed := false
	for _, a := range r.decodeAll(updates) {
		b.heart.Beat()
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		switch {
		case a.hasID:
			offset, confirmed = a.id+1, true
		case confirmed:
			offset++ // for an update without an id, assume that consecutive ids differ by 1
		}
		a.in.Resume, a.in.Missed = strconv.Itoa(offset), r.backlog
		if err := b.deliver(ctx, r, a, accept); err != nil {
			return 0, err
		}
	}
	if len(updates) > 0 && !confirmed {
		return 0, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getUpdates: no update has an id")}
	}
	return offset, nil
}

// deliver passes an update to the function accept, unless the bot ignores the update.
func (b *Bot) deliver(ctx context.Context, r *receiver, a decodedUpdate, accept func(context.Context, chat.Inbound) error) error {
	switch {
	case a.err != nil:
		b.log.WarnContext(ctx, "update skipped", slog.Int("update_id", a.id), slog.Any("error", a.err))
		return nil
	case !a.found:
		b.log.DebugContext(ctx, "update ignored", slog.Int("update_id", a.id))
		return nil
	}
	if err := accept(ctx, a.in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("accept update %d: %w", a.id, err)
	}
	if query, pressed := strings.CutPrefix(string(a.in.ID), pressPrefix); pressed && a.in.Kind == chat.Button { // stop buttons of drafts have no query to answer
		b.answerPress(ctx, r, query)
	}
	return nil
}

// receiver is the state of one Run.
type receiver struct {
	self    tgbotapi.User
	album   string         // id of the last album that contained a message for the bot
	answers errgroup.Group // the running calls of answerCallbackQuery for accepted presses
	backlog bool           // the next updates may have waited at Telegram before Run began
}

// decodedUpdate is the decoded content of one update, or the error of decoding it.
type decodedUpdate struct {
	id    int
	hasID bool // the update has an id
	in    chat.Inbound
	album string // id of the album to which the message belongs; empty: no album
	found bool
	err   error
}

// decodeAll decodes the updates of one response. An album consists of several messages, but usually only one message of
// the album mentions the bot or replies to the bot. decodeAll treats the other messages of this album as addressed to
// the bot too, even in later responses. No message of the album arrives in an earlier response than the mention,
// because Telegram's apps put the caption on the first message.
func (r *receiver) decodeAll(updates []json.RawMessage) []decodedUpdate {
	list := make([]decodedUpdate, len(updates))
	addressed := map[string]bool{r.album: r.album != ""}
	for i, raw := range updates {
		a := &list[i]
		a.id, a.hasID = updateID(raw)
		a.in, a.album, a.found, a.err = decode(raw, r.self)
		if a.found && a.album != "" && a.in.Addressed {
			r.album, addressed[a.album] = a.album, true
		}
	}
	for i := range list {
		list[i].in.Addressed = list[i].in.Addressed || list[i].found && addressed[list[i].album]
	}
	return list
}

// updateID returns the id of an update, even if the rest of the update is invalid.
func updateID(raw json.RawMessage) (int, bool) {
	var u struct {
		ID *int `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == nil {
		return 0, false
	}
	return *u.ID, true
}

// receiveError converts the error of a call to an error that Run may return. Repeating a poll does no harm, so
// receiveError replaces the error kind Uncertain with Temporary. If only the operator can solve the problem, the
// error's text says how to solve it.
func receiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failure := calls.AsRepeatable(err)
	switch {
	case calls.Status(err) == http.StatusNotFound:
		failure.Err = fmt.Errorf("there is no such bot at this address: either api_base does not lead to a Bot API "+
			"server (it is scheme and host, and what a proxy wants before /bot<token>), or the token is mistyped (%w)", failure.Err)
	case hasWebhook(failure):
		failure.Err = fmt.Errorf("this bot has a webhook, and Telegram then refuses polling. telex deletes one webhook after it starts: "+
			"if it came back, stop the program that sets it, then restart telex (%w)", failure.Err)
	case failure.Kind == chat.Conflict:
		failure.Err = fmt.Errorf("another process polls with the same token: "+
			"stop it, or give one of the two a bot of its own (%w)", failure.Err)
	}
	return failure
}
