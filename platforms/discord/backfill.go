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

// What is asked for after a lost session.
const (
	// backfillMargin is how far before the newest known message the backfill begins: accepting takes a while, and the
	// clocks of Discord's machines differ. Duplicates are dropped.
	backfillMargin = time.Minute
	// backfillAge is how old a message may be that is still handed on.
	backfillAge = 24 * time.Hour
	// backfillPages bounds what is asked for of one channel.
	backfillPages = 10
	// pageSize is the largest there is.
	// https://docs.discord.com/developers/resources/message#get-channel-messages
	pageSize = 100
	// backfillPause keeps these calls to a part of what one bot may make, which replies need more.
	backfillPause = 200 * time.Millisecond
	// backfillPatience is how long unreadable channels are tried again, after all others. New messages there wait as
	// long; the platform most likely takes no answer there either.
	backfillPatience = 10 * time.Minute
	// guildTime is how long to wait for one more guild's list of channels, and maxGuildsTime for all of them. A guild that
	// comes later had an outage of its own.
	guildTime     = 5 * time.Second
	maxGuildsTime = time.Minute
	// maxHeld bounds the new messages that wait meanwhile. With more, the session is resumed later.
	maxHeld = 10_000
)

// backfill reads what was written between a message and the begin of a session.
type backfill struct {
	since   string
	guilds  <-chan *guild   // with the newest message of each channel
	missing map[string]bool // guilds that have not arrived yet
	steps   chan<- backfillStep
}

// backfillStep is a part of the result: first the channels that will be read, then the messages of each.
type backfillStep struct {
	channels map[string]bool
	channel  string
	messages []incoming // in their order
}

// gap is the time in which nothing was received, while a backfill fills it in. The zero value is no gap.
type gap struct {
	steps   chan backfillStep // nil if no gap is being read
	guilds  chan *guild       // all that are missing fit
	pending map[string]bool   // channels that are not read yet; nil: not known, so it may be any
	stop    func()            // ends the backfill
	held    []*incoming       // new messages that wait for older ones of their channel
	newest  string            // id of the newest message that was handed on
}

// open reports whether there is a gap.
func (g *gap) open() bool { return g.steps != nil }

// keeps reports whether a message must wait for older ones.
func (g *gap) keeps(m *incoming) bool { return g.open() && (g.pending == nil || g.pending[m.Channel]) }

// addGuild hands a guild to the backfill. If there is no room, the guild was handed over before.
func (g *gap) addGuild(from *guild) {
	select {
	case g.guilds <- from:
	default:
	}
}

// startBackfill begins to read what people wrote since the newest known message. A channel's new messages are held until
// its old ones are read.
func (r *reception) startBackfill(ctx context.Context, hi *ready) {
	if r.gap.stop != nil {
		r.gap.stop()
	}
	asking, cancel := context.WithCancel(ctx)
	r.gap = gap{steps: make(chan backfillStep), guilds: make(chan *guild, len(hi.Guilds)), stop: cancel}
	f := backfill{missing: make(map[string]bool), guilds: r.gap.guilds, steps: r.gap.steps}
	since := number(r.session.now.newest) - backfillMargin.Milliseconds()<<22
	f.since = strconv.FormatInt(max(since, snowflake(time.Now().Add(-backfillAge)), 1), 10)
	for _, one := range hi.Guilds {
		f.missing[one.ID] = true
	}
	r.workers.Go(func() {
		defer cancel()
		r.ask(asking, f)
	})
}

// hold keeps a message for later.
func (r *reception) hold(m *incoming) error {
	if r.gap.held = append(r.gap.held, m); len(r.gap.held) > maxHeld {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("more than %d messages came while older ones were asked for", maxHeld)}
	}
	return nil
}

// catchUp hands on the old messages of a channel, and then those that arrived there meanwhile. The gap ends with the last
// channel.
func (r *reception) catchUp(ctx context.Context, f backfillStep) error {
	if f.channels != nil {
		r.gap.pending = f.channels
	}
	for i := range f.messages {
		m := &f.messages[i]
		if time.Since(m.Timestamp) > backfillAge {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.missed = m.Timestamp.Before(r.connected)
		if err := r.take(ctx, m); err != nil {
			return err
		}
	}
	delete(r.gap.pending, f.channel)
	kept := r.gap.held
	r.gap.held = nil
	for _, m := range kept {
		if r.gap.keeps(m) {
			r.gap.held = append(r.gap.held, m)
			continue
		}
		if err := r.take(ctx, m); err != nil {
			return err
		}
	}
	if len(r.gap.pending) == 0 {
		c := &r.session.now
		c.backfillPending, c.newest, c.seq = false, newer(c.newest, r.gap.newest), r.seq
		r.gap = gap{}
	}
	return nil
}

// ask reads the channels of guilds that have new messages, and all known DMs and places of earlier turns. It hands the
// messages on channel by channel.
func (r *reception) ask(ctx context.Context, f backfill) {
	tell := func(step backfillStep) error {
		select {
		case f.steps <- step:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	channels := r.toAsk(f.channels(ctx))
	pending, pieces := make(map[string]bool, len(channels)), make([]receiving.Piece, len(channels))
	messages := 0
	for i, one := range channels {
		pending[one.ID] = true
		pieces[i] = r.since(one, f.since, func(ctx context.Context, list []incoming, err error) error {
			switch kind := chat.AsSendError(err).Kind; {
			case err == nil:
			case kind == chat.Forbidden, kind == chat.Gone:
				r.log.DebugContext(ctx, "channel skipped: no access", slog.String("channel", one.ID), slog.Any("error", err))
			default:
				r.log.ErrorContext(ctx, "missed messages may be lost: channel can't be read", slog.String("channel", one.ID), slog.Any("error", err))
			}
			messages += len(list)
			return tell(backfillStep{channel: one.ID, messages: list})
		})
	}
	if tell(backfillStep{channels: pending}) != nil || receiving.ReadBacklog(ctx, r.log, backfillPatience, pieces) != nil { // only the end of ctx
		return
	}
	r.log.InfoContext(ctx, "backfill finished", slog.Int("channels", len(channels)), slog.Int("messages", messages))
}

// channels returns the channels with new messages, of the guilds that arrive in time.
func (f *backfill) channels(ctx context.Context) []channelInfo {
	ctx, cancel := context.WithTimeout(ctx, maxGuildsTime)
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
			if number(c.Last) > number(f.since) {
				c.Guild = from.ID
				list = append(list, c)
			}
		}
	}
	return list
}

// nextGuild waits for one more guild; nil: none came in time.
func (f *backfill) nextGuild(ctx context.Context) *guild {
	ctx, cancel := context.WithTimeout(ctx, guildTime)
	defer cancel()
	select {
	case g := <-f.guilds:
		return g
	case <-ctx.Done():
		return nil
	}
}

// toAsk returns the channels to read, each once: those with new messages, DMs, and the places of earlier turns.
func (r *reception) toAsk(channels []channelInfo) []channelInfo {
	for _, id := range r.places.directs() {
		channels = append(channels, channelInfo{ID: id})
	}
	for _, to := range r.asked {
		one := channelInfo{ID: channelOf(to)}
		if to.Kind == chat.Group {
			one.Guild = r.guildOf(one.ID, string(to.Chat))
		}
		channels = append(channels, one)
	}
	known := make(map[string]bool)
	return slices.DeleteFunc(channels, func(one channelInfo) bool {
		again := known[one.ID] || !isSnowflake(one.ID)
		known[one.ID] = true
		return again
	})
}

// guildOf returns the guild of the first of these channels whose guild is known. The fallback says only that the channel
// is no DM.
func (r *reception) guildOf(ids ...string) string {
	for _, id := range ids {
		if known, ok := r.places.channels.Get(id); ok && known.Guild != "" {
			return known.Guild
		}
	}
	return "0"
}

// since is the piece that reads the messages of a channel after one. done gets them, the oldest first.
func (r *reception) since(in channelInfo, after string, done func(ctx context.Context, list []incoming, err error) error) receiving.Piece {
	var all []incoming
	pages := 0
	return receiving.Piece{
		Read: func(ctx context.Context) error {
			for ; pages < backfillPages; pages++ {
				page, err := r.page(ctx, in.ID, after)
				if err != nil {
					return err
				}
				slices.SortFunc(page, func(a, b incoming) int { return cmp.Compare(number(a.ID), number(b.ID)) })
				for i := range page {
					page[i].Channel, page[i].Guild = in.ID, in.Guild
					after = newer(after, page[i].ID)
				}
				all = append(all, page...)
				if len(page) < pageSize {
					return nil
				}
			}
			return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("more than %d messages came", backfillPages*pageSize)}
		},
		Done: func(ctx context.Context, err error) ([]receiving.Piece, error) { return nil, done(ctx, all, err) },
	}
}

// page asks for the messages after one.
func (r *reception) page(ctx context.Context, channel, after string) ([]incoming, error) {
	if err := receiving.Sleep(ctx, backfillPause); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := r.call(ctx, request{
		name: "getMessages", verb: http.MethodGet, path: fmt.Sprintf("/channels/%s/messages?after=%s&limit=%d", channel, after, pageSize),
	})
	if err != nil {
		return nil, err
	}
	return r.messages(ctx, a)
}

// messages decodes a page. It leaves out messages that can't be decoded.
func (r *reception) messages(ctx context.Context, a *answer) ([]incoming, error) {
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
