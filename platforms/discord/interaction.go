package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

const (
	// maxConcluded bounds the answered commands that wait for conclude.
	maxConcluded = 256
	// maxInteractions bounds the interactions that are remembered: more than are in progress at once.
	maxInteractions = 1000
	// concludeTime is how long conclude may take.
	concludeTime = 30 * time.Second
)

// errOwnWay says that a command can't be answered through its interaction.
var errOwnWay = errors.New("the interaction can't be used")

// respond replaces "thinking…" by an answer. It fails with errOwnWay, having changed nothing, if the message must be sent
// through the channel instead: the token is dead, the command was never acknowledged, or its answer was deleted or is another
// message already.
func (b *Bot) respond(ctx context.Context, c command, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	const name = "editOwn"
	if err := b.interactions.acknowledged(ctx, c); err != nil {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", name, err)}
	}
	if !b.interactions.claim(c, m.Key) {
		return chat.Receipt{}, errOwnWay
	}
	r := request{name: name, verb: http.MethodPatch, path: ownPath(c, "@original"), body: encode(m), op: chat.OpSend, token: c.token}
	a, err := b.call(ctx, r)
	switch {
	case deadToken(err):
		b.interactions.markDead(c)
		return chat.Receipt{}, errOwnWay
	case codeOf(err) == discordgo.ErrCodeUnknownMessage:
		return chat.Receipt{}, errOwnWay
	case err != nil:
		return chat.Receipt{}, err
	}
	b.interactions.shown(c)
	c.alone = false
	return a.receipt(name, to, sent{by: c})
}

// followUp sends a part of the answer to a command that only the asker sees, or in a channel where the bot may not write by
// itself. It has no key: if its outcome is unknown and it is repeated, the message may stand twice.
// https://docs.discord.com/developers/interactions/receiving-and-responding#create-followup-message
func (b *Bot) followUp(ctx context.Context, c command, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	body := encode(m)
	if c.alone {
		body.Flags |= discordgo.MessageFlagsEphemeral
		c.alone = false
	}
	if f != nil {
		body.Attachments = []upload{{Filename: f.Name}}
	}
	r := request{
		name: "followUp", verb: http.MethodPost, path: "/webhooks/" + c.app + "/" + url.PathEscape(c.token) + "?wait=true",
		body: body, file: f, op: chat.OpSend, token: c.token,
	}
	a, err := b.call(ctx, r)
	if err != nil {
		return chat.Receipt{}, err
	}
	return a.receipt(r.name, to, sent{by: c})
}

// sendAlone sends a message that only the asker of a command sees. When the interaction is over nothing can do so, and others
// must not see it.
func (b *Bot) sendAlone(ctx context.Context, c command, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	over := &chat.SendError{Kind: chat.Rejected, Err: errors.New("only the asker may see the answer, and the interaction is over")}
	if !b.interactions.get(c).alive(tokenLife) {
		return chat.Receipt{}, over
	}
	r, err := b.followUp(ctx, c, to, m, f)
	if deadToken(err) {
		b.interactions.markDead(c)
		return chat.Receipt{}, over
	}
	return r, err
}

// acknowledge answers an interaction for the first time. A failed try is repeated until the platform's deadline: the platform
// takes only one.
func (b *Bot) acknowledge(ctx context.Context, c command, body map[string]any) {
	ctx, cancel := context.WithTimeout(ctx, callbackTime)
	defer cancel()
	r := request{
		name: "callback", verb: http.MethodPost, path: "/interactions/" + c.interaction + "/" + url.PathEscape(c.token) + "/callback",
		body: body, token: c.token,
	}
	var err error
	_ = receiving.Retry(ctx, callbackTries, callbackPause, func() error {
		trying, stop := context.WithTimeout(ctx, callbackTry)
		defer stop()
		_, err = b.call(trying, r)
		return err
	})
	switch {
	case err == nil, codeOf(err) == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged: // by us, before it came again
	case ctx.Err() != nil || chat.AsSendError(err).Kind != chat.Gone:
		b.log.WarnContext(ctx, "interaction was not acknowledged", slog.String("interaction", c.interaction), slog.Any("error", err))
	default: // it came too late, after an outage
		b.log.DebugContext(ctx, "interaction is over", slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// Concluded implements gateway.Concluder: it has "thinking…" removed from commands without an answer. Run does the work.
func (b *Bot) Concluded(_ chat.Target, messages []chat.MessageID, _ bool) {
	for _, id := range messages {
		c, ok := parseCommand(id)
		if !ok || !b.interactions.get(c).waits() {
			continue
		}
		select {
		case b.concluded <- c:
		default:
			b.log.Debug("\"thinking…\" of a command may stay: too many commands were answered at once")
		}
	}
}

// conclude removes "thinking…" from a command that still shows it.
func (b *Bot) conclude(ctx context.Context, c command) {
	ctx, cancel := context.WithTimeout(ctx, concludeTime)
	defer cancel()
	if err := b.interactions.acknowledged(ctx, c); err != nil || !b.interactions.get(c).waits() {
		return
	}
	r := request{name: "getOwn", verb: http.MethodGet, path: ownPath(c, "@original"), token: c.token}
	a, err := b.call(ctx, r)
	var m struct {
		Flags int `json:"flags"`
	}
	if err == nil {
		err = json.Unmarshal(a.Body, &m)
	}
	if err == nil && m.Flags&int(discordgo.MessageFlagsLoading) != 0 {
		r.name, r.verb = "deleteOwn", http.MethodDelete
		_, err = b.call(ctx, r)
	}
	if err != nil {
		b.log.DebugContext(ctx, "\"thinking…\" of a command was not removed",
			slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// interactions remembers interactions while they last. It may forget any: ids hold what is needed, and the platform says what
// is over.
type interactions struct {
	mu    sync.Mutex
	known *receiving.Recent[*interaction]
}

type interaction struct {
	at    time.Time     // when it began
	place string        // the channel that shows "thinking…"; empty: not known, or none does
	acked chan struct{} // closed when the platform has answered our acknowledgement, or never will
	key   string        // of the message that is to replace "thinking…"; empty: none has tried
	shown bool          // the message with the key has replaced it
	dead  bool
}

// of returns what is known of an interaction. For one of an earlier process, acked is closed: its acknowledgement is over.
func (s *interactions) of(id string) *interaction {
	if i, ok := s.known.Get(id); ok {
		return i
	}
	acked := make(chan struct{})
	close(acked)
	i := &interaction{at: began(id, time.Now()), acked: acked}
	s.known.Put(id, i)
	return i
}

// began returns when an interaction began, by its id, which has the time of the platform's clock. If that is far from our
// clock, it returns now; the platform then says when the interaction is over.
func began(id string, now time.Time) time.Time {
	if at := moment(id); at.Before(now) && now.Sub(at) < 24*time.Hour {
		return at
	}
	return now
}

// begin notes that an interaction is being acknowledged, until done is called. Acknowledging one a second time is harmless.
// Interactions are delivered at once, so it begins now, however wrong our clock is. If it was delivered late, after a lost
// connection, its token ends a little earlier than assumed, and the platform then says so.
func (s *interactions) begin(id, place string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.known.Has(id)
	i := s.of(id)
	if !again {
		i.at = time.Now()
	}
	acked := make(chan struct{})
	i.acked, i.place = acked, place
	return sync.OnceFunc(func() { close(acked) })
}

// acknowledged waits until no acknowledgement of the command is in progress.
func (s *interactions) acknowledged(ctx context.Context, c command) error {
	select {
	case <-s.get(c).acked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// get returns what is known of a command's interaction.
func (s *interactions) get(c command) interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.of(c.interaction)
}

// alive reports whether the token may be used, as far as is known. use is its lifetime: tokenLife, or tokenUse for a call that
// could meet its end.
func (i interaction) alive(use time.Duration) bool { return !i.dead && time.Since(i.at) < use }

// waits reports whether "thinking…" may still be shown, and can be removed.
func (i interaction) waits() bool { return !i.shown && i.alive(tokenLife) }

// thinking reports whether a channel shows "thinking…" of a command.
func (s *interactions) thinking(place string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.known.Values() {
		if i.place == place && i.waits() {
			return true
		}
	}
	return false
}

// markDead notes that a token is dead.
func (s *interactions) markDead(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(c.interaction).dead = true
}

// claim reports whether the message with a key may replace "thinking…". Only the first message may: another would overwrite it.
// A message that tried before may try as long as the token can live, since it may stand already.
func (s *interactions) claim(c command, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.of(c.interaction)
	use := tokenUse
	if i.key != "" {
		use = tokenLife
	}
	if !i.alive(use) {
		return false
	}
	if i.key == "" {
		i.key = key
	}
	return i.key == key
}

// shown notes that an answer replaced "thinking…".
func (s *interactions) shown(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(c.interaction).shown = true
}
