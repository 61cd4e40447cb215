package gateway

import (
	"context"
	"log/slog"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// keepUsage stores the turn's usage up to now, so that a later attempt to run the turn, or a later process that ends the
// turn, counts this usage. keepUsage stores even a usage of zero, because the next attempt estimates any usage that is
// not stored.
func (a *actor) keepUsage(t *turn) { a.storeUsage(t, t.journal.StoreCompleteUsage) }

func (a *actor) storeUsage(t *turn, store func(context.Context, []agent.ModelUsage) error) {
	if a.g.deliveries.Err() != nil { // the lease may be over, and nothing may then be stored
		return
	}
	if err := store(a.g.deliveries, t.result.UsageByModel); err != nil {
		a.log.Error("the turn's usage was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
}

// earlierUsage returns the usage of a turn in earlier processes. If the last process died while the model wrote an
// answer, earlierUsage estimates the usage of that answer.
func (a *actor) earlierUsage(rec chat.Turn, r history.Replay) []agent.ModelUsage {
	if !r.DiedAnswering(rec) {
		return r.Usage
	}
	h, err := a.past()
	if err != nil {
		a.log.Error("usage of an interrupted answer is unknown", slog.String("turn", rec.ID), slog.Any("error", err))
		return r.Usage
	}
	h, question, again := h.Without(rec.Replaces)
	if !again {
		question = a.words(rec.Messages...)
	}
	prompt := h.Tokens() + agent.EstimateTokens(question.Text)
	return r.UsageWithEstimate(a.settings(a.g.current(), h.Session, rec.User).model.Name, prompt, rec.Parts)
}

// unstoredUsage returns the usage of a turn that an earlier process began, if the store does not count this usage yet.
func (a *actor) unstoredUsage(rec chat.Turn) []chat.Usage {
	if rec.State != chat.TurnRunning {
		return nil
	}
	r, err := history.Read(rec.Steps)
	if err != nil {
		a.log.Error("usage of a turn is lost", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	return history.Usage(a.earlierUsage(rec, r))
}
