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
	// maxAnswered limits the queue of answered commands whose "thinking…" must still be removed.
	maxAnswered = 256
	// maxInteractions limits the remembered interactions. maxInteractions is greater than the expected number of
	// interactions that are in progress at the same time.
	maxInteractions = 1000
	// concludeTimeout limits one call of conclude.
	concludeTimeout = 30 * time.Second
)

// errUseChannel means that the bot can't answer a command through the command's interaction, and must send the answer
// to the channel.
var errUseChannel = errors.New("the interaction can't be used")

// respond replaces a command's "thinking…" with an answer. If the answer must be sent to the channel instead, respond
// changes nothing and fails with errUseChannel. The answer must be sent to the channel if the interaction's token is
// invalid or the command was never acknowledged. The answer must also be sent to the channel if the message that showed
// "thinking…" was deleted, or if a message with another key has already replaced "thinking…".
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

// followUp sends a message through a command's interaction. The bot uses followUp for messages that only the asker may
// see, and in channels where the bot may not write. A follow-up message has no idempotency key. If the gateway repeats
// the call because its outcome is unknown, the message may therefore appear twice.
// https://docs.discord.com/developers/interactions/receiving-and-responding#create-followup-message
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

// sendEphemeral sends a message that only the asker of a command sees. After the interaction has ended, sendEphemeral
// fails with Rejected, because other people would see a message in the channel.
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

// acknowledge sends the first response to an interaction. acknowledge makes up to callbackTries attempts until
// Discord's deadline. Several attempts are safe, because Discord accepts only one first response to each interaction.
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
	default: // the deadline has passed, probably because of an outage
		b.log.DebugContext(ctx, "interaction has expired", slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// Concluded implements gateway.Concluder. Concluded puts commands that still show "thinking…" into a queue. The workers
// of Run or StandBy remove "thinking…" from the commands in the queue.
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

// conclude removes "thinking…" if Discord still shows "thinking…" below the command.
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

// interactions remembers the interactions that are in progress. Forgetting an interaction does no harm: the message
// id contains what the bot needs for an answer, and Discord refuses calls for an interaction that has ended.
type interactions struct {
	mu    sync.Mutex
	known *receiving.Recent[*interaction]
}

type interaction struct {
	began   time.Time     // when the interaction began
	channel string        // the channel that shows "thinking…"; empty: unknown or none
	acked   chan struct{} // closed when Discord has received the acknowledgement, or when the bot makes no more attempts
	key     string        // idempotency key of the first message that tried to replace "thinking…"; empty: no message tried
	shown   bool          // an answer or a refusal has replaced "thinking…"
	dead    bool
	// adopted is when this process learned of the interaction, if another process acknowledges the interaction.
	// adopted is zero if this process acknowledges the interaction itself.
	adopted time.Time
}

// entry returns what this process knows of an interaction. If another process acknowledges the interaction, the channel
// acked is closed, because this process can't see when the other process has acknowledged the interaction. The caller
// of entry must hold mu.
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

// beganAt returns when an interaction began. beganAt reads the time from the interaction's id, which comes from
// Discord's clock. If the time in the id is in the future or more than a day ago, beganAt returns now. If beganAt
// returns now, the bot may believe for too long that the interaction's token is valid. Wrongly believing that a token
// is valid does no harm, because Discord refuses an expired token.
func beganAt(id string, now time.Time) time.Time {
	if at := snowflakeTime(id); at.Before(now) && now.Sub(at) < 24*time.Hour {
		return at
	}
	return now
}

// begin records that this process is acknowledging an interaction. The caller calls done when the acknowledgement has
// ended. If the bot acknowledges an interaction twice, Discord refuses the second acknowledgement. begin uses the
// current time as the start of the interaction, because Discord delivers interactions at once and this machine's clock
// may be wrong. After a lost connection, Discord may deliver an interaction late. The token of an interaction that was
// delivered late expires earlier than the bot assumes, and Discord then refuses the token.
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

// adopt records which channel shows "thinking…" for an interaction that another process acknowledges.
func (s *interactions) adopt(id, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known.Has(id) {
		s.entry(id).channel = channel
	}
}

// waitAcknowledged waits as long as this process is acknowledging the command.
func (s *interactions) waitAcknowledged(ctx context.Context, c command) error {
	select {
	case <-s.get(c).acked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// get returns what this process knows of a command's interaction.
func (s *interactions) get(c command) interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.entry(c.interaction)
}

// tokenValid reports whether the interaction's token is probably still valid. The caller passes tokenUseTime as
// lifetime for a call that must end before the token expires, and tokenLifetime for any other call.
func (i interaction) tokenValid(lifetime time.Duration) bool {
	return !i.dead && time.Since(i.began) < lifetime
}

// mayBeEarly reports whether a call with the interaction's token may have reached Discord before another process
// acknowledged the interaction. Until the acknowledgement, Discord responds to calls with the interaction's token as if
// the token were invalid. mayBeEarly returns true only if this process adopted the interaction less than
// callbackDeadline ago and the interaction began less than a minute ago. The minute is longer than callbackDeadline,
// because the clocks of Discord and of this machine may differ.
func (i interaction) mayBeEarly() bool {
	return !i.adopted.IsZero() && time.Since(i.adopted) < callbackDeadline && time.Since(i.began) < time.Minute
}

// showsThinking reports whether Discord may still show "thinking…" and the bot can still remove this text.
func (i interaction) showsThinking() bool { return !i.shown && i.tokenValid(tokenLifetime) }

// The method thinking reports whether a channel shows "thinking…" for any command.
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

// markDead records that the token of a command's interaction is invalid.
func (s *interactions) markDead(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(c.interaction).dead = true
}

// claim reports whether the message with the given idempotency key may replace a command's "thinking…". Only the first
// message that tries may replace "thinking…", because a second message would overwrite the first. The first message may
// try again while the token is valid, because its earlier attempt may have succeeded although no response arrived.
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

// markShown records that an answer or a refusal replaced "thinking…".
func (s *interactions) markShown(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(c.interaction).shown = true
}
