package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"golang.org/x/sync/errgroup"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// answerMargin is how long an answer may take beyond the time that the server was asked to wait. It finds dead connections.
const answerMargin = 15 * time.Second

// allowedUpdates are the kinds of updates that decode knows. Telegram has none for deleted messages.
const allowedUpdates = `["message","edited_message","callback_query","stopped_message_generation","my_chat_member"]`

// Run receives messages until ctx ends and hands each to accept, one after the other, in the
// order of their arrival. An update counts as received once accept has returned nil; only
// then does a later poll confirm it to Telegram, or is the webhook answered. Where from has no cursor of an earlier
// [chat.Inbound], polling starts with the oldest update that Telegram still has.
//
// Run returns ctx's error when ctx ended, accept's when accept failed, and a
// *chat.SendError when receiving failed: Auth if Telegram does not know the bot, Conflict,
// RateLimited, or Temporary. An update that was not accepted is delivered again in the next Run; by polling it comes first.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	self, err := b.self(ctx)
	if err != nil {
		return receiveError(ctx, err)
	}
	b.name.Store(new("@" + self.UserName))
	b.greeting.Log(ctx, b.log, slog.String("username", self.UserName),
		slog.Bool("reads_all_group_messages", self.CanReadAllGroupMessages))
	b.ids.begin(from.Sent)
	r := &reception{self: self}
	r.answers.SetLimit(maxAnswers)
	defer func() { _ = r.answers.Wait() }() // none has an error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if b.webhook.URL != "" {
		return b.serve(ctx, r, accept)
	}
	return b.pollAll(ctx, r, from, accept)
}

// pollAll is Run by polling.
func (b *Bot) pollAll(ctx context.Context, r *reception, from chat.Resume, accept func(context.Context, chat.Inbound) error) (err error) {
	offset := 0
	if from.Cursor != "" {
		if offset, err = strconv.Atoi(from.Cursor); err != nil {
			b.log.WarnContext(ctx, "invalid resume cursor; starting with the oldest update", slog.String("resume", from.Cursor))
			offset = 0
		}
	}
	for r.missed = true; ; {
		b.heart.Beat()
		updates, err := b.poll(ctx, offset, r.missed)
		if hasWebhook(err) && b.removeWebhook(ctx) {
			continue
		}
		if err != nil {
			// Where the bot was known a moment ago only the next getMe says whether its token is refused.
			return receiveError(ctx, calls.Instead(err, chat.Temporary, chat.Auth))
		}
		if offset, err = b.take(ctx, r, offset, updates, accept); err != nil {
			return err
		}
		r.missed = r.missed && len(updates) >= maxUpdates
	}
}

// Pulse implements gateway.Pulse: one poll is the longest that the loop waits.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) {
	return b.heart.Last(), pollTimeout + answerMargin + time.Minute
}

// Name implements gateway.Named: people mention the bot by its username.
func (b *Bot) Name() string {
	if name := b.name.Load(); name != nil {
		return *name
	}
	return ""
}

// self asks who the bot is.
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
	return self, nil
}

// poll waits for updates from offset on. With waiting it returns at once with the updates that are there.
func (b *Bot) poll(ctx context.Context, offset int, waiting bool) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout+answerMargin)
	defer cancel()
	params := tgbotapi.Params{"allowed_updates": allowedUpdates}
	params.AddNonZero("offset", offset)
	params.AddNonZero("limit", maxUpdates)
	if !waiting {
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

// take hands updates on and returns the offset that confirms them. An update that can't be decoded is logged and confirmed. Ids
// only grow within one answer: after a quiet week Telegram starts at a random id.
func (b *Bot) take(
	ctx context.Context, r *reception, offset int, updates []json.RawMessage,
	accept func(context.Context, chat.Inbound) error,
) (int, error) {
	b.ids.received(updates)
	confirmed := false
	for _, a := range r.open(updates) {
		b.heart.Beat()
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		switch {
		case a.numbered:
			offset, confirmed = a.id+1, true
		case confirmed:
			offset++ // ids are consecutive
		}
		a.in.Resume, a.in.Missed = strconv.Itoa(offset), r.missed
		if err := b.hand(ctx, r, a, accept); err != nil {
			return 0, err
		}
	}
	if len(updates) > 0 && !confirmed {
		return 0, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getUpdates: no update has an id")}
	}
	return offset, nil
}

// hand hands an update on, unless it says nothing to the bot.
func (b *Bot) hand(ctx context.Context, r *reception, a arrival, accept func(context.Context, chat.Inbound) error) error {
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
	if query, pressed := strings.CutPrefix(string(a.in.ID), pressPrefix); pressed && a.in.Kind == chat.Button { // drafts' buttons have no query
		b.answerPress(ctx, r, query)
	}
	return nil
}

// reception is what one Run knows of what it received.
type reception struct {
	self    tgbotapi.User
	album   string         // the last one with a message for the bot
	answers errgroup.Group // to presses that were accepted
	missed  bool           // what the next poll returns waited at Telegram when Run began: until one returns less than it may
}

// arrival is one update, decoded or with the reason why not.
type arrival struct {
	id       int
	numbered bool // it has an id
	in       chat.Inbound
	album    string // that it is a part of; empty: of none
	found    bool
	err      error
}

// open decodes the updates of one answer. An album is several messages, of which only one mentions the bot or replies to it.
// The others of the album are then for the bot too, in the same and in later answers. Apps put the caption on the first message,
// so none arrives in an earlier answer.
func (r *reception) open(updates []json.RawMessage) []arrival {
	list := make([]arrival, len(updates))
	meant := map[string]bool{r.album: r.album != ""}
	for i, raw := range updates {
		a := &list[i]
		a.id, a.numbered = updateID(raw)
		a.in, a.album, a.found, a.err = decode(raw, r.self)
		if a.found && a.album != "" && a.in.Addressed {
			r.album, meant[a.album] = a.album, true
		}
	}
	for i := range list {
		list[i].in.Addressed = list[i].in.Addressed || list[i].found && meant[list[i].album]
	}
	return list
}

// updateID returns the id of an update whatever else is wrong with it.
func updateID(raw json.RawMessage) (int, bool) {
	var u struct {
		ID *int `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == nil {
		return 0, false
	}
	return *u.ID, true
}

// receiveError turns the failure of a call into what Run returns. Asking again can't do harm,
// so that Uncertain becomes Temporary, and what only the operator can end says how.
func receiveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failure := calls.Repeatable(err)
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
