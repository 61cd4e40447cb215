package chatcompletions_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/standin/memnet"
	"telex/standin/openai"
)

// The test holds a long conversation with a model whose provider enforces the size of its context window. No turn must fail,
// and the last request must still contain the fact that the model was asked to remember in the third turn.
func TestStandinWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"gpt-5-mini"}, Rate: 5000, Context: 4000})
		transport := memnet.Serve(t, server).Transport(t)
		log := slog.New(slog.DiscardHandler)
		model, err := chatcompletions.New(chatcompletions.Options{
			BaseURL: "http://provider/v1", APIKey: secret, Model: "gpt-5-mini", MaxOutputTokens: 500, Stream: true, Transport: transport, Log: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(agent.Options{
			System: "Be brief.", Models: []agent.ModelOptions{{Model: model, Window: 4000, MaxOutput: 500}}, Log: log,
			Limits: agent.Limits{ModelCalls: 16},
		})
		if err != nil {
			t.Fatal(err)
		}
		var turn agent.Turn
		turn.Stream = true
		turns, compactions := 500, 0
		if raced {
			turns = 120
		}
		for i := range turns {
			question := fmt.Sprintf("words: %d", 20+i*13%80)
			if i == 2 {
				question = "say: Noted.\nPlease remember that the cat is called Pangur."
			}
			turn.Messages = append(turn.Messages, agent.Message{Role: agent.User, Text: question})
			r, err := a.Run(t.Context(), turn, func(agent.Event) {})
			if err != nil || r.Stop != agent.StopDone {
				t.Fatalf("turn %d: %s %q, %v", i+1, r.Stop, r.Text, err)
			}
			turn.Messages = append(turn.Messages, r.Append...)
			if c := r.Compaction; c != nil {
				turn.Summary, turn.Messages = c.Summary, turn.Messages[c.Messages:]
				compactions++
			}
		}
		if compactions < 3 || !strings.Contains(turn.Summary, "Pangur") {
			t.Errorf("%d compactions, summary %q", compactions, turn.Summary)
		}
		refused := 0
		for _, r := range server.Requests() {
			if r.Status == 400 {
				refused++
			}
		}
		if refused > 5 {
			t.Errorf("%d requests were refused: nothing was learned from the usage", refused)
		}
	})
}
