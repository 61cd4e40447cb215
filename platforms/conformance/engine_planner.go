package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
)

// planner is a model for the real agent, and also the only tool of this model. The model thinks, writes some text,
// calls the tool, which needs approval, and then writes the rest of the answer.
type planner struct {
	thought       string // a complete sentence
	before, after string // the model's texts before and after the tool call
	note          string // the gateway's note below the answer; usually empty
	proposal      string // description of the tool call; if empty, the model calls no tool and writes only the field after

	mu   sync.Mutex
	ran  int    // how often the tool ran
	told string // result of the last tool call, as the model received it
}

// These constants are the names of the model and the tool, and the duration of a tool call.
const (
	plannerName = "planner"
	lever       = "pull"
	leverTakes  = 300 * time.Millisecond
)

// Name implements agent.Model.
func (*planner) Name() string { return plannerName }

// Complete implements agent.Model. Complete takes a second and returns the whole text.
func (p *planner) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	text, c := p.step(r)
	c.Text, c.Reasoning = text, p.thought
	return c, writing(ctx, time.Second)
}

// Stream implements agent.Model. Stream writes a word every 100 ms.
func (p *planner) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	text, c := p.step(r)
	var deltas []agent.Delta
	for word := range strings.SplitAfterSeq(p.thought, " ") {
		deltas = append(deltas, agent.Delta{Reasoning: word})
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		deltas = append(deltas, agent.Delta{Text: word})
	}
	for _, d := range deltas {
		if err := writing(ctx, 100*time.Millisecond); err != nil {
			return agent.Completion{}, err
		}
		emit(d)
	}
	return c, nil
}

// step returns the text that the model writes in response to a request, and a Completion. If the model then calls the
// tool, the Completion contains the tool call.
func (p *planner) step(r agent.Request) (string, agent.Completion) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == agent.ToolRole {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = last.Text
	}
	if last.Role == agent.ToolRole || p.proposal == "" {
		return p.after, agent.Completion{}
	}
	return p.before, agent.Completion{ToolCalls: []agent.ToolCall{{ID: "c1", Name: lever, Arguments: "{}"}}}
}

// Tools implements agent.Toolbox.
func (p *planner) Tools() []agent.ToolDef {
	return []agent.ToolDef{{
		Name: lever, Propose: func(string) string { return p.proposal },
		Call: func(ctx context.Context, _ agent.Input) (agent.Output, error) {
			p.mu.Lock()
			p.ran++
			p.mu.Unlock()
			return agent.Output{Text: "pulled"}, writing(ctx, leverTakes)
		},
	}}
}

// toolRuns returns how often the tool ran, and the result of its last call as the model received it.
func (p *planner) toolRuns() (ran int, told string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran, p.told
}

// final returns the complete answer.
func (p *planner) final() string {
	return strings.Join(slices.DeleteFunc([]string{p.before, p.after, p.note}, func(s string) bool { return s == "" }), "\n\n")
}
