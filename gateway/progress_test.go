package gateway

import (
	"slices"
	"testing"
	"time"

	"telex/agent"
)

func TestProgress(t *testing.T) {
	var p progress
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		event   agent.Tool
		want    []string
		changed bool
	}{
		{agent.Tool{Name: "nobody", State: agent.ToolExecuting}, nil, false},
		{agent.Tool{ID: "1", Name: "fetch"}, []string{"⚙ fetch"}, true},
		{agent.Tool{ID: "1", Name: "fetch", Display: "Reading  example.org", State: agent.ToolExecuting}, []string{"⚙ Reading example.org"}, true},
		{agent.Tool{ID: "2", Name: "time", State: agent.ToolExecuting}, []string{"⚙ Reading example.org", "⚙ time"}, true},
		{agent.Tool{ID: "1", State: agent.ToolCompleted}, []string{"⚙ time", "✓ Reading example.org"}, true},
		{agent.Tool{ID: "2", Display: "Turn it on?", State: agent.ToolInterrupted}, []string{"⏸ Turn it on?", "✓ Reading example.org"}, true},
		{agent.Tool{ID: "2", State: agent.ToolExecuting}, []string{"⚙ Turn it on?", "✓ Reading example.org"}, true},
		{agent.Tool{ID: "2", State: agent.ToolFailed}, nil, true},
		{agent.Tool{ID: "1", Display: "late", State: agent.ToolExecuting}, nil, false},
		{agent.Tool{ID: "3", Name: "next", State: agent.ToolExecuting}, []string{"⚙ next"}, true},
	} {
		status, changed := p.tell(step.event, start.Add(time.Duration(i)*time.Second))
		if changed != step.changed || !slices.Equal(status.Lines, step.want) {
			t.Errorf("step %d: got %q, changed %t, want %q, %t", i, status.Lines, changed, step.want, step.changed)
		}
		if len(step.want) == 2 && !status.Since.Equal(start.Add(time.Second)) || len(step.want) == 1 && step.event.ID == "3" && !status.Since.Equal(start.Add(9*time.Second)) {
			t.Errorf("step %d: since %v", i, status.Since)
		}
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		p.tell(agent.Tool{ID: id, Name: id}, start)
	}
	if got := p.lines(); len(got) != maxCallLines+1 || got[maxCallLines] != "… +2" {
		t.Errorf("got %q", got)
	}
}
