package discord

import (
	"context"
	"fmt"
	"log/slog"

	"telex/internal/chat"
)

// handleEdit delivers the new text of an edited message. Discord also sends the event for an edited message after other
// changes, such as added embeds. If a message was edited before embeds were added, the event for the embeds repeats the
// time of the earlier edit. Because of repeated edit times, handleEdit delivers only the first of the events that have
// the same edit time. https://docs.discord.com/developers/events/gateway-events#message-update
func (r *receiver) handleEdit(ctx context.Context, m *incoming) error {
	if m.Edited == nil || r.backfill.mustHold(m) { // if a backfill runs, it will read the new text
		return nil
	}
	once := fmt.Sprint(m.ID, " ", m.Edited.UnixMicro())
	if r.session.accepted.Has(once) {
		return nil
	}
	decodeCtx, cancel := context.WithTimeout(ctx, callTimeout)
	in, found, err := r.decodeMessage(decodeCtx, m)
	cancel()
	if err != nil { // skip the edit, because retrying would delay later messages
		r.log.WarnContext(ctx, "edit skipped", slog.Any("error", err))
		return nil
	}
	if !found {
		return nil
	}
	in.Kind, in.Command, in.Args, in.At = chat.Edited, "", "", *m.Edited
	if err := r.deliverChange(ctx, in, m.seq); err != nil {
		return err
	}
	r.session.accepted.Put(once, struct{}{})
	return nil
}

// handleDeletion reports deleted messages. Discord's event does not say who wrote or who deleted a message.
// https://docs.discord.com/developers/events/gateway-events#message-delete
func (r *receiver) handleDeletion(ctx context.Context, gone *deletion, seq int64) error {
	ids := gone.IDs
	if gone.ID != "" {
		ids = append(ids, gone.ID)
	}
	for _, id := range ids {
		if !isSnowflake(id) || !isSnowflake(gone.Channel) {
			continue
		}
		deciding, cancel := context.WithTimeout(ctx, callTimeout)
		to, ok, err := r.targetOf(deciding, &incoming{ID: id, Channel: gone.Channel, Guild: gone.Guild})
		cancel()
		if err != nil {
			r.log.WarnContext(ctx, "deletion skipped", slog.Any("error", err))
			return nil
		}
		if !ok {
			return nil
		}
		if err := r.deliverChange(ctx, chat.Inbound{To: to, ID: chat.MessageID(id), Kind: chat.Deleted}, seq); err != nil {
			return err
		}
	}
	return nil
}

// deliverChange delivers an edit or a deletion of a message that the gateway may have accepted.
func (r *receiver) deliverChange(ctx context.Context, in chat.Inbound, seq int64) error {
	at := r.cursorAt("", seq)
	in.Resume, in.Missed = at.String(), r.replaying
	if err := r.accept(ctx, in); err != nil {
		return fmt.Errorf("accept a change of message %s: %w", in.ID, err)
	}
	return nil
}
