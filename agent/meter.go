package agent

import (
	"context"
	"log/slog"
)

// meter counts the model calls and tokens of one model in a turn.
type meter struct {
	ModelUsage
	tokens        TokenCounter // estimated tokens of all answers, including those that broke off
	tokensAtUsage int          // the value of tokens when the provider last reported its usage
}

// meterOf returns the meter of a model. If the model has no meter yet, meterOf creates one.
func (r *run) meterOf(model string) *meter {
	for _, m := range r.meters {
		if m.Model == model {
			return m
		}
	}
	m := &meter{ModelUsage: ModelUsage{Model: model}}
	r.meters = append(r.meters, m)
	return m
}

// addUsage adds the usage that the provider reported for an attempt.
func (m *meter) addUsage(u Usage) {
	m.Usage = m.Usage.Add(u)
	m.tokensAtUsage = m.tokens.Tokens()
}

// addEstimate adds an estimate for an attempt without reported usage.
func (m *meter) addEstimate(prompt, completion int) {
	m.EstimatedPrompt += prompt
	m.EstimatedCompletion += completion
}

// meter returns a meter that continues to count from s, the usage that an earlier process stored.
func (s ModelUsage) meter() *meter {
	return &meter{ModelUsage: s, tokens: TokenCounter{weight: s.Estimate * weightUnit}, tokensAtUsage: s.Estimate}
}

// usageByModel returns the usage of each model in this turn so far.
func (r *run) usageByModel() []ModelUsage {
	var out []ModelUsage
	for _, m := range r.meters {
		m.Estimate = m.tokens.Tokens()
		if m.ModelUsage != (ModelUsage{Model: m.Model}) {
			out = append(out, m.ModelUsage)
		}
	}
	return out
}

// saveUsage stores the usage of the turn in the journal. saveUsage is called before each attempt, so that a crash does not
// lose the usage of earlier attempts.
func (r *run) saveUsage(ctx context.Context) {
	if r.turn.Journal == nil || !r.usageUnsaved {
		return
	}
	if err := r.turn.Journal.StoreUsage(ctx, r.usageByModel()); err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "the turn's usage was not stored", slog.Any("error", err))
		return
	}
	r.usageUnsaved = false
}

// account fills in the usage of the turn.
func (r *run) account(result *Result) {
	result.UsageByModel = r.usageByModel()
	for _, s := range result.UsageByModel {
		result.Usage = result.Usage.Add(s.Usage)
		result.ModelCalls += s.Calls
		result.Estimate += s.Estimate
		result.EstimatedPrompt += s.EstimatedPrompt
		result.EstimatedCompletion += s.EstimatedCompletion
	}
}

// hasUncountedText reports whether a model wrote text for which the provider reported no usage.
func (r *run) hasUncountedText() bool {
	for _, m := range r.meters {
		if m.tokens.Tokens() > m.tokensAtUsage {
			return true
		}
	}
	return false
}
