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
	// maxCallbacks is how many interactions are acknowledged at the same time. More wait: each takes callbackTime at most.
	maxCallbacks = 512
	// concluders is how many answered commands are looked after at once.
	concluders = 64
)

// acknowledgeEarly acknowledges an interaction as soon as it is read, whatever other events are still being handled: Discord waits 3 s.
// A member's command shows "thinking…" until it is answered. A person without access gets a refusal that nobody else sees.
func (r *reception) acknowledgeEarly(ctx context.Context, f *discordgo.Event) {
	if f.Type != "INTERACTION_CREATE" {
		return
	}
	i, err := receiving.Decode[interacted](f.RawData)
	if err != nil {
		return // interact says so
	}
	in, c, found, err := r.decodeInteraction(i)
	if err != nil || !found || r.session.past.Has(i.ID) {
		return
	}
	refusal, place := "", ""
	asks := in.Kind != chat.Button
	if asks && r.screen.Refusal != nil {
		refusal = r.screen.Refusal(in)
	}
	if asks && refusal == "" {
		place = channelOf(in.To) // where "thinking…" stands
	}
	done := r.interactions.begin(i.ID, place) // before anybody can want to answer
	if refusal != "" {
		r.interactions.shown(c)
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
		// The end of Run does not cancel it: the person would see an error, although the command will be delivered again.
		r.acknowledge(context.WithoutCancel(ctx), c, acknowledgement(i.Type, refusal, c.alone))
	})
}

// acknowledgement is the first answer to an interaction: nothing visible for a button, a private line for a refused person,
// else "thinking…". alone says that only the person sees the answer; it holds for the whole of it.
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object
func acknowledgement(kind discordgo.InteractionType, refusal string, alone bool) map[string]any {
	switch {
	case kind == discordgo.InteractionMessageComponent:
		return map[string]any{"type": int(discordgo.InteractionResponseDeferredMessageUpdate)}
	case refusal != "":
		return map[string]any{"type": int(discordgo.InteractionResponseChannelMessageWithSource), "data": privately(refusal)}
	}
	body := map[string]any{"type": int(discordgo.InteractionResponseDeferredChannelMessageWithSource)}
	if alone {
		body["data"] = map[string]any{"flags": int(discordgo.MessageFlagsEphemeral)} // the only flag that may be set here
	}
	return body
}

// privately is a message that only the interaction's user sees.
func privately(text string) message {
	m := encode(chat.Outgoing{Text: text})
	m.Flags |= discordgo.MessageFlagsEphemeral
	return m
}

// interact hands an interaction on. acknowledgeEarly has acknowledged it.
func (r *reception) interact(ctx context.Context, i *interacted, seq int64) error {
	in, c, found, err := r.decodeInteraction(i)
	switch {
	case err != nil:
		r.log.WarnContext(ctx, "interaction skipped", slog.Any("error", err))
		return nil
	case !found, r.session.past.Has(i.ID):
		return nil
	}
	at := r.cursorAt(i.ID, seq)
	in.Resume, in.Missed = at.String(), r.replays
	if err := r.accept(ctx, in); err != nil {
		r.tellUnstored(ctx, c, in.Kind)
		return fmt.Errorf("accept interaction %s: %w", i.ID, err)
	}
	r.session.past.Put(i.ID, struct{}{})
	r.noteHandled(i.ID, at)
	return nil
}

// tellUnstored tells a person that a command or press was not stored. The platform may deliver it again; the answer then
// replaces this line.
func (r *reception) tellUnstored(ctx context.Context, c command, kind chat.InboundKind) {
	if r.screen.Unstored == nil || ctx.Err() != nil { // who stops in order takes it up again
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callbackTime)
	defer cancel()
	err := r.interactions.acknowledged(ctx, c)
	if err == nil {
		own := request{name: "editOwn", verb: http.MethodPatch, path: ownPath(c, "@original"), body: encode(chat.Outgoing{Text: r.screen.Unstored()}), token: c.token}
		if kind == chat.Button { // its message is the question
			own.name, own.verb, own.path, own.body = "followUp", http.MethodPost, "/webhooks/"+c.app+"/"+url.PathEscape(c.token), privately(r.screen.Unstored())
		}
		_, err = r.call(ctx, own)
	}
	if err != nil {
		r.log.WarnContext(ctx, "interaction was not stored, and the person could not be told", slog.String("interaction", c.interaction), slog.Any("error", err))
	}
}

// concludeAll looks after the commands that were answered, one after the other. Several do so at once.
func (r *reception) concludeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-r.concluded:
			r.conclude(ctx, c)
		}
	}
}
