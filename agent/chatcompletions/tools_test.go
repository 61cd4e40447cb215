package chatcompletions_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/standin/memnet"
	"telex/standin/openai"
)

// toolbox is an agent.Toolbox with fixed tools.
type toolbox []agent.ToolDef

func (b toolbox) Tools() []agent.ToolDef { return b }

// workshop returns two tools: a clock, which is read-only, and a switch, which is not.
func workshop() toolbox {
	return toolbox{
		{Name: "clock", Description: "Tells the time.", ReadOnly: true, Call: func(context.Context, agent.Input) (agent.Output, error) {
			return agent.Output{Text: "noon"}, nil
		}},
		{
			Name: "switch", Description: "Switches a lamp.", Parameters: []byte(`{"type":"object","properties":{"lamp":{"type":"string"}}}`),
			Call: func(_ context.Context, in agent.Input) (agent.Output, error) {
				return agent.Output{Text: "switched " + in.Arguments}, nil
			},
		},
	}
}

// yes approves every call.
type yes struct{}

func (yes) Approve(context.Context, agent.Proposal) (agent.Verdict, error) {
	return agent.Approved, nil
}

// withTools runs f in a synctest bubble with an agent that has tools, and the stand-in of its provider.
func withTools(t *testing.T, tools toolbox, f func(*testing.T, *agent.Agent, *openai.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"gpt-5-mini"}, Rate: 50})
		transport := memnet.Serve(t, server).Transport(t)
		log := slog.New(slog.DiscardHandler)
		model, err := chatcompletions.New(chatcompletions.Options{
			Name: "main", BaseURL: "http://provider/v1", APIKey: secret, Model: "gpt-5-mini", Stream: true, Transport: transport, Log: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(agent.Options{
			Models: []agent.ModelOptions{{Model: model}}, Tools: tools, Log: log,
			Limits: agent.Limits{Turn: 5 * time.Minute, Silence: 10 * time.Second, ModelCalls: 16},
		})
		if err != nil {
			t.Fatal(err)
		}
		f(t, a, server)
	})
}

// The stand-in refuses the same histories as OpenAI: a call with no result or with two results, an invalid name, invalid
// arguments. The agent must never send a history that OpenAI would refuse.
func TestStandinTools(t *testing.T) {
	const two = "call: clock {}\ncall: switch {\"lamp\":\"desk\"}\nLet me see."
	const want = "Let me see.\n\nThe tools answered:\n\n- clock: noon\n- switch: switched {\"lamp\":\"desk\"}"
	for _, tt := range []struct{ name, question, text string }{
		{"by index", two, want},
		{"Gemini", "{{standin calls_as=gemini require=thought_signature}} " + two, want},
		{"Ollama", "{{standin calls_as=ollama}} " + two, want},
		{"ids repeated", "{{standin calls_as=repeat_ids}} " + two, want},
		{"empty ids", "{{standin calls_as=empty_ids}} " + two, want},
		{"no index", "{{standin calls_as=null_index}} " + two, want},
		{"DeepSeek", `{{standin think="Hm." require=reasoning_content}} ` + two, want},
		{"no tools", "{{standin refuse=tools}} say: Hello.", "Hello."},
		{"unknown", `{{standin call="fly.away {}"}} hi`, "The tools answered:\n\n- fly_away: Error: there is no tool named \"fly.away\". The tools are: clock, switch."},
		{"no JSON", `{{standin call="clock {"}} hi`, "The tools answered:\n\n- clock: Error: the arguments are not valid JSON, so nothing was done. Call again with a JSON object. You wrote: {"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", tt.name, stream), func(t *testing.T) {
				withTools(t, workshop(), func(t *testing.T, a *agent.Agent, server *openai.Server) {
					turn := agent.Turn{Stream: stream, Approver: yes{}, Messages: []agent.Message{{Role: agent.User, Text: tt.question}}}
					text := ""
					r, err := a.Run(t.Context(), turn, func(e agent.Event) {
						if e, ok := e.(agent.Text); ok {
							text += e.Delta
						}
					})
					if err != nil || r.Text != tt.text || strings.TrimSpace(text) != r.Text || r.Usage.Prompt == 0 {
						t.Errorf("got %q, told %q, error %v", r.Text, text, err)
					}
					turn.Messages = append(append(turn.Messages, r.Append...), agent.Message{Role: agent.User, Text: "say: Bye."})
					if r, err = a.Run(t.Context(), turn, func(agent.Event) {}); err != nil || r.Text != "Bye." {
						t.Errorf("the next turn got %q, %v", r.Text, err)
					}
					refused := 0
					for _, req := range server.Requests() {
						if req.Status != http.StatusOK {
							refused++
						}
					}
					if want := map[bool]int{true: 1}[tt.name == "no tools"]; refused != want {
						t.Errorf("%d requests were refused", refused)
					}
				})
			})
		}
	}
}

// The history of an earlier process contains provider data. When the provider refuses a request without this data, the agent
// repeats the request with the data. Later requests contain the data from the start.
func TestStandinWantsReasoningBack(t *testing.T) {
	for _, require := range []string{"reasoning_content", "thought_signature"} {
		withTools(t, workshop(), func(t *testing.T, a *agent.Agent, server *openai.Server) {
			turn := agent.Turn{Stream: true, Messages: []agent.Message{
				{Role: agent.User, Text: "hi"},
				{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "a", Name: "clock", Arguments: "{}", Extra: []byte(`{"google":{"thought_signature":"sig"}}`)}}},
				{Role: agent.ToolRole, ToolCallID: "a", Name: "clock", Text: "noon"},
				{Role: agent.User, Text: "{{standin require=" + require + "}} say: Hello."},
			}}
			for range 2 {
				if r, err := a.Run(t.Context(), turn, func(agent.Event) {}); err != nil || r.Text != "Hello." {
					t.Errorf("%s: got %q, %v", require, r.Text, err)
				}
			}
			if n := len(server.Requests()); n != 3 {
				t.Errorf("%s: %d requests, want 3: it is remembered", require, n)
			}
		})
	}
}

// The last request that the limit of model calls allows offers no tools, and the stand-in accepts this request.
func TestStandinCallsUntilTheLimit(t *testing.T) {
	withTools(t, workshop(), func(t *testing.T, a *agent.Agent, server *openai.Server) {
		turn := agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: `{{standin call="clock {}" again}} hi`}}}
		r, err := a.Run(t.Context(), turn, func(agent.Event) {})
		if err != nil || r.Stop != agent.StopCalls || r.ModelCalls != 16 || r.ToolCalls != 15 || r.Text != agent.DefaultLines()[agent.StopCalls] {
			t.Errorf("got %s %q, %d and %d calls, %v", r.Stop, r.Text, r.ModelCalls, r.ToolCalls, err)
		}
		for _, req := range server.Requests() {
			if req.Status != http.StatusOK {
				t.Errorf("the provider refused: %s", req.Error)
			}
		}
	})
}

func TestStandinGetsImagesOfTools(t *testing.T) {
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	tools := toolbox{{Name: "draw", ReadOnly: true, Call: func(context.Context, agent.Input) (agent.Output, error) {
		return agent.Output{Text: "drawn", Images: []agent.Image{{MediaType: "image/png", Data: photo.Bytes()}}}, nil
	}}}
	withTools(t, tools, func(t *testing.T, a *agent.Agent, server *openai.Server) {
		turn := agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: "call: draw {}\ncall: draw {}"}}}
		r, err := a.Run(t.Context(), turn, func(agent.Event) {})
		if err != nil || len(r.Files) != 2 {
			t.Errorf("got %q, %v, %d files", r.Text, err, len(r.Files))
		}
		requests := server.Requests()
		if n := len(requests[len(requests)-1].Images); n != 2 {
			t.Errorf("the model saw %d images", n)
		}
	})
}
