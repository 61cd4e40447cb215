package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"telex/internal/chat"
)

// What is asked for after a lost session.
const (
	// fillMargin is how much further back is asked: accepting takes a while, and clocks of Discord's machines
	// differ. What comes twice is dropped.
	fillMargin = time.Minute
	// fillAge is how old a message may be that is still handed on.
	fillAge = 24 * time.Hour
	// fillPages bounds what is asked for of one channel.
	fillPages = 10
	// pageSize is the largest there is.
	// https://docs.discord.com/developers/resources/message#get-channel-messages
	pageSize = 100
	// fillPause keeps these calls to a part of what one bot may make, which replies need more.
	fillPause = 200 * time.Millisecond
	// fillTries is how often a page is asked for that does not come.
	fillTries = 5
	// guildsTime is how long to wait for guilds to say where something was written. One that comes later
	// had an outage of its own.
	guildsTime = 5 * time.Second
	// mostHeld bounds the events that wait meanwhile; with more the session is taken up again later.
	mostHeld = 10_000
)

// guildsToCome collects where something was written since a message, while a session begins.
type guildsToCome struct {
	since string

	mu      sync.Mutex
	missing map[string]bool
	rooms   []room
	all     chan struct{} // closed when none is missing
}

// came takes over what a guild says of its channels.
func (g *guildsToCome) came(from *guild) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.missing[from.ID] {
		return
	}
	for _, r := range slices.Concat(from.Channels, from.Threads) {
		if number(r.Last) > number(g.since) {
			r.Guild = from.ID
			g.rooms = append(g.rooms, r)
		}
	}
	if delete(g.missing, from.ID); len(g.missing) == 0 {
		close(g.all)
	}
}

// found returns the channels.
func (g *guildsToCome) found() []room {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.rooms)
}

// filling is what was asked for.
type filling struct {
	of       *guildsToCome
	messages []incoming // those of a channel in their order
}

// fill begins to ask for what people wrote since the newest message that is known. Until that is
// there newer messages are held.
func (r *reception) fill(ctx context.Context, hi *ready) {
	if r.stop != nil {
		r.stop()
	}
	since := r.session.get().newest
	since = strconv.FormatInt(max(number(since)-fillMargin.Milliseconds()<<22, snowflake(time.Now().Add(-fillAge)), 1), 10)
	g := &guildsToCome{since: since, missing: make(map[string]bool), all: make(chan struct{})}
	for _, one := range hi.Guilds {
		g.missing[one.ID] = true
	}
	if len(g.missing) == 0 {
		close(g.all)
	}
	asking, cancel := context.WithCancel(ctx)
	r.guilds, r.stop, r.held = g, cancel, nil
	r.workers.Go(func() {
		defer cancel()
		waiting, stop := context.WithTimeout(asking, guildsTime)
		defer stop()
		select {
		case <-g.all:
		case <-waiting.Done():
		}
		messages := r.ask(asking, since, g.found())
		select {
		case r.filled <- filling{g, messages}:
		case <-asking.Done():
		}
	})
}

// hold keeps an event for later.
func (r *reception) hold(f frame) error {
	if r.held = append(r.held, f); len(r.held) > mostHeld {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("more than %d messages came while older ones were asked for", mostHeld)}
	}
	return nil
}

// catchUp hands on what was asked for, and then what came meanwhile.
func (r *reception) catchUp(ctx context.Context, f filling) error {
	if f.of != r.guilds { // an earlier session's
		return nil
	}
	at := r.session.get() // still owing, with the old place
	last := at
	for i := range f.messages {
		last.newest = newer(last.newest, f.messages[i].ID)
	}
	last.owed = false
	for i := range f.messages {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &f.messages[i]
		if time.Since(m.Timestamp) > fillAge {
			continue
		}
		where := at
		if i == len(f.messages)-1 {
			where = last
		}
		if err := r.take(ctx, m, where); err != nil {
			return err
		}
	}
	r.session.set(func(c *cursor) { c.owed, c.newest = false, last.newest })
	held := r.held
	r.guilds, r.stop, r.held = nil, nil, nil
	for _, f := range held {
		if err := r.handle(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// ask returns what was written since a message in the channels of guilds where something was, and in
// the places that are known, which can't say so before they are asked.
func (r *reception) ask(ctx context.Context, since string, rooms []room) []incoming {
	for _, id := range r.places.directs() {
		rooms = append(rooms, room{ID: id})
	}
	for _, to := range r.asked {
		one := room{ID: channelOf(to)}
		if to.Kind == chat.Group {
			one.Guild = r.guildOf(one.ID, string(to.Chat))
		}
		rooms = append(rooms, one)
	}
	known := make(map[string]bool)
	var messages []incoming
	channels := 0
	for _, one := range rooms {
		if !isSnowflake(one.ID) || known[one.ID] {
			continue
		}
		known[one.ID] = true
		channels++
		list, err := r.since(ctx, one, since)
		messages = append(messages, list...)
		switch {
		case ctx.Err() != nil:
			return messages
		case err == nil:
		case chat.AsSendError(err).Kind == chat.Forbidden, chat.AsSendError(err).Kind == chat.Gone:
			r.log.DebugContext(ctx, "channel is closed to the bot", slog.String("channel", one.ID), slog.Any("error", err))
		default:
			r.log.ErrorContext(ctx, "messages from before may be lost: the channel can't be read", slog.String("channel", one.ID), slog.Any("error", err))
		}
	}
	r.log.InfoContext(ctx, "asked for what came meanwhile", slog.Int("channels", channels), slog.Int("messages", len(messages)))
	return messages
}

// guildOf returns the guild of a channel, or of the channel that its thread is in. Where it is not known the
// channel is none of a DM all the same.
func (r *reception) guildOf(ids ...string) string {
	for _, id := range ids {
		if known, ok := r.places.room(id); ok && known.Guild != "" {
			return known.Guild
		}
	}
	return "0"
}

// since returns what was written in a channel after a message, oldest first.
func (r *reception) since(ctx context.Context, in room, after string) ([]incoming, error) {
	var all []incoming
	for range fillPages {
		page, err := r.page(ctx, in.ID, after)
		if err != nil {
			return all, err
		}
		slices.SortFunc(page, func(a, b incoming) int { return int(min(1, max(-1, number(a.ID)-number(b.ID)))) })
		for i := range page {
			page[i].Channel, page[i].Guild = in.ID, in.Guild
			after = newer(after, page[i].ID)
		}
		all = append(all, page...)
		if len(page) < pageSize {
			return all, nil
		}
	}
	return all, fmt.Errorf("more than %d messages came", fillPages*pageSize)
}

// page asks for the messages after one, again when that may help.
func (r *reception) page(ctx context.Context, channel, after string) ([]incoming, error) {
	for try := 1; ; try++ {
		if err := wait(ctx, fillPause); err != nil {
			return nil, err
		}
		calling, cancel := context.WithTimeout(ctx, answerTime)
		a, err := r.call(calling, request{
			name: "getMessages", verb: http.MethodGet, path: fmt.Sprintf("/channels/%s/messages?after=%s&limit=%d", channel, after, pageSize),
		})
		cancel()
		var list []incoming
		if err == nil {
			list, err = r.messages(ctx, a)
		}
		if err == nil {
			return list, nil
		}
		pause := time.Second << (try - 1)
		switch e := chat.AsSendError(err); e.Kind {
		case chat.RateLimited:
			pause = e.RetryAfter
		case chat.Temporary, chat.Uncertain:
		default:
			return nil, err
		}
		if try == fillTries {
			return nil, err
		}
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// messages decodes a page. One that can't be read is left out.
func (r *reception) messages(ctx context.Context, a *answer) ([]incoming, error) {
	raw, err := unpack[[]json.RawMessage](a.body)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("getMessages: %w", err)}
	}
	list := make([]incoming, 0, len(*raw))
	for _, one := range *raw {
		m, err := unpack[incoming](one)
		if err != nil {
			r.log.WarnContext(ctx, "message skipped", slog.Any("error", err))
			continue
		}
		list = append(list, *m)
	}
	return list, nil
}
