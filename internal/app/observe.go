package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"telex/agent"
	"telex/internal/metrics"
)

// observedModel is a model that counts its requests and the pieces of its answers.
type observedModel struct {
	agent.Model
	to *metrics.Model
}

// observed returns m as an observedModel. If the parameter by is nil, there are no metrics, and observed returns m
// unchanged.
func observed(m agent.Model, by *metrics.Metrics) agent.Model {
	if by == nil {
		return m
	}
	return observedModel{m, by.Model(m.Name())}
}

// Stream implements agent.Model. Counting a piece of an answer costs only a comparison and an atomic addition.
func (o observedModel) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	asked, began := time.Now(), false
	begin := func() {
		if !began {
			began = true
			o.to.Began(time.Since(asked))
		}
	}
	c, err := o.Model.Stream(ctx, r, func(d agent.Delta) {
		if d.Text != "" || d.Reasoning != "" || d.Refusal != "" || d.Call != nil {
			begin()
			o.to.Delta()
		}
		emit(d)
	})
	if err == nil {
		begin()
	}
	o.to.Ended(outcome(ctx, err), time.Since(asked))
	return c, err
}

// outcome returns the value of the label "outcome" in the metrics for a request to a model.
func outcome(ctx context.Context, err error) string {
	failed, known := errors.AsType[*agent.ModelError](err)
	switch {
	case err == nil:
		return metrics.Answered
	case ctx.Err() != nil: // a person, a turn limit or the daemon's shutdown has stopped the request
		return "cancelled"
	case known:
		return string(failed.Kind)
	default:
		return "error"
	}
}

// runner runs turns. *agent.Agent implements this interface.
type runner interface {
	Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)
	Models() []string
}

// observedRunner is a runner that counts turns and their usage.
type observedRunner struct {
	runner
	to *metrics.Metrics
}

// Run implements runner.
func (o observedRunner) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	result, err := o.runner.Run(ctx, t, emit)
	o.to.TurnEnded(cmp.Or(string(result.Stop), string(agent.StopError)))
	for _, s := range result.UsageByModel {
		used := s.Usage
		for _, before := range t.EarlierUsage { // an earlier process has already counted this part of the usage
			if before.Model == s.Model {
				used = agent.Usage{
					Prompt: used.Prompt - before.Usage.Prompt, Cached: used.Cached - before.Usage.Cached,
					Completion: used.Completion - before.Usage.Completion, Reasoning: used.Reasoning - before.Usage.Reasoning,
				}
			}
		}
		o.to.Used(s.Model, metrics.Tokens(used))
	}
	return result, err
}
