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
	// answerTime is how long the calls may take that receiving makes.
	answerTime = 15 * time.Second
	// maxRefused is how many sessions in a row may be refused before the caller decides when to go on.
	maxRefused = 3
	// shortLived is how long a connection must last for the next one to follow at once.
	shortLived = 5 * time.Second
	// maxStuck is how long receiving waits if a message's channel can't be looked up. A platform that is down for longer most
	// likely ends the connection too.
	maxStuck = 5 * time.Minute
)

// Run receives until ctx ends and hands each message to accept, one after the other; those of one channel in
// their order. When a connection ends, Run opens another and resumes the session: Discord then delivers what was
// missed. A process that follows soon does the same by the cursor. If the session is lost, a backfill reads what
// people wrote meanwhile in guilds and in known DMs, before newer messages of the same channel are handed on.
// Commands that were used meanwhile are lost: Discord told the person that the application did not respond.
//
// An event is handled once accept has returned nil; other events are delivered again, and first, in the next
// Run. Without a cursor only new messages are received.
//
// Run returns ctx's error when ctx ended, accept's when accept failed, and a *chat.SendError otherwise: Auth
// if Discord refuses the token, Rejected if the operator must fix something else, RateLimited if no session may
// begin, or Temporary.
func (b *Bot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	start, ok := parseCursor(from.Cursor)
	if !ok {
		b.log.WarnContext(ctx, "invalid resume cursor; missed messages are not read")
	}
	running, cancel := context.WithCancel(ctx)
	r := &reception{Bot: b, accept: accept, asked: from.Places, callbacks: make(chan struct{}, maxCallbacks)}
	defer r.workers.Wait()
	defer cancel()
	b.session.start(start, b.content)
	for range concluders {
		r.workers.Go(func() { r.concludeAll(running) })
	}
	err := r.run(running)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Pulse implements gateway.Pulse: the loop turns with every event and every BeatEvery. Calls for one event may take
// answerTime each.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) { return b.heart.Last(), 3 * time.Minute }

// reception is one Run.
type reception struct {
	*Bot
	accept    func(context.Context, chat.Inbound) error
	asked     []chat.Target // the places of earlier turns
	workers   sync.WaitGroup
	callbacks chan struct{} // holds a token for each interaction that is being acknowledged

	gap gap   // that is being filled in
	seq int64 // of the last event that this connection brought

	connected time.Time // when the connection was opened: what was written later is new, even if a backfill reads it
	replays   bool      // the session was resumed, and Discord still delivers what was missed
}

// run opens one connection after the other.
func (r *reception) run(ctx context.Context) error {
	for refused := 0; ; {
		began := time.Now()
		err := r.connect(ctx)
		end, ok := errors.AsType[*connError](err)
		if !ok {
			return err
		}
		if end.forget || end.refused && refused > 0 {
			c := &r.session.now
			c.session, c.backfillPending = "", c.backfillPending || c.newest != ""
		}
		switch {
		case end.up:
			refused = 0
		case end.refused && refused < maxRefused:
			refused++
		default:
			return &chat.SendError{Kind: chat.Temporary, Err: end}
		}
		r.log.DebugContext(ctx, "connection to the gateway ended", slog.Any("reason", end.reason), slog.Bool("session_lost", end.forget))
		if end.refused || time.Since(began) < shortLived {
			// https://docs.discord.com/developers/events/gateway#resuming asks for 1 to 5 seconds.
			if err := receiving.Sleep(ctx, time.Second+time.Duration(rand.Float64()*float64(2*time.Second))); err != nil {
				return err
			}
		}
	}
}

// connect handles what one connection brings, until it ends.
func (r *reception) connect(ctx context.Context) error {
	r.heart.Beat()
	if err := r.learnSelf(ctx); err != nil {
		return receiveError(err)
	}
	c := r.session.now
	if c.backfillPending && !r.gap.open() {
		c.session = "" // only a new session tells which channels have new messages
	}
	address := c.address
	if c.session == "" || address == "" {
		var err error
		if address, err = r.gateway(ctx, c.session == ""); err != nil {
			return err
		}
	}
	l, err := r.open(ctx, address, func(f *discordgo.Event) { r.acknowledgeEarly(ctx, f) })
	if err != nil {
		r.session.now.address = "" // elsewhere next time
		return &connError{reason: err}
	}
	defer l.close()
	r.connected = time.Now()
	r.gap.held, r.seq, r.replays = nil, c.seq, c.session != "" // held messages are delivered again
	if c.session == "" {
		err = l.identify(ctx, r.token, r.content)
	} else {
		err = l.resume(ctx, r.token, c)
	}
	if err != nil {
		return &connError{reason: err}
	}
	err = r.follow(ctx, l)
	if end, ok := errors.AsType[*connError](err); ok && c.session != "" {
		end.forget = r.session.resumed(end.up || end.refused) || end.forget
	}
	return err
}

// follow handles events until the connection ends.
func (r *reception) follow(ctx context.Context, l *conn) error {
	up := false
	silence := time.NewTimer(greetTime) //nolint:forbidigo // receiving must see that a connection is dead.
	defer silence.Stop()
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog wants to know that the loop turns.
	defer beat.Stop()
	for {
		r.heart.Beat()
		select {
		case <-beat.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-silence.C:
			return &connError{reason: errNoSession}
		case f := <-r.gap.steps:
			if err := r.catchUp(ctx, f); err != nil {
				return err
			}
		case f, ok := <-l.events:
			if !ok {
				return ended(l.err, up)
			}
			if f.Type == "READY" || f.Type == "RESUMED" {
				up, r.replays = true, false
				silence.Stop()
			}
			if err := r.dispatch(ctx, f); err != nil {
				return err
			}
			r.seq = max(r.seq, f.Sequence)
			if !r.gap.open() {
				r.session.now.seq = r.seq
			}
			if !up {
				silence.Reset(greetTime) // what was missed comes first
			}
		}
	}
}

// dispatch handles an event. One that can't be decoded is logged and counts as handled.
func (r *reception) dispatch(ctx context.Context, f *discordgo.Event) error {
	skip := func(err error) error {
		r.log.WarnContext(ctx, "event skipped", slog.String("type", f.Type), slog.Any("error", err))
		return nil
	}
	switch f.Type {
	case "READY":
		hi, err := receiving.Decode[ready](f.RawData)
		if err != nil {
			return &connError{reason: fmt.Errorf("the greeting can't be read: %w", err), forget: true}
		}
		r.begin(ctx, hi, f.Sequence)
	case "RESUMED":
		r.greeting.Log(ctx, r.log, slog.Bool("resumed", true))
	case "GUILD_CREATE":
		g, err := receiving.Decode[guild](f.RawData)
		if err != nil {
			return skip(err)
		}
		r.join(g)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		c, err := receiving.Decode[channelInfo](f.RawData)
		if err != nil {
			return skip(err)
		}
		r.places.add(*c)
	case "MESSAGE_CREATE":
		m, err := receiving.Decode[incoming](f.RawData)
		if err != nil {
			return skip(err)
		}
		m.missed, m.seq = r.replays, f.Sequence
		if r.gap.keeps(m) {
			return r.hold(m)
		}
		return r.take(ctx, m)
	case "MESSAGE_UPDATE":
		m, err := receiving.Decode[incoming](f.RawData)
		if err != nil {
			return skip(err)
		}
		m.seq = f.Sequence
		return r.takeEdit(ctx, m)
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		gone, err := receiving.Decode[removed](f.RawData)
		if err != nil {
			return skip(err)
		}
		return r.takeDeletion(ctx, gone, f.Sequence)
	case "INTERACTION_CREATE":
		i, err := receiving.Decode[interacted](f.RawData)
		if err != nil {
			return skip(err)
		}
		return r.interact(ctx, i, f.Sequence)
	}
	return nil
}

// begin notes that a session has begun, and starts the backfill of what was missed before it.
func (r *reception) begin(ctx context.Context, hi *ready, seq int64) {
	r.mu.Lock()
	r.self, r.name = hi.User.ID, hi.User.Name
	if isSnowflake(hi.App.ID) {
		r.app = hi.App.ID
	}
	r.mu.Unlock()
	r.greeting.Log(ctx, r.log, slog.String("username", hi.User.Name), slog.Int("guilds", len(hi.Guilds)))
	r.seq = seq
	c := &r.session.now
	c.session, c.address, c.seq = hi.Session, hi.Address, seq
	c.backfillPending = c.newest != ""
	if now := snowflake(time.Now()); !c.backfillPending && now > 0 {
		c.newest = strconv.FormatInt(now, 10)
	}
	if c.backfillPending {
		r.startBackfill(ctx, hi)
	}
}

// join notes a guild's channels and roles.
func (r *reception) join(g *guild) {
	self := r.identity()
	r.places.join(g, self)
	if r.gap.open() {
		r.gap.addGuild(g)
	}
}

// cursorAt returns the cursor to store with the message or interaction of an event.
func (r *reception) cursorAt(id string, seq int64) cursor {
	c := r.session.now
	if !r.gap.open() {
		c.newest, c.seq = newer(c.newest, id), max(c.seq, seq)
	}
	return c
}

// noteHandled notes that a message or interaction was handled.
func (r *reception) noteHandled(id string, at cursor) {
	r.gap.newest = newer(r.gap.newest, id)
	r.session.now.newest = at.newest
}

// take hands a message on if it is for the bot.
func (r *reception) take(ctx context.Context, m *incoming) error {
	r.heart.Beat()
	at := r.cursorAt(m.ID, m.seq)
	if r.session.past.Has(m.ID) {
		return nil
	}
	deciding, cancel := context.WithTimeout(ctx, answerTime)
	in, found, err := r.decodeMessage(deciding, m)
	cancel()
	switch {
	case err != nil && receiving.Passing(err) && r.session.stuck(m.ID) > maxStuck:
		r.log.ErrorContext(ctx, "message skipped: its channel can't be looked up",
			slog.String("channel", m.Channel), slog.Any("error", err))
	case err != nil:
		if _, ok := errors.AsType[*chat.SendError](err); ok {
			return receiveError(err) // where it was written can't be learned now
		}
		r.log.WarnContext(ctx, "message skipped", slog.Any("error", err))
	case found:
		in.Resume = at.String()
		if err := r.accept(ctx, in); err != nil {
			return fmt.Errorf("accept message %s: %w", m.ID, err)
		}
		r.session.past.Put(m.ID, struct{}{})
	}
	r.noteHandled(m.ID, at)
	return nil
}
