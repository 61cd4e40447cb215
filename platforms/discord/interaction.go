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
	// maxAnswered limits the answered commands that wait for conclude.
	maxAnswered = 256
	// maxInteractions limits the remembered interactions. It exceeds the number that are in progress at once.
	maxInteractions = 1000
	// concludeTimeout limits one call of conclude.
	concludeTimeout = 30 * time.Second
)

// errUseChannel means that a command can't be answered through its interaction.
var errUseChannel = errors.New("the interaction can't be used")

// respond replaces "thinking…" with an answer. If the message must go through the channel instead, respond changes
// nothing and fails with errUseChannel. That is so if the token is invalid, if the command was never acknowledged, or
// if its response was deleted or already shows another message.
func (b *Bot) respond(ctx context.Context, c command, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	const name = "editOwn"
	if err := b.interactions.waitAcknowledged(ctx, c); err != nil {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", name, err)}
	}
	if !b.interactions.claim(c, m.Key) {
		return chat.Receipt{}, errUseChannel
	}
	r := request{name: name, method: http.MethodPatch, path: interactionPath(c, "@original"), body: encode(m), op: chat.OpSend, token: c.token}
	a, err := b.call(ctx, r)
	switch {
	case isDeadToken(err) && b.interactions.get(c).mayBeEarly():
		return chat.Receipt{}, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: another process may still acknowledge the command: %w", name, err)}
	case isDeadToken(err):
		b.interactions.markDead(c)
		return chat.Receipt{}, errUseChannel
	case codeOf(err) == discordgo.ErrCodeUnknownMessage:
		return chat.Receipt{}, errUseChannel
	case err != nil:
		return chat.Receipt{}, err
	}
	b.interactions.markShown(c)
	c.ephemeral = false
	return a.receipt(name, to, sentID{command: c})
}

// followUp sends a part of the answer to a command that only the asker sees, or in a channel where the bot may not
// write. Follow-ups have no idempotency key. If a follow-up with an unknown outcome is repeated, the message may
// appear twice. https://docs.discord.com/developers/interactions/receiving-and-responding#create-followup-message
func (b *Bot) followUp(ctx context.Context, c command, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	body := encode(m)
	if c.ephemeral {
		body.Flags |= discordgo.MessageFlagsEphemeral
		c.ephemeral = false
	}
	if f != nil {
		body.Attachments = []upload{{Filename: f.Name}}
	}
	r := request{
		name: "followUp", method: http.MethodPost, path: "/webhooks/" + c.app + "/" + url.PathEscape(c.token) + "?wait=true",
		body: body, file: f, op: chat.OpSend, token: c.token,
	}
	a, err := b.call(ctx, r)
	if err != nil {
		return chat.Receipt{}, err
	}
	return a.receipt(r.name, to, sentID{command: c})
}

// sendEphemeral sends a message that only the asker of a command sees. After the interaction has ended, it fails with
// Rejected, because other people must not see the message.
func (b *Bot) sendEphemeral(ctx context.Context, c command, to chat.Target, m chat.Outgoing, f *chat.File) (chat.Receipt, error) {
	over := &chat.SendError{Kind: chat.Rejected, Err: errors.New("only the asker may see the answer, and the interaction is over")}
	if !b.interactions.get(c).tokenValid(tokenLifetime) {
		return chat.Receipt{}, over
	}
	r, err := b.followUp(ctx, c, to, m, f)
	if isDeadToken(err) {
		b.interactions.markDead(c)
		return chat.Receipt{}, over
	}
	return r, err
}

// acknowledge sends the first response to an interaction. It retries until the platform's deadline. Repeating is safe,
// because the platform accepts only one response.
func (b *Bot) acknowledge(ctx context.Context, c command, body map[string]any) {
	ctx, cancel := context.WithTimeout(ctx, callbackDeadline)
	defer cancel()
	r := request{
		name: "callback", method: http.MethodPost, path: "/interactions/" + c.interaction + "/" + url.PathEscape(c.token) + "/callback",
		body: body, token: c.token,
	}
	var err error
	_ = receiving.Retry(ctx, callbackTries, callbackPause, func() error {
		trying, stop := context.WithTimeout(ctx, callbackTimeout)
		defer stop()
		_, err = b.call(trying, r)
		return err
	})
	switch {
	case err == nil, codeOf(err) == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged: // an earlier attempt succeeded
	case ctx.Err() != nil || chat.AsSendError(err).Kind != chat.Gone:
		b.log.WarnContext(ctx, "interaction was not acknowledged", slog.String("interaction", c.interaction), slog.Any("error", err))
	default: // the deadline has passed, after an outage
		b.log.DebugContext(ctx, "interaction is over", slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// Concluded implements gateway.Concluder. It queues the removal of "thinking…" from commands without an answer. Run
// does the work.
func (b *Bot) Concluded(_ chat.Target, messages []chat.MessageID, _ bool) {
	for _, id := range messages {
		c, ok := parseCommand(id)
		if !ok || !b.interactions.get(c).showsThinking() {
			continue
		}
		select {
		case b.answered <- c:
		default:
			b.log.Debug("\"thinking…\" of a command may stay: too many commands were answered at once")
		}
	}
}

// conclude removes "thinking…" from a command that still shows it.
func (b *Bot) conclude(ctx context.Context, c command) {
	ctx, cancel := context.WithTimeout(ctx, concludeTimeout)
	defer cancel()
	if err := b.interactions.waitAcknowledged(ctx, c); err != nil || !b.interactions.get(c).showsThinking() {
		return
	}
	r := request{name: "getOwn", method: http.MethodGet, path: interactionPath(c, "@original"), token: c.token}
	a, err := b.call(ctx, r)
	if isDeadToken(err) && b.interactions.get(c).mayBeEarly() && receiving.Sleep(ctx, callbackDeadline) == nil {
		a, err = b.call(ctx, r)
	}
	var m struct {
		Flags int `json:"flags"`
	}
	if err == nil {
		err = json.Unmarshal(a.Body, &m)
	}
	if err == nil && m.Flags&int(discordgo.MessageFlagsLoading) != 0 {
		r.name, r.method = "deleteOwn", http.MethodDelete
		_, err = b.call(ctx, r)
	}
	if err != nil {
		b.log.DebugContext(ctx, "\"thinking…\" of a command was not removed",
			slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// interactions remembers interactions that are in progress. It may forget any of them: a message id contains what is
// needed to answer, and the platform reports when an interaction has ended.
type interactions struct {
	mu    sync.Mutex
	known *receiving.Recent[*interaction]
}

type interaction struct {
	began   time.Time     // when the interaction began
	channel string        // the channel that shows "thinking…"; empty: unknown or none
	acked   chan struct{} // closed when the platform has answered the acknowledgement, or the attempts have ended
	key     string        // key of the message that replaces "thinking…"; empty: no message has tried
	shown   bool          // the message with the key has replaced "thinking…"
	dead    bool
	// adopted is when this process learned of an interaction that another one acknowledges; zero: this process
	// acknowledges it itself.
	adopted time.Time
}

// entry returns what is known of an interaction. If it belongs to another process, acked is closed, because this
// process can't see when its acknowledgement ends. The caller holds mu.
func (s *interactions) entry(id string) *interaction {
	if i, ok := s.known.Get(id); ok {
		return i
	}
	acked := make(chan struct{})
	close(acked)
	i := &interaction{began: beganAt(id, time.Now()), acked: acked, adopted: time.Now()}
	s.known.Put(id, i)
	return i
}

// beganAt returns when an interaction began, from its id, which uses the platform's clock. If that time lies in the
// future or more than a day in the past, it returns now. The platform then reports when the interaction has ended.
func beganAt(id string, now time.Time) time.Time {
	if at := snowflakeTime(id); at.Before(now) && now.Sub(at) < 24*time.Hour {
		return at
	}
	return now
}

// begin records that an interaction is being acknowledged, until done is called. Acknowledging twice does no harm.
// Discord delivers interactions at once, so the current time counts as the start, even if this machine's clock is
// wrong. If an interaction was delivered late, after a lost connection, its token expires earlier than assumed. The
// platform then refuses the token.
func (s *interactions) begin(id, place string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.known.Has(id)
	i := s.entry(id)
	if !again {
		i.began = time.Now()
	}
	acked := make(chan struct{})
	i.acked, i.channel, i.adopted = acked, place, time.Time{}
	return sync.OnceFunc(func() { close(acked) })
}

// adopt notes which channel shows "thinking…" of an interaction that another process acknowledges.
func (s *interactions) adopt(id, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known.Has(id) {
		s.entry(id).channel = channel
	}
}

// waitAcknowledged waits until no acknowledgement of the command is in progress.
func (s *interactions) waitAcknowledged(ctx context.Context, c command) error {
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
	return *s.entry(c.interaction)
}

// tokenValid reports whether the token is probably valid. lifetime is tokenLifetime, or tokenUseTime for a call that
// must not be under way when the token expires.
func (i interaction) tokenValid(lifetime time.Duration) bool {
	return !i.dead && time.Since(i.began) < lifetime
}

// mayBeEarly reports whether a call with the token may have reached Discord before another process's acknowledgement.
// Discord then answers as if the token were invalid. The clocks of Discord and of this machine may differ a little.
func (i interaction) mayBeEarly() bool {
	return !i.adopted.IsZero() && time.Since(i.adopted) < callbackDeadline && time.Since(i.began) < time.Minute
}

// showsThinking reports whether "thinking…" may still be shown and can be removed.
func (i interaction) showsThinking() bool { return !i.shown && i.tokenValid(tokenLifetime) }

// thinking reports whether a channel shows "thinking…" for a command.
func (s *interactions) thinking(place string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.known.Values() {
		if i.channel == place && i.showsThinking() {
			return true
		}
	}
	return false
}

// markDead records that a token is invalid.
func (s *interactions) markDead(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(c.interaction).dead = true
}

// claim reports whether the message with a key may replace "thinking…". Only the first message that tries may do so,
// because another one would overwrite it. The first message may try again while the token is valid, because an
// earlier attempt may have succeeded.
func (s *interactions) claim(c command, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.entry(c.interaction)
	use := tokenUseTime
	if i.key != "" {
		use = tokenLifetime
	}
	if !i.tokenValid(use) {
		return false
	}
	if i.key == "" {
		i.key = key
	}
	return i.key == key
}

// markShown records that an answer replaced "thinking…".
func (s *interactions) markShown(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(c.interaction).shown = true
}
