package chatcompletions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
)

// replies is an http.RoundTripper that answers each request with the next of the bodies.
type replies struct {
	bodies []string
	asked  []string
}

func (r *replies) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil || len(r.asked) == len(r.bodies) {
		return nil, fmt.Errorf("request %d: %w", len(r.asked)+1, err)
	}
	r.asked = append(r.asked, string(body))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(r.bodies[len(r.asked)-1])),
	}, nil
}

// Servers implement the API differently. The test replays the same conversation as different servers stream it
// (agent/testdata/streams). The events must be the same for all servers, and each server must get the data back that it sent.
func TestVariantsOfTheAPI(t *testing.T) {
	files, err := filepath.Glob("../testdata/streams/*.sse")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range [][]byte{data, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))} {
				synctest.Test(t, func(t *testing.T) {
					checkQuirks(t, regexp.MustCompile(`=== next answer\r?\n`).Split(string(body), -1))
				})
			}
		})
	}
}

func checkQuirks(t *testing.T, bodies []string) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r := &replies{bodies: bodies}
	model, err := chatcompletions.New(chatcompletions.Options{BaseURL: "http://provider/v1", Model: "m", Stream: true, Transport: r, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	clock := agent.ToolDef{
		Name: "clock", ReadOnly: true,
		Show: func(arguments string) string {
			if _, zone, ok := strings.Cut(arguments, "/"); ok && strings.HasSuffix(zone, `"}`) {
				return "The time in " + strings.TrimSuffix(zone, `"}`)
			}
			return ""
		},
		Call: func(ctx context.Context, in agent.Input) (agent.Output, error) {
			if strings.Contains(in.Arguments, "Berlin") { // the second call ends first
				time.Sleep(time.Second)
			}
			return agent.Output{Text: "noon"}, ctx.Err()
		},
	}
	a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: model}}, Tools: toolbox{clock}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	calls := make(map[string]int) // numbered in order of appearance, because ids differ between servers
	text, reasoning := "", ""
	result, err := a.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: "hi"}}}, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Text:
			text += e.Delta
			return
		case agent.Reasoning:
			reasoning += e.Delta
			return
		case agent.Tool:
			if calls[e.ID] == 0 {
				calls[e.ID] = len(calls) + 1
			}
			if e.State != agent.ToolIdentified { // servers differ in how often the display of a call is updated
				events = append(events, fmt.Sprintf("%q %d %d %s", text, calls[e.ID], e.State, e.Display))
			}
		default:
			t.Errorf("event %#v", e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{
		`"Let me look." 1 1 The time in Berlin`, `"Let me look." 2 1 The time in Tokyo`,
		`"Let me look." 2 2 The time in Tokyo`, `"Let me look." 1 2 The time in Berlin`,
	}; fmt.Sprint(events) != fmt.Sprint(want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
	if want := "Let me look.\n\nIt is noon."; text != want || result.Text != want || result.Stop != agent.StopDone {
		t.Errorf("told %q, %s %q", text, result.Stop, result.Text)
	}
	if reasoning != "" && reasoning != "Two calls." {
		t.Errorf("reasoning %q", reasoning)
	}
	if want := (agent.Usage{Prompt: 40, Completion: 20}); result.Usage != want {
		t.Errorf("usage %+v", result.Usage)
	}
	for _, field := range []string{"reasoning_content", "reasoning_details", "extra_content"} {
		if strings.Contains(r.asked[1], `"`+field+`"`) != strings.Contains(wanted(bodies[0]), `"`+field+`"`) {
			t.Errorf("was asked with %s: %s", field, r.asked[1])
		}
	}
	if !strings.Contains(r.asked[1], wanted(bodies[0])) {
		t.Errorf("was not asked with %s: %s", wanted(bodies[0]), r.asked[1])
	}
}

// wanted returns the data that the server must get back, according to a comment in its stream.
func wanted(body string) string {
	_, line, _ := strings.Cut(body, "\n: wants back ")
	line, _, _ = strings.Cut(line, "\n")
	return strings.TrimRight(line, "\r")
}

// While the model writes a call, the arguments received so far are reported. A reported value must not change when more of
// the call arrives.
func TestCallsAreReportedWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/streams/openai.sse")
	if err != nil {
		t.Fatal(err)
	}
	r := &replies{bodies: []string{string(data)}}
	model, err := chatcompletions.New(chatcompletions.Options{
		BaseURL: "http://provider/v1", Model: "m", Stream: true, Transport: r, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var told []*agent.CallDelta
	if _, err := model.Stream(t.Context(), agent.Request{}, func(d agent.Delta) {
		if d.Call != nil {
			told = append(told, d.Call)
		}
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range told {
		got = append(got, fmt.Sprint(d.Position, d.ID, d.Name, d.Arguments))
	}
	want := `0call_Zx1clock 0call_Zx1clock{"zone": 0call_Zx1clock{"zone":"Europe/Berlin"} 1call_Zx2clock 1call_Zx2clock{"zone":"Asia/Tokyo"}`
	if strings.Join(got, " ") != want {
		t.Errorf("told %s", strings.Join(got, " "))
	}
}
