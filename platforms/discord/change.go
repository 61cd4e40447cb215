package discord

import (
	"context"
	"fmt"
	"log/slog"

	"telex/internal/chat"
)

// takeEdit hands on the new text of a message. Discord tells of other changes too, such as embeds that were found; a message
// that was edited before looks the same then, so that each edit is handed on once.
// https://docs.discord.com/developers/events/gateway-events#message-update
func (r *reception) takeEdit(ctx context.Context, m *incoming) error {
	if m.Edited == nil || r.gap.keeps(m) { // a backfill reads the newest text
		return nil
	}
	once := fmt.Sprint(m.ID, " ", m.Edited.UnixMicro())
	if r.session.past.Has(once) {
		return nil
	}
	deciding, cancel := context.WithTimeout(ctx, answerTime)
	in, found, err := r.decodeMessage(deciding, m)
	cancel()
	if err != nil { // what an edit is worth does not justify waiting
		r.log.WarnContext(ctx, "edit skipped", slog.Any("error", err))
		return nil
	}
	if !found {
		return nil
	}
	in.Kind, in.Command, in.Args, in.At = chat.Edited, "", "", *m.Edited
	if err := r.handOn(ctx, in, m.seq); err != nil {
		return err
	}
	r.session.past.Put(once, struct{}{})
	return nil
}

// takeDeletion hands on that messages were deleted. Nobody is told who wrote them, or who deleted them.
// https://docs.discord.com/developers/events/gateway-events#message-delete
func (r *reception) takeDeletion(ctx context.Context, gone *removed, seq int64) error {
	ids := gone.IDs
	if gone.ID != "" {
		ids = append(ids, gone.ID)
	}
	for _, id := range ids {
		if !isSnowflake(id) || !isSnowflake(gone.Channel) {
			continue
		}
		deciding, cancel := context.WithTimeout(ctx, answerTime)
		to, ok, err := r.where(deciding, &incoming{ID: id, Channel: gone.Channel, Guild: gone.Guild})
		cancel()
		if err != nil {
			r.log.WarnContext(ctx, "deletion skipped", slog.Any("error", err))
			return nil
		}
		if !ok {
			return nil
		}
		if err := r.handOn(ctx, chat.Inbound{To: to, ID: chat.MessageID(id), Kind: chat.Deleted}, seq); err != nil {
			return err
		}
	}
	return nil
}

// handOn hands on a change of a message that may have been accepted.
func (r *reception) handOn(ctx context.Context, in chat.Inbound, seq int64) error {
	at := r.cursorAt("", seq)
	in.Resume, in.Missed = at.String(), r.replays
	if err := r.accept(ctx, in); err != nil {
		return fmt.Errorf("accept a change of message %s: %w", in.ID, err)
	}
	return nil
}
