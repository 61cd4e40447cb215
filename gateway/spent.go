package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// spentSoFar is the usage of a turn, as its journal keeps it.
type spentSoFar struct {
	Spent []agent.Spent `json:"spent"`
	// Through is the newest run of the turn of which everything is in Spent. A later one may have died while an
	// answer was being written.
	Through int `json:"through"`
}

// Spent implements agent.Journal. A failure ends no turn.
func (j *journal) Spent(ctx context.Context, spent []agent.Spent) error {
	step, err := j.spentStep(spent, j.run-1)
	if err != nil {
		return err
	}
	return j.store.Note(ctx, j.turn, step)
}

func (j *journal) spentStep(spent []agent.Spent, through int) (chat.Step, error) {
	j.spent = spent
	return chat.NewStep(chat.StepSpent, "", spentSoFar{Spent: spent, Through: through})
}

// keepSpent stores all that a run used which another process goes on with.
func (a *actor) keepSpent(t *turn) {
	if len(t.result.Spent) == 0 {
		return
	}
	step, err := t.journal.spentStep(t.result.Spent, t.journal.run)
	if err == nil {
		err = a.g.Store.Note(a.g.deliveries, t.id, step)
	}
	if err != nil {
		a.log.Error("what the turn used was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
}

// usedBefore returns what earlier processes used for a turn. Where the last one died while an answer was being
// written, that is estimated: the provider's count of it will never come.
func (a *actor) usedBefore(rec chat.Turn, r replay) []agent.Spent {
	if rec.State != chat.TurnRunning || rec.Runs <= r.spent.Through || r.open() {
		return r.spent.Spent
	}
	p, err := a.past()
	if err != nil {
		a.log.Error("what an interrupted answer used is not known", slog.String("turn", rec.ID), slog.Any("error", err))
		return r.spent.Spent
	}
	p, question, again := p.without(rec.Replaces)
	if !again {
		question = a.words(rec.Messages...)
	}
	prompt := p.tokens() + agent.EstimateTokens(question.Text)
	answer := agent.EstimateTokens(lastSource(recordedSince(rec.Parts, r.spentAt)))
	for _, m := range r.said {
		prompt += agent.EstimateTokens(m.Text)
		if m.Role == agent.Assistant {
			answer -= agent.EstimateTokens(m.Text)
		}
	}
	return addSpent(r.spent.Spent, agent.Spent{
		Model: a.settings(p.Session, rec.User).model.Name, Calls: 1,
		EstimatedPrompt: prompt, EstimatedCompletion: max(0, answer), Estimate: max(0, answer),
	})
}

// recordedSince returns the parts that were recorded when the journal had at least so many steps, and those before them.
// A later part keeps the text of an attempt whose usage the journal has.
func recordedSince(parts []chat.Part, steps int) []chat.Part {
	last := -1
	for _, p := range parts {
		if p.Steps >= steps {
			last = max(last, p.Index)
		}
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p chat.Part) bool { return p.Index > last })
}

// unstoredUsage returns the usage of a turn of an earlier process that the usage of the store does not have.
func (a *actor) unstoredUsage(rec chat.Turn) []chat.Usage {
	if rec.State != chat.TurnRunning {
		return nil
	}
	r, err := readJournal(rec.Steps)
	if err != nil {
		a.log.Error("usage of a turn is lost", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	return usageOf(a.usedBefore(rec, r))
}

// addSpent returns a list with one more attempt in it.
func addSpent(list []agent.Spent, s agent.Spent) []agent.Spent {
	out := append([]agent.Spent(nil), list...)
	for i := range out {
		if out[i].Model == s.Model {
			out[i].Calls += s.Calls
			out[i].Estimate += s.Estimate
			out[i].EstimatedPrompt += s.EstimatedPrompt
			out[i].EstimatedCompletion += s.EstimatedCompletion
			return out
		}
	}
	return append(out, s)
}

// takeUpSpent gives a turn what earlier processes used for it, and has the journal keep the estimate in it: the next
// process must not make it again.
func (a *actor) takeUpSpent(t *turn, rec chat.Turn) {
	if rec.Runs == 0 {
		return
	}
	t.earlier.spent.Spent = a.usedBefore(rec, t.earlier)
	t.journal.spent = t.earlier.spent.Spent
	if rec.Runs <= t.earlier.spent.Through {
		return
	}
	step, err := t.journal.spentStep(t.earlier.spent.Spent, rec.Runs)
	if err == nil {
		err = a.g.Store.Note(a.g.deliveries, t.id, step)
	}
	if err != nil {
		a.log.Error("what the turn used was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
}

// open says that calls have no answer yet: no model is asked meanwhile. A call that an earlier process began gets no answer
// from its tool any more.
func (r replay) open() bool {
	for _, m := range r.said {
		for _, c := range m.ToolCalls {
			if !r.answered(c.ID) && !slices.Contains(r.unknown, c.ID) {
				return true
			}
		}
	}
	return false
}

// readSpent reads the usage of a turn from the step at i.
func (r *replay) readSpent(i int, body []byte) error {
	var s spentSoFar
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	s.Through = max(s.Through, r.spent.Through)
	r.spent, r.spentAt, r.unknown = s, i+1, slices.Clone(r.begun)
	return nil
}
