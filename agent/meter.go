package agent

// meter is what one model used in a turn.
type meter struct {
	model  string
	usage  Usage
	calls  int
	tokens TokenCounter // of all answers, the broken ones too
	told   int          // of tokens, at the last usage
	untold int          // tokens of prompts without usage, by estimate
	came   int          // tokens of what was answered to these, by estimate
}

func (m *meter) spent() Spent {
	return Spent{Model: m.model, Usage: m.usage, Calls: m.calls, Estimate: m.tokens.Tokens(), EstimatedPrompt: m.untold, EstimatedCompletion: m.came}
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

// guess takes what a call used that told no usage: so many tokens of a prompt, and what the answer had got to.
func (m *meter) guess(prompt int, before int, c Completion) {
	m.untold += prompt
	m.came += m.tokens.Tokens() - before + EstimateTokens(c.Text) + EstimateTokens(c.Reasoning)
}

// account fills in what the turn used.
func (r *run) account(result *Result) {
	for _, m := range r.meters {
		s := m.spent()
		if s == (Spent{Model: m.model}) {
			continue // it was never at work
		}
		result.Spent = append(result.Spent, s)
		result.Usage = result.Usage.Add(s.Usage)
		result.ModelCalls += s.Calls
		result.Estimate += s.Estimate
		result.EstimatedPrompt += s.EstimatedPrompt
		result.EstimatedCompletion += s.EstimatedCompletion
	}
}

// cutUnpaid says that text came whose usage did not.
func (r *run) cutUnpaid() bool {
	for _, m := range r.meters {
		if m.tokens.Tokens() > m.told {
			return true
		}
	}
	return false
}
