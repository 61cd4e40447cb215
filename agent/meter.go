package agent

import (
	"context"
	"log/slog"
)

// meter is what one model used in a turn.
type meter struct {
	Spent
	tokens        TokenCounter // of all answers, the broken ones too
	tokensAtUsage int          // of tokens, at the last usage
}

// meterOf returns the meter of a model; there is one each, in the order of their first use.
func (r *run) meterOf(model string) *meter {
	for _, m := range r.meters {
		if m.Model == model {
			return m
		}
	}
	m := &meter{Spent: Spent{Model: model}}
	r.meters = append(r.meters, m)
	return m
}

// count adds the usage that the provider reported for an attempt.
func (m *meter) count(u Usage) {
	m.Usage = m.Usage.Add(u)
	m.tokensAtUsage = m.tokens.Tokens()
}

// guess adds an estimate for an attempt without reported usage.
func (m *meter) guess(prompt, completion int) {
	m.EstimatedPrompt += prompt
	m.EstimatedCompletion += completion
}

// earlier returns a meter that begins with the usage of an earlier process.
func (s Spent) earlier() *meter {
	return &meter{Spent: s, tokens: TokenCounter{weight: s.Estimate * weightUnit}, tokensAtUsage: s.Estimate}
}

// spent returns what each model used so far.
func (r *run) spent() []Spent {
	var out []Spent
	for _, m := range r.meters {
		m.Estimate = m.tokens.Tokens()
		if m.Spent != (Spent{Model: m.Model}) {
			out = append(out, m.Spent)
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

// hasUncountedText reports whether text came whose usage did not.
func (r *run) hasUncountedText() bool {
	for _, m := range r.meters {
		if m.tokens.Tokens() > m.tokensAtUsage {
			return true
		}
	}
	return false
}
