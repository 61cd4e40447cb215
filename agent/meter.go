package agent

import (
	"context"
	"log/slog"
)

// meter is what one model used in a turn.
type meter struct {
	model               string
	usage               Usage
	calls               int
	tokens              TokenCounter // of all answers, the broken ones too
	tokensAtUsage       int          // of tokens, at the last usage
	estimatedPrompt     int          // tokens of prompts without usage, by estimate
	estimatedCompletion int          // tokens of what was answered to these, by estimate
}

func (m *meter) spent() Spent {
	return Spent{Model: m.model, Usage: m.usage, Calls: m.calls, Estimate: m.tokens.Tokens(), EstimatedPrompt: m.estimatedPrompt, EstimatedCompletion: m.estimatedCompletion}
}

// meterOf returns the meter of a model; there is one each, in the order of their first use.
func (r *run) meterOf(model string) *meter {
	for _, m := range r.meters {
		if m.model == model {
			return m
		}
	}
	m := &meter{model: model}
	r.meters = append(r.meters, m)
	return m
}

// count adds the usage that the provider reported for an attempt.
func (m *meter) count(u Usage) {
	m.usage = m.usage.Add(u)
	m.tokensAtUsage = m.tokens.Tokens()
}

// guess adds an estimate for an attempt without reported usage.
func (m *meter) guess(prompt, completion int) {
	m.estimatedPrompt += prompt
	m.estimatedCompletion += completion
}

// earlier returns a meter that begins with the usage of an earlier process.
func (s Spent) earlier() *meter {
	return &meter{
		model: s.Model, usage: s.Usage, calls: s.Calls, estimatedPrompt: s.EstimatedPrompt, estimatedCompletion: s.EstimatedCompletion,
		tokens: TokenCounter{weight: s.Estimate * weightUnit}, tokensAtUsage: s.Estimate,
	}
}

// spent returns what each model used so far.
func (r *run) spent() []Spent {
	var out []Spent
	for _, m := range r.meters {
		if s := m.spent(); s != (Spent{Model: m.model}) {
			out = append(out, s)
		}
	}
	return out
}

// saveSpent has the journal keep what the turn used so far, before the next attempt uses more: a process that dies
// then loses nothing of it.
func (r *run) saveSpent(ctx context.Context) {
	if r.turn.Journal == nil || !r.unsaved {
		return
	}
	if err := r.turn.Journal.Spent(ctx, r.spent()); err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "what the turn used was not stored", slog.Any("error", err))
		return
	}
	r.unsaved = false
}

// account fills in what the turn used.
func (r *run) account(result *Result) {
	result.Spent = r.spent()
	for _, s := range result.Spent {
		result.Usage = result.Usage.Add(s.Usage)
		result.ModelCalls += s.Calls
		result.Estimate += s.Estimate
		result.EstimatedPrompt += s.EstimatedPrompt
		result.EstimatedCompletion += s.EstimatedCompletion
	}
}

// cutUnpaid reports whether text came whose usage did not.
func (r *run) cutUnpaid() bool {
	for _, m := range r.meters {
		if m.tokens.Tokens() > m.tokensAtUsage {
			return true
		}
	}
	return false
}
