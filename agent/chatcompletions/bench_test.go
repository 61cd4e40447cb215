package chatcompletions_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"telex/agent"
	"telex/agent/chatcompletions"
)

// canned answers every request with the same stream.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(bytes.NewReader(c)),
	}, nil
}

// BenchmarkTurn runs turns of 1,000 tokens, without a network.
func BenchmarkTurn(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	model, err := chatcompletions.New(chatcompletions.Options{
		BaseURL: "http://provider/v1", Model: "m", Stream: true, Log: log,
		Transport: canned(strings.Repeat(text("word "), 1000) + end),
	})
	if err != nil {
		b.Fatal(err)
	}
	a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: model}}, ThinkTags: []string{"think", "thinking", "reasoning"}, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := a.Run(b.Context(), agent.Turn{Stream: true}, func(agent.Event) {})
		if err != nil || len(r.Text) != 4999 {
			b.Fatalf("%d bytes, %v", len(r.Text), err)
		}
	}
}
