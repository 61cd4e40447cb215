package responses_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"telex/agent"
	"telex/agent/responses"
)

// eventsOnly answers every request with the same events.
type eventsOnly string

func (c eventsOnly) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// The usage that the provider reports for failed, incomplete and broken answers counts.
func TestUsage_ofIncompleteAnswers(t *testing.T) {
	t.Parallel()
	const used = `"usage":{"input_tokens":11,"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}}`
	for _, tt := range []struct{ name, event string }{
		{"failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"},` + used + `}}`},
		{"failed without a reason", `{"type":"response.failed","response":{"status":"failed",` + used + `}}`},
		{"incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],` + used + `}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := responses.New(responses.Options{
				BaseURL: "http://provider/v1", Model: "m", Stream: true, Transport: eventsOnly("data: " + tt.event + "\n\n"), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := m.Stream(context.Background(), agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "hi"}}}, func(agent.Delta) {})
			got := c.Usage
			if me, ok := errors.AsType[*agent.ModelError](err); ok {
				got = me.Usage
			}
			if want := (agent.Usage{Prompt: 11, Completion: 7, Reasoning: 3}); got == nil || *got != want {
				t.Errorf("told %+v, want %+v (%v)", got, want, err)
			}
		})
	}
}
