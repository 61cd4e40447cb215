package telegram_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	standin "telex/standin/telegram"
)

// counter is a model whose answer is the number of messages in the request.
type counter struct{}

func (counter) Run(_ context.Context, t agent.Turn, _ func(agent.Event)) (agent.Result, error) {
	text := fmt.Sprintf("%d: %s", len(t.Messages), t.Messages[len(t.Messages)-1].Text)
	return agent.Result{Text: text, Stop: agent.StopDone, Append: []agent.Message{{Role: agent.Assistant, Text: text}}}, nil
}

// In this test, a group becomes a supergroup while the bot is sending nothing. The chat must keep its history and its
// access, and the bot must not use the old id in any call (F54).
func TestAGroupBecomesASupergroup(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		const group = -1001
		conformance.Start(t, gateway.Options{
			Endpoints: []gateway.Endpoint{{
				ID: "telegram", Platform: bot,
				Streaming: preview.Config{Enabled: true, MinTokens: 3, Cursor: " ▌"},
			}},
			Runner: counter{}, Store: memory.New(), MaxQueued: 10, MaxAge: time.Hour, Grace: 10 * time.Second,
			Access: access.Rules{Allow: []access.Rule{{Endpoint: "telegram", Chat: "-1001"}}}, Log: slog.New(slog.DiscardHandler),
		})
		synctest.Wait()
		w.server.Say(standin.Incoming{Chat: group, Text: "/ask one"})
		time.Sleep(5 * time.Second)
		became := w.server.Migrate(group)
		time.Sleep(5 * time.Second)
		moved := time.Now()
		w.server.Say(standin.Incoming{Chat: became, Text: "/ask two"})
		time.Sleep(5 * time.Second)
		var got []string
		for _, m := range w.server.History(became) {
			if m.From.IsBot {
				got = append(got, m.Versions[len(m.Versions)-1].Text)
			}
		}
		if want := []string{"3: two"}; !slices.Equal(got, want) {
			t.Errorf("in the supergroup people see %q, want %q", got, want)
		}
		for _, c := range w.server.Calls() {
			if c.At.After(moved) && c.Chat == group {
				t.Errorf("%s was called for the old id", c.Method)
			}
		}
	})
}
