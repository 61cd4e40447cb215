package responses_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telex/agent"
	"telex/agent/responses"
)

var update = flag.Bool("update", false, "write the golden files anew")

// canned answers every request with the same stream.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(bytes.NewReader(c)),
	}, nil
}

// replay returns the deltas of a stream as text, with one line for each delta that is not empty.
func replay(t *testing.T, stream []byte) string {
	t.Helper()
	m, err := responses.New(responses.Options{
		BaseURL: "http://provider/v1", Model: "m", Stream: true, Transport: canned(stream), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	request := agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "hi"}}}
	c, err := m.Stream(t.Context(), request, func(d agent.Delta) {
		for _, e := range []struct{ kind, text string }{{"text", d.Text}, {"reasoning", d.Reasoning}, {"refusal", d.Refusal}} {
			if e.text != "" {
				fmt.Fprintf(&b, "%s %q\n", e.kind, e.text)
			}
		}
		if d.Call != nil {
			fmt.Fprintf(&b, "call %d %q %s %q\n", d.Call.Position, d.Call.ID, d.Call.Name, d.Call.Arguments)
		}
	})
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		return b.String()
	}
	for _, call := range c.ToolCalls {
		fmt.Fprintf(&b, "called %q %s %s\n", call.ID, call.Name, call.Arguments)
		if call.Extra != nil {
			fmt.Fprintf(&b, "  kept with it: %s\n", call.Extra)
		}
	}
	fmt.Fprintf(&b, "finish %d\n", c.Finish)
	if c.Usage != nil {
		fmt.Fprintf(&b, "usage %+v\n", *c.Usage)
	}
	return b.String()
}

// TestGoldenStreams replays recorded streams of many servers. Comments in the recorded streams name the sources.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d streams, %v", len(files), err)
	}
	for _, file := range files {
		stream, err := os.ReadFile(file) //nolint:gosec // Our own file.
		if err != nil {
			t.Fatal(err)
		}
		got := replay(t, stream)
		golden := strings.TrimSuffix(file, ".sse") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden) //nolint:gosec // Our own file.
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", file, got, want)
		}
	}
}
