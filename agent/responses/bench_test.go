package responses_test

import (
	"log/slog"
	"strings"
	"testing"

	"telex/agent"
	"telex/agent/responses"
)

// BenchmarkTurn runs turns of 1,000 tokens without a network, like the benchmark of Chat Completions.
func BenchmarkTurn(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	const piece = "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":123,` +
		`"item_id":"msg_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":"word ","logprobs":[],"obfuscation":"k3J9xQ2mZ7"}` + "\n\n"
	model, err := responses.New(responses.Options{
		BaseURL: "http://provider/v1", Model: "m", Stream: true, Log: log, Transport: canned(strings.Repeat(piece, 1000) + end),
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
