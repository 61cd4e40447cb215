package gateway_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// planner is a model that follows the steps of a test: its n-th completion for a question is the n-th step.
type planner struct {
	thinks time.Duration // time that the model takes before each step
	mu     sync.Mutex
	steps  []agent.Completion
	asked  []agent.Request
}

func (*planner) Name() string { return "planner" }

func (p *planner) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	p.mu.Lock()
	thinks := p.thinks
	p.mu.Unlock()
	select {
	case <-time.After(thinks):
	case <-ctx.Done():
		return agent.Completion{}, context.Cause(ctx)
	}
	n := 0
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == agent.User {
			break
		}
		if len(m.ToolCalls) > 0 {
			n++
		}
	}
	p.mu.Lock()
	p.asked = append(p.asked, r)
	step := p.steps[min(n, len(p.steps)-1)]
	p.mu.Unlock()
	for w := range strings.SplitAfterSeq(step.Text, " ") {
		emit(agent.Delta{Text: w})
	}
	step.Text = ""
	return step, nil
}

// plans changes the steps of the model, which may be running.
func (p *planner) plans(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// told returns the newest tool result in the model's request.
func (p *planner) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Backward(p.asked[len(p.asked)-1].Messages) {
		if m.Role == agent.ToolRole {
			return m.Text
		}
	}
	return ""
}

// lamp is a toolbox with a tool that changes something.
type lamp struct {
	mu       sync.Mutex
	switched []string
	takes    time.Duration
	pictures []agent.Image
	says     string // the tool's description for the model
	reads    bool   // the tool is read-only, but needs approval
	proposes string // text that the question for approval shows instead of the arguments
	made     []agent.File
}

func (l *lamp) Tools() []agent.ToolDef {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []agent.ToolDef{{
		Name: "switch", Description: l.says, ReadOnly: l.reads,
		Asks:    func(agent.ToolCall, agent.CallContext) bool { return true },
		Propose: func(arguments string) string { return "Switch the lamp: " + cmp.Or(l.proposes, arguments) },
		Call: func(ctx context.Context, in agent.Input) (agent.Output, error) {
			l.mu.Lock()
			l.switched = append(l.switched, in.Arguments)
			l.mu.Unlock()
			select {
			case <-time.After(l.takes):
				return agent.Output{Text: "done", Images: l.pictures, Files: l.made}, nil
			case <-ctx.Done():
				return agent.Output{}, context.Cause(ctx)
			}
		},
	}}
}

func (l *lamp) times() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.switched)
}

// lab is a gateway with the real agent, a model with planned steps, and the tool of lamp.
type lab struct {
	life
	*planner
	*lamp
	box agent.Toolbox // toolbox that replaces the lamp; nil: the lamp is used
	log journal
}

func newLab() *lab {
	call := agent.ToolCall{ID: "c1", Name: "switch", Arguments: `{"on":true}`}
	return &lab{
		life:    *newLife(),
		planner: &planner{steps: []agent.Completion{{Text: "I switch it on. ", ToolCalls: []agent.ToolCall{call}}, {Text: "It is on."}}},
		lamp:    &lamp{},
	}
}

// twice lets the model call its tool a second time before it ends its answer.
func (l *lab) twice() {
	again := l.steps[0]
	again.ToolCalls = []agent.ToolCall{{ID: "c2", Name: "switch", Arguments: `{"on":false}`}}
	l.steps = slices.Insert(l.steps, 1, again)
}

func (l *lab) open(t *testing.T, change func(*gateway.Options)) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(&l.log, nil))
	var tools agent.Toolbox = l.lamp
	if l.box != nil {
		tools = l.box
	}
	a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: l.planner}}, Tools: tools, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	l.begin(t, func(o *gateway.Options) {
		o.Runner, o.Log, o.ApprovalTimeout = a, log, 2*time.Minute
		if change != nil {
			change(o)
		}
	})
}

// button returns the id of a visible button whose id begins with prefix, or "" if no button matches.
func (l *lab) button(prefix string) string {
	l.platform.mu.Lock()
	defer l.platform.mu.Unlock()
	for _, m := range l.messages {
		for _, b := range m.buttons {
			if strings.HasPrefix(b.ID, prefix) {
				return b.ID
			}
		}
	}
	return ""
}

func pressing(action string) chat.Inbound {
	in := ask("")
	in.Kind, in.Action = chat.Button, action
	return in
}

const switched = "I switch it on.\n\nIt is on."
