package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/history"
	"telex/internal/chat"
)

// The list of tool calls below an interrupted answer must not contain calls that only read.
func TestCarriedOutOmitsReadOnlyCalls(t *testing.T) {
	said, err := json.Marshal(agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "1", Name: "look"}, {ID: "2", Name: "alter"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := history.Read([]chat.Step{
		{Kind: chat.StepSaid, Body: said}, {Kind: chat.StepReads, Call: "1"}, {Kind: chat.StepBegun, Call: "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := DefaultTexts().carriedOut(approval.New(approval.Options{}), history.Changes(r.Said, r.Changing)); strings.Contains(got, "look") || !strings.Contains(got, "alter") {
		t.Errorf("tells %q", got)
	}
}
