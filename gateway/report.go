package gateway

import (
	"errors"
	"log/slog"
	"time"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// The method report logs how a turn ended. If the turn failed, the method report also logs the reason.
func (a *actor) report(t *turn) {
	if !t.stored.Load() {
		return // the turn did not begin
	}
	var used chat.Usage // includes estimates, as the stored usage does
	for _, u := range history.Usage(t.result.UsageByModel) {
		used.Prompt, used.Completion = used.Prompt+u.Prompt, used.Completion+u.Completion
	}
	log := a.log.With(
		slog.String("turn", t.id), slog.String("stop", string(t.result.Stop)), slog.String("model", t.result.Model),
		slog.Int("prompt_tokens", used.Prompt), slog.Int("completion_tokens", used.Completion),
		slog.Duration("took", t.result.Elapsed.Round(time.Millisecond)), slog.Int("messages", len(t.outcome.Refs)),
	)
	if t.outcome.Doubt {
		log.Warn("a message of unknown outcome may stand beside the reply")
	}
	if t.broken != nil {
		log.Error("ending was not stored", slog.Any("error", t.broken))
	}
	switch {
	case !t.outcome.Delivered && a.g.deliveries.Err() != nil:
		log.Warn("reply is kept for the next start: the platform did not accept it in time", slog.Any("error", errors.Join(t.outcome.Err, t.err)))
	case t.outcome.Unfinished && forbidden(t.outcome.Err):
		log.Info("reply was not delivered: the bot may not write there; "+laterTries, slog.Any("error", t.outcome.Err))
	case t.outcome.Unfinished && !t.outcome.Delivered:
		log.Error("reply was not delivered; "+laterTries, slog.Any("error", errors.Join(t.outcome.Err, t.err)))
	case !t.outcome.Delivered && forbidden(t.outcome.Err):
		log.Info("reply was not delivered: the bot may not write there", slog.Any("error", t.outcome.Err))
	case !t.outcome.Delivered:
		log.Error("reply was not delivered", slog.Any("error", errors.Join(t.outcome.Err, t.err)))
	case t.err != nil && t.result.Stop != agent.StopCancelled:
		log.Error("turn failed", slog.Any("error", t.err))
	default:
		log.Info("turn ended")
	}
}

// forbidden reports whether the platform refused a call because somebody removed or blocked the bot.
func forbidden(err error) bool {
	e, ok := errors.AsType[*chat.SendError](err)
	return ok && e.Kind == chat.Forbidden
}

// laterTries is the last part of the log message about a reply that could not be delivered yet.
const laterTries = "telex tries again at the next message of the chat and at the next start"
