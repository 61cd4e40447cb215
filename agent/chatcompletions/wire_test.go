package chatcompletions_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"telex/agent"
	"telex/agent/chatcompletions"
)

func TestAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}

data: {"choices":[{"index":0,"delta":{"content":" world"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}

data: [DONE]

`)
	}))
	defer server.Close()
	log := slog.New(slog.DiscardHandler)
	model, err := chatcompletions.New(chatcompletions.Options{BaseURL: server.URL + "/v1", APIKey: "sk-secret", Model: "m", Stream: true, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Model: model, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	got, err := a.Run(context.Background(), agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: "hi"}}},
		func(e agent.Event) { events = append(events, fmt.Sprintf("%+v", e)) })
	if err != nil {
		t.Fatal(err)
	}
	if want := "{Delta:Hello}|{Delta: world}"; strings.Join(events, "|") != want {
		t.Errorf("events = %q, want %q", strings.Join(events, "|"), want)
	}
	if got.Text != "Hello world" || got.Stop != agent.StopDone || got.Usage != (agent.Usage{Prompt: 5, Completion: 2}) {
		t.Errorf("result = %+v", got)
	}
}
