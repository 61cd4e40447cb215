package discord

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

const (
	// maxCallbacks is how many interactions are acknowledged at the same time. When maxCallbacks interactions are being
	// acknowledged, further interactions wait for their turn, but at most for callbackDeadline.
	maxCallbacks = 512
	// concludeWorkers is how many goroutines remove "thinking…" from answered commands.
	concludeWorkers = 64
)

// acknowledgeEarly acknowledges an interaction as soon as the connection has read it. acknowledgeEarly does not wait
// until earlier events are handled, because Discord waits only 3 seconds. If the person has access, Discord shows
// "thinking…" below the command until the bot answers. A person without access gets a refusal that nobody else sees.
func (r *receiver) acknowledgeEarly(ctx context.Context, f *discordgo.Event) {
	if f.Type != "INTERACTION_CREATE" {
		return
	}
	i, err := receiving.Decode[incomingInteraction](f.RawData)
	if err != nil {
		return // handleInteraction logs the error
	}
	in, c, found, err := r.decodeInteraction(i)
	if err != nil || !found || r.session.accepted.Has(i.ID) {
		return
	}
	refusal, channel := "", ""
	isCommand := in.Kind != chat.Button
	if isCommand && r.screen.Refusal != nil {
		refusal = r.screen.Refusal(in)
	}
	if isCommand && refusal == "" {
		channel = channelOf(in.To) // the channel that shows "thinking…"
	}
	done := r.interactions.begin(i.ID, channel) // begin must be called before any attempt to answer the interaction
	if refusal != "" {
		r.interactions.markShown(c)
	}
	select {
	case r.callbacks <- struct{}{}:
	case <-ctx.Done():
		done()
		return
	}
	r.workers.Go(func() {
		defer func() { <-r.callbacks }()
		defer done()
		// If Run ends, the acknowledgement must not be canceled. Without an acknowledgement, the person would see an error,
		// although Discord delivers the command again to the next Run.
		r.acknowledge(context.WithoutCancel(ctx), c, acknowledgement(i.Type, refusal, c.ephemeral))
	})
}

// acknowledgement returns the first response to an interaction. To the press of a button, the response shows nothing.
// To a person without access, the response shows a refusal that nobody else sees. To the command of a person with
// access, the response shows "thinking…". If alone is true, nobody except the person who used the command sees the
// messages of the answer.
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object
func acknowledgement(kind discordgo.InteractionType, refusal string, alone bool) map[string]any {
	switch {
	case kind == discordgo.InteractionMessageComponent:
		return map[string]any{"type": int(discordgo.InteractionResponseDeferredMessageUpdate)}
	case refusal != "":
		return map[string]any{"type": int(discordgo.InteractionResponseChannelMessageWithSource), "data": ephemeral(refusal)}
	}
	body := map[string]any{"type": int(discordgo.InteractionResponseDeferredChannelMessageWithSource)}
	if alone {
		body["data"] = map[string]any{"flags": int(discordgo.MessageFlagsEphemeral)} // Discord allows no other flag in this response
	}
	return body
}

// ephemeral returns a message that only the interaction's user sees.
func ephemeral(text string) message {
	m := encode(chat.Outgoing{Text: text})
	m.Flags |= discordgo.MessageFlagsEphemeral
	return m
}

// handleInteraction passes an interaction to the function accept of Run. acknowledgeEarly has already acknowledged the
// interaction.
func (r *receiver) handleInteraction(ctx context.Context, i *incomingInteraction, seq int64) error {
	in, c, found, err := r.decodeInteraction(i)
	switch {
	case err != nil:
		r.log.WarnContext(ctx, "interaction skipped", slog.Any("error", err))
		return nil
	case !found, r.session.accepted.Has(i.ID):
		return nil
	}
	at := r.cursorAt(i.ID, seq)
	in.Resume, in.Missed = at.String(), r.replaying
	if err := r.accept(ctx, in); err != nil {
		r.tellUnstored(ctx, c, in.Kind)
		return fmt.Errorf("accept interaction %s: %w", i.ID, err)
	}
	r.session.accepted.Put(i.ID, struct{}{})
	r.noteHandled(i.ID, at)
	return nil
}

// tellUnstored shows a fixed text which tells the person that the command or button press was not stored. If Discord
// delivers a command again, the bot's answer replaces the text of tellUnstored.
func (r *receiver) tellUnstored(ctx context.Context, c command, kind chat.InboundKind) {
	if r.screen.Unstored == nil || ctx.Err() != nil { // at an orderly stop, ctx ends, and Discord delivers the interaction again
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callbackDeadline)
	defer cancel()
	err := r.interactions.waitAcknowledged(ctx, c)
	if err == nil {
		call := request{name: "editOwn", method: http.MethodPatch, path: interactionPath(c, "@original"), body: encode(chat.Outgoing{Text: r.screen.Unstored()}), token: c.token}
		if kind == chat.Button { // the original response is the message with the button, which must not be replaced
			call.name, call.method, call.path, call.body = "followUp", http.MethodPost, "/webhooks/"+c.app+"/"+url.PathEscape(c.token), ephemeral(r.screen.Unstored())
		}
		_, err = r.call(ctx, call)
	}
	if err != nil {
		r.log.WarnContext(ctx, "interaction was not stored, and the person could not be told", slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// runConclusions removes "thinking…" from answered commands, one after the other, until ctx ends. Several goroutines
// run runConclusions at the same time.
func (b *Bot) runConclusions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-b.answered:
			b.conclude(ctx, c)
		}
	}
}
