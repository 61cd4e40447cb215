package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
)

// planner is a model behind the real agent, and the tool that it calls: it thinks, says something, calls the tool,
// which changes things and so waits for a person, and says the rest.
type planner struct {
	thought       string // a whole sentence
	before, after string // the tool has run
	note          string // of the gateway, below that; mostly empty
	proposal      string // what the tool says of a call; empty: the model says only what comes after

	mu   sync.Mutex
	ran  int    // calls of the tool
	told string // what became of its last call, as the model reads it
}

// The model's name, the tool's, and how long the tool takes.
const (
	plannerName = "planner"
	lever       = "pull"
	leverTakes  = 300 * time.Millisecond
)

// Name implements agent.Model.
func (*planner) Name() string { return plannerName }

// Complete implements agent.Model: the whole answer after a second.
func (p *planner) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	text, c := p.step(r)
	c.Text, c.Reasoning = text, p.thought
	return c, writing(ctx, time.Second)
}

// Stream implements agent.Model: a word in 100 ms.
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

// step returns what the model says to a request, and whether it then calls the tool.
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

// came returns how often the tool ran, and what the model was told of its last call.
func (p *planner) came() (ran int, told string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran, p.told
}

// final is the answer as it must stand.
func (p *planner) final() string {
	return strings.Join(slices.DeleteFunc([]string{p.before, p.after, p.note}, func(s string) bool { return s == "" }), "\n\n")
}
