package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// These constants limit a backfill, which reads the messages that the bot has missed.
const (
	// A backfill begins backfillMargin before the time of the newest known message. The margin backfillMargin covers the
	// time to accept messages and differences between the clocks of Discord's machines. If a backfill reads a message that
	// the receiver has accepted before, the receiver drops the message.
	backfillMargin = time.Minute
	// backfillAge is the maximum age of messages that a backfill delivers.
	backfillAge = 24 * time.Hour
	// backfillPages limits the pages that a backfill reads from one channel.
	backfillPages = 10
	// pageSize is the maximum number of messages that Discord returns in one call.
	// https://docs.discord.com/developers/resources/message#get-channel-messages
	pageSize = 100
	// backfillPause is the pause before each call of a backfill. backfillPause leaves most of the bot's rate limit
	// for replies.
	backfillPause = 200 * time.Millisecond
	// If the bot fails to read a channel, the bot first reads all other channels and then retries for backfillRetryTime.
	// While the bot retries, new messages of the unreadable channel wait. The wait for an unreadable channel does little
	// harm, because Discord most likely refuses answers in the channel too.
	backfillRetryTime = 10 * time.Minute
	// guildTimeout is the maximum wait for the next guild's list of channels, and guildsTimeout the maximum for all
	// guilds. A guild's list of channels arrives later than guildTimeout only if Discord has an outage that affects the
	// guild.
	guildTimeout  = 5 * time.Second
	guildsTimeout = time.Minute
	// maxHeld limits the new messages that wait during the backfill. If more than maxHeld messages must wait, Run ends.
	// The next Run starts a new session, whose backfill reads the messages that were waiting.
	maxHeld = 10_000
)

// backfill describes one backfill. A backfill reads the messages that people wrote after the newest known message and
// before the current session started.
type backfill struct {
	since   string
	arrived <-chan *guild   // receives each guild that arrives, with the newest message of each of its channels
	missing map[string]bool // ids of the guilds that have not arrived
	steps   chan<- backfillStep
}

// backfillStep is a part of a backfill's result. The first backfillStep lists the channels that the backfill will read.
// Each later backfillStep contains the messages of one channel.
type backfillStep struct {
	channels map[string]bool
	channel  string
	messages []incoming // oldest first
}

// backfillState is the state of a running backfill. The zero value of backfillState means that no backfill runs.
type backfillState struct {
	steps   chan backfillStep // nil if no backfill runs
	guilds  chan *guild       // the buffer has room for all missing guilds
	pending map[string]bool   // channels that are not read yet; nil: not known yet, so every channel counts as pending
	stop    func()            // stops the backfill
	held    []*incoming       // new messages that wait for older messages of their channel
	newest  string            // id of the newest message that was delivered
}

// active reports whether a backfill runs.
func (g *backfillState) active() bool { return g.steps != nil }

// mustHold reports whether a message must wait until the backfill has read the older messages of its channel.
func (g *backfillState) mustHold(m *incoming) bool {
	return g.active() && (g.pending == nil || g.pending[m.Channel])
}

// addGuild passes a guild to the backfill. The Go channel g.guilds has room for every missing guild. If g.guilds is
// full, addGuild drops the guild.
func (g *backfillState) addGuild(from *guild) {
	select {
	case g.guilds <- from:
	default:
	}
}

// startBackfill starts reading what people wrote since the newest known message. The receiver holds the new messages
// of a channel until the backfill has read the older messages of this channel.
func (r *receiver) startBackfill(ctx context.Context, hi *ready) {
	if r.backfill.stop != nil {
		r.backfill.stop()
	}
	asking, cancel := context.WithCancel(ctx)
	r.backfill = backfillState{steps: make(chan backfillStep), guilds: make(chan *guild, len(hi.Guilds)), stop: cancel}
	f := backfill{missing: make(map[string]bool), arrived: r.backfill.guilds, steps: r.backfill.steps}
	since := snowflakeNumber(r.session.cursor.newest) - backfillMargin.Milliseconds()<<22
	f.since = strconv.FormatInt(max(since, snowflake(time.Now().Add(-backfillAge)), 1), 10)
	for _, one := range hi.Guilds {
		f.missing[one.ID] = true
	}
	r.workers.Go(func() {
		defer cancel()
		r.runBackfill(asking, f)
	})
}

// hold keeps a message until the backfill has read the older messages of the message's channel.
func (r *receiver) hold(m *incoming) error {
	if r.backfill.held = append(r.backfill.held, m); len(r.backfill.held) > maxHeld {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("more than %d messages arrived during the backfill", maxHeld)}
	}
	return nil
}

// catchUp delivers the messages of a channel that the backfill has read, and then the held new messages of that
// channel. After the last channel, catchUp ends the backfill.
func (r *receiver) catchUp(ctx context.Context, f backfillStep) error {
	if f.channels != nil {
		r.backfill.pending = f.channels
	}
	for i := range f.messages {
		m := &f.messages[i]
		if time.Since(m.Timestamp) > backfillAge {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.backlog = m.Timestamp.Before(r.clock.At(r.connected))
		if err := r.handleMessage(ctx, m); err != nil {
			return err
		}
	}
	delete(r.backfill.pending, f.channel)
	kept := r.backfill.held
	r.backfill.held = nil
	for _, m := range kept {
		if r.backfill.mustHold(m) {
			r.backfill.held = append(r.backfill.held, m)
			continue
		}
		if err := r.handleMessage(ctx, m); err != nil {
			return err
		}
	}
	if len(r.backfill.pending) == 0 {
		c := &r.session.cursor
		c.backfillPending, c.newest, c.seq = false, newer(c.newest, r.backfill.newest), r.seq
		r.backfill = backfillState{}
	}
	return nil
}

// runBackfill reads the channels that have new messages, all known DMs, and the channels in which the bot was asked
// recently. runBackfill sends one backfillStep for the messages of each channel.
func (r *receiver) runBackfill(ctx context.Context, f backfill) {
	sendStep := func(step backfillStep) error {
		select {
		case f.steps <- step:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	channels := r.backfillChannels(f.channels(ctx))
	pending, pieces := make(map[string]bool, len(channels)), make([]receiving.Piece, len(channels))
	messages := 0
	for i, one := range channels {
		pending[one.ID] = true
		pieces[i] = r.readSince(one, f.since, func(ctx context.Context, list []incoming, err error) error {
			switch kind := chat.AsSendError(err).Kind; {
			case err == nil:
			case kind == chat.Forbidden, kind == chat.Gone:
				r.log.DebugContext(ctx, "channel skipped: no access", slog.String("channel", one.ID), slog.Any("error", err))
			default:
				r.log.ErrorContext(ctx, "missed messages may be lost: channel can't be read", slog.String("channel", one.ID), slog.Any("error", err))
			}
			messages += len(list)
			return sendStep(backfillStep{channel: one.ID, messages: list})
		})
	}
	if sendStep(backfillStep{channels: pending}) != nil || receiving.ReadBacklog(ctx, r.log, backfillRetryTime, pieces) != nil { // fail only if ctx ends
		return
	}
	r.log.InfoContext(ctx, "backfill finished", slog.Int("channels", len(channels)), slog.Int("messages", messages))
}

// channels returns the channels with new messages, for all guilds whose lists of channels arrive in time.
func (f *backfill) channels(ctx context.Context) []channelInfo {
	ctx, cancel := context.WithTimeout(ctx, guildsTimeout)
	defer cancel()
	var list []channelInfo
	for len(f.missing) > 0 {
		from := f.nextGuild(ctx)
		if from == nil {
			break
		}
		if !f.missing[from.ID] {
			continue
		}
		delete(f.missing, from.ID)
		for _, c := range slices.Concat(from.Channels, from.Threads) {
			if snowflakeNumber(c.Last) > snowflakeNumber(f.since) {
				c.Guild = from.ID
				list = append(list, c)
			}
		}
	}
	return list
}

// nextGuild waits until the next guild arrives, and returns this guild. After a timeout, nextGuild returns nil.
func (f *backfill) nextGuild(ctx context.Context) *guild {
	ctx, cancel := context.WithTimeout(ctx, guildTimeout)
	defer cancel()
	select {
	case g := <-f.arrived:
		return g
	case <-ctx.Done():
		return nil
	}
}

// backfillChannels returns the channels to read, without duplicates: those with new messages, DMs, and the channels in
// which the bot was asked recently.
func (r *receiver) backfillChannels(channels []channelInfo) []channelInfo {
	for _, id := range r.channels.knownDMs() {
		channels = append(channels, channelInfo{ID: id})
	}
	for _, to := range r.earlier {
		one := channelInfo{ID: channelOf(to)}
		if to.Kind == chat.Group {
			one.Guild = r.guildOf(one.ID, string(to.Chat))
		}
		channels = append(channels, one)
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(channels, func(one channelInfo) bool {
		skip := seen[one.ID] || !isSnowflake(one.ID)
		seen[one.ID] = true
		return skip
	})
}

// guildOf returns the guild of a channel: of the first channel in ids whose guild is known. If no guild is known,
// guildOf returns "0", which only says that the channel is not a DM.
func (r *receiver) guildOf(ids ...string) string {
	for _, id := range ids {
		if known, ok := r.channels.channels.Get(id); ok && known.Guild != "" {
			return known.Guild
		}
	}
	return "0"
}

// readSince returns a piece of work for [receiving.ReadBacklog]. The returned piece reads a channel's messages that are
// newer than the message with the id after, and passes these messages to the function done, oldest first.
func (r *receiver) readSince(in channelInfo, after string, done func(ctx context.Context, list []incoming, err error) error) receiving.Piece {
	var all []incoming
	pages := 0
	return receiving.Piece{
		Read: func(ctx context.Context) error {
			for ; pages < backfillPages; pages++ {
				page, err := r.readPage(ctx, in.ID, after)
				if err != nil {
					return err
				}
				slices.SortFunc(page, func(a, b incoming) int { return cmp.Compare(snowflakeNumber(a.ID), snowflakeNumber(b.ID)) })
				for i := range page {
					page[i].Channel, page[i].Guild = in.ID, in.Guild
					after = newer(after, page[i].ID)
				}
				all = append(all, page...)
				if len(page) < pageSize {
					return nil
				}
			}
			return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("more than %d messages are new", backfillPages*pageSize)}
		},
		Done: func(ctx context.Context, err error) ([]receiving.Piece, error) { return nil, done(ctx, all, err) },
	}
}

// readPage requests the next page of messages. The page that readPage returns contains messages that follow the message
// whose id is the parameter after.
func (r *receiver) readPage(ctx context.Context, channel, after string) ([]incoming, error) {
	if err := receiving.Sleep(ctx, backfillPause); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := r.call(ctx, request{
		name: "getMessages", method: http.MethodGet, path: fmt.Sprintf("/channels/%s/messages?after=%s&limit=%d", channel, after, pageSize),
	})
	if err != nil {
		return nil, err
	}
	return r.decodePage(ctx, a)
}

// decodePage decodes a page of messages. decodePage skips messages that can't be decoded.
func (r *receiver) decodePage(ctx context.Context, a *response) ([]incoming, error) {
	raw, err := receiving.Decode[[]json.RawMessage](a.Body)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("getMessages: %w", err)}
	}
	list := make([]incoming, 0, len(*raw))
	for _, one := range *raw {
		m, err := receiving.Decode[incoming](one)
		if err != nil {
			r.log.WarnContext(ctx, "message skipped", slog.Any("error", err))
			continue
		}
		list = append(list, *m)
	}
	return list, nil
}
