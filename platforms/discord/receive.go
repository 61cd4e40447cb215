package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

const (
	// callTimeout limits each API call that the bot makes in order to receive messages.
	callTimeout = 15 * time.Second
	// maxRefused is how many times in a row Discord may refuse a session before Run returns. When Run has returned after
	// maxRefused refusals, the caller of Run decides when to try again.
	maxRefused = 3
	// shortLived is the minimum duration of a connection after which Run opens the next connection without a pause.
	shortLived = 5 * time.Second
	// If the bot can't request the channel of a message from Discord, the bot retries for maxStuck and then skips the
	// message. If an outage is longer than maxStuck, Discord most likely closes the connection anyway.
	maxStuck = 5 * time.Minute
)

// Run receives messages until ctx ends and passes each message to accept, one after the other. Run keeps the order of
// the messages of one channel. When a connection ends, Run opens another connection and resumes the session. After Run
// has resumed the session, Discord delivers the missed events. A new process that starts soon enough resumes the
// earlier process's session at the cursor. If Discord has ended the session, a backfill reads the missed messages in
// guilds and known DMs. Run delivers missed messages before newer messages of the same channel. A backfill can't read
// missed commands, but Discord has told the people who used these commands that the application did not respond.
//
// An event counts as handled after accept has returned nil. If an event was not handled, the next Run receives the
// event again, before newer events. Without a cursor, Run receives only new messages.
//
// Run returns ctx's error if ctx ended, and accept's error if accept failed. If receiving failed, Run returns a
// *chat.SendError: Auth if Discord refuses the token, Rejected if the operator must fix something else, RateLimited if
// no session may start, or Temporary.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	start, ok := parseCursor(from.Cursor)
	if !ok {
		b.log.WarnContext(ctx, "invalid resume cursor; missed messages are not read")
	}
	running, cancel := context.WithCancel(ctx)
	r := &receiver{Bot: b, accept: accept, earlier: from.Places, callbacks: make(chan struct{}, maxCallbacks)}
	defer r.workers.Wait()
	defer cancel()
	b.session.start(start, b.contentIntent)
	for range concludeWorkers {
		r.workers.Go(func() { r.runConclusions(running) })
	}
	err := r.run(running)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Pulse implements gateway.Pulse. The loop of Run reports that it works at every event, and at least once every
// BeatEvery. The limit is long, because handling one event may take several calls, each of which may take callTimeout.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 3 * time.Minute }

// receiver is the state of one Run.
type receiver struct {
	*Bot
	accept    func(context.Context, chat.Inbound) error
	earlier   []chat.Target // the chats in which the bot was asked recently
	workers   sync.WaitGroup
	callbacks chan struct{} // contains one value for each interaction that is being acknowledged

	backfill backfillState // the running backfill, if any
	seq      int64         // sequence number of the last event on this connection

	connected time.Time // when the connection was opened; later messages count as new, even if a backfill reads them
	replaying bool      // the bot has resumed the session, and Discord is still delivering missed events
}

// The method run opens a connection to Discord's gateway. When a connection ends, run opens another connection, unless
// the error means that Run must return.
func (r *receiver) run(ctx context.Context) error {
	for refused := 0; ; {
		began := time.Now()
		err := r.connect(ctx)
		end, ok := errors.AsType[*connError](err)
		if !ok {
			return err
		}
		if end.sessionOver || end.resumeRefused && refused > 0 {
			c := &r.session.cursor
			c.session, c.backfillPending = "", c.backfillPending || c.newest != ""
		}
		switch {
		case end.receivedEvents:
			refused = 0
		case end.resumeRefused && refused < maxRefused:
			refused++
		default:
			return &chat.SendError{Kind: chat.Temporary, Err: end}
		}
		r.log.DebugContext(ctx, "connection to the gateway ended", slog.Any("reason", end.reason), slog.Bool("session_lost", end.sessionOver))
		if end.resumeRefused || time.Since(began) < shortLived {
			// After an invalid session, Discord asks for a pause of 1 to 5 seconds:
			// https://docs.discord.com/developers/events/gateway#resuming
			if err := receiving.Sleep(ctx, time.Second+time.Duration(rand.Float64()*float64(2*time.Second))); err != nil {
				return err
			}
		}
	}
}

// connect opens a connection to Discord's gateway and handles the connection's events until the connection ends.
func (r *receiver) connect(ctx context.Context) error {
	r.heart.Beat()
	if err := r.fetchSelf(ctx); err != nil {
		return receiveError(err)
	}
	c := r.session.cursor
	if c.backfillPending && !r.backfill.active() {
		c.session = "" // start a new session, because only a new session reports which channels have new messages
	}
	address := c.address
	if c.session == "" || address == "" {
		var err error
		if address, err = r.gatewayURL(ctx, c.session == ""); err != nil {
			return err
		}
	}
	l, err := r.open(ctx, address, func(f *discordgo.Event) { r.acknowledgeEarly(ctx, f) })
	if err != nil {
		r.session.cursor.address = "" // make the next call of connect request a new URL
		return &connError{reason: err}
	}
	defer l.close()
	r.connected = time.Now()
	r.backfill.held, r.seq, r.replaying = nil, c.seq, c.session != "" // drop held messages: Discord delivers them again
	if c.session == "" {
		err = l.identify(ctx, r.token, r.contentIntent)
	} else {
		err = l.resume(ctx, r.token, c)
	}
	if err != nil {
		return &connError{reason: err}
	}
	err = r.handleEvents(ctx, l)
	if end, ok := errors.AsType[*connError](err); ok && c.session != "" {
		end.sessionOver = r.session.noteResume(end.receivedEvents || end.resumeRefused) || end.sessionOver
	}
	return err
}

// handleEvents handles events until the connection ends.
func (r *receiver) handleEvents(ctx context.Context, l *conn) error {
	up := false
	silence := time.NewTimer(readyTimeout) //nolint:forbidigo // the bot must notice if Discord does not start the session.
	defer silence.Stop()
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog checks that the loop runs.
	defer beat.Stop()
	for {
		r.heart.Beat()
		select {
		case <-beat.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-silence.C:
			return &connError{reason: errNoSession}
		case f := <-r.backfill.steps:
			if err := r.catchUp(ctx, f); err != nil {
				return err
			}
		case f, ok := <-l.events:
			if !ok {
				return closeError(l.err, up)
			}
			if f.Type == "READY" || f.Type == "RESUMED" {
				up, r.replaying = true, false
				silence.Stop()
			}
			if err := r.dispatch(ctx, f); err != nil {
				return err
			}
			r.seq = max(r.seq, f.Sequence)
			if !r.backfill.active() {
				r.session.cursor.seq = r.seq
			}
			if !up {
				silence.Reset(readyTimeout) // Discord delivers the missed events before the event RESUMED
			}
		}
	}
}

// dispatch handles an event. If an event can't be decoded, dispatch logs a warning and skips the event.
func (r *receiver) dispatch(ctx context.Context, f *discordgo.Event) error {
	skip := func(err error) error {
		r.log.WarnContext(ctx, "event skipped", slog.String("type", f.Type), slog.Any("error", err))
		return nil
	}
	switch f.Type {
	case "READY":
		hi, err := receiving.Decode[ready](f.RawData)
		if err != nil {
			return &connError{reason: fmt.Errorf("decode READY: %w", err), sessionOver: true}
		}
		r.beginSession(ctx, hi, f.Sequence)
	case "RESUMED":
		r.greeting.Log(ctx, r.log, slog.Bool("resumed", true))
	case "GUILD_CREATE":
		g, err := receiving.Decode[guild](f.RawData)
		if err != nil {
			return skip(err)
		}
		r.handleGuild(g)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		c, err := receiving.Decode[channelInfo](f.RawData)
		if err != nil {
			return skip(err)
		}
		r.channels.add(*c)
	case "MESSAGE_CREATE":
		m, err := receiving.Decode[incoming](f.RawData)
		if err != nil {
			return skip(err)
		}
		m.backlog, m.seq = r.replaying, f.Sequence
		if r.backfill.mustHold(m) {
			return r.hold(m)
		}
		return r.handleMessage(ctx, m)
	case "MESSAGE_UPDATE":
		m, err := receiving.Decode[incoming](f.RawData)
		if err != nil {
			return skip(err)
		}
		m.seq = f.Sequence
		return r.handleEdit(ctx, m)
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		gone, err := receiving.Decode[deletion](f.RawData)
		if err != nil {
			return skip(err)
		}
		return r.handleDeletion(ctx, gone, f.Sequence)
	case "INTERACTION_CREATE":
		i, err := receiving.Decode[incomingInteraction](f.RawData)
		if err != nil {
			return skip(err)
		}
		return r.handleInteraction(ctx, i, f.Sequence)
	}
	return nil
}

// beginSession records that a session has started. If the bot has received messages before, beginSession starts a
// backfill of the messages that the bot has missed since then.
func (r *receiver) beginSession(ctx context.Context, hi *ready, seq int64) {
	r.mu.Lock()
	r.selfID, r.name = hi.User.ID, hi.User.Name
	if isSnowflake(hi.App.ID) {
		r.appID = hi.App.ID
	}
	r.mu.Unlock()
	r.greeting.Log(ctx, r.log, slog.String("username", hi.User.Name), slog.Int("guilds", len(hi.Guilds)))
	r.seq = seq
	c := &r.session.cursor
	c.session, c.address, c.seq = hi.Session, hi.Address, seq
	c.backfillPending = c.newest != ""
	if now := snowflake(time.Now()); !c.backfillPending && now > 0 {
		c.newest = strconv.FormatInt(now, 10)
	}
	if c.backfillPending {
		r.startBackfill(ctx, hi)
	}
}

// handleGuild records a guild's channels and roles.
func (r *receiver) handleGuild(g *guild) {
	self := r.identity()
	r.channels.addGuild(g, self)
	if r.backfill.active() {
		r.backfill.addGuild(g)
	}
}

// cursorAt returns the cursor that the gateway stores with a message or interaction.
func (r *receiver) cursorAt(id string, seq int64) cursor {
	c := r.session.cursor
	if !r.backfill.active() {
		c.newest, c.seq = newer(c.newest, id), max(c.seq, seq)
	}
	return c
}

// noteHandled records that a message or interaction was handled.
func (r *receiver) noteHandled(id string, at cursor) {
	r.backfill.newest = newer(r.backfill.newest, id)
	r.session.cursor.newest = at.newest
}

// handleMessage passes a message to the function accept if the message is for the bot.
func (r *receiver) handleMessage(ctx context.Context, m *incoming) error {
	r.heart.Beat()
	at := r.cursorAt(m.ID, m.seq)
	if r.session.accepted.Has(m.ID) {
		return nil
	}
	decodeCtx, cancel := context.WithTimeout(ctx, callTimeout)
	in, found, err := r.decodeMessage(decodeCtx, m)
	cancel()
	switch {
	case err != nil && receiving.IsTransient(err) && r.session.noteStuck(m.ID) > maxStuck:
		r.log.ErrorContext(ctx, "message skipped: its channel can't be looked up",
			slog.String("channel", m.Channel), slog.Any("error", err))
	case err != nil:
		if _, ok := errors.AsType[*chat.SendError](err); ok {
			return receiveError(err) // the bot can't request the message's channel now
		}
		r.log.WarnContext(ctx, "message skipped", slog.Any("error", err))
	case found:
		in.Resume = at.String()
		if err := r.accept(ctx, in); err != nil {
			return fmt.Errorf("accept message %s: %w", m.ID, err)
		}
		r.session.accepted.Put(m.ID, struct{}{})
	}
	r.noteHandled(m.ID, at)
	return nil
}
