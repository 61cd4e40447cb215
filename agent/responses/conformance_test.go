package responses_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/agent/provider"
	"telex/agent/responses"
	"telex/standin/memnet"
	"telex/standin/openai"
)

const secret = "sk-very-secret-key-4711"

// api is one of the two model packages, agent/chatcompletions and agent/responses.
type api struct {
	name string
	open func(provider.Options) (agent.Model, error)
}

func apis() []api {
	return []api{
		{"chat completions", func(o provider.Options) (agent.Model, error) { return chatcompletions.New(o) }},
		{"responses", func(o provider.Options) (agent.Model, error) { return responses.New(o) }},
	}
}

// imitated runs f in a synctest bubble with a model of one of the APIs and the stand-in of its provider.
func imitated(t *testing.T, a api, change func(*provider.Options), f func(*testing.T, agent.Model, *openai.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"gpt-5-mini"}, Rate: 50})
		transport := memnet.Serve(t, server).Transport(t)
		o := provider.Options{
			Name: "main", BaseURL: "http://provider/v1", APIKey: secret, Model: "gpt-5-mini", MaxOutputTokens: 1_000_000,
			Stream: true, Summaries: true, Transport: transport, Log: slog.New(slog.DiscardHandler),
		}
		if change != nil {
			change(&o)
		}
		model, err := a.open(o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, model, server)
	})
}

// answered is a model's answer in a form that does not depend on the API.
type answered struct {
	events []string
	agent.Completion
	err string
}

// answer asks a model and records the answer.
func answer(ctx context.Context, m agent.Model, r agent.Request) answered {
	var got answered
	var err error
	got.Completion, err = m.Stream(ctx, r, func(d agent.Delta) {
		for _, e := range []struct{ kind, text string }{{"", d.Text}, {"thought ", d.Reasoning}, {"refusal ", d.Refusal}} {
			if e.text != "" {
				got.events = append(got.events, e.kind+e.text)
			}
		}
		if d.Call != nil {
			got.events = append(got.events, fmt.Sprintf("call %+v", *d.Call))
		}
		if d.Whole {
			got.events = append(got.events, "whole")
		}
	})
	for i := range got.ToolCalls {
		got.ToolCalls[i].Extra = nil // each package stores different data in Extra
	}
	if err != nil {
		got.err = "another error"
		if me, ok := errors.AsType[*agent.ModelError](err); ok {
			got.err = fmt.Sprintf("%s %d %v", me.Kind, me.Status, me.RetryAfter)
		}
	}
	return got
}

func (a answered) String() string {
	usage := "none"
	if a.Usage != nil {
		usage = fmt.Sprintf("%+v", *a.Usage)
	}
	return fmt.Sprintf("events %.500q\ntext %.300q reasoning %q refusal %q\ncalls %+v finish %d usage %s\nerror %q",
		a.events, a.Text, a.Reasoning, a.Refusal, a.ToolCalls, a.Finish, usage, a.err)
}

// TestBothModelPackagesReadAnswersAlike sends the same scripted answers through both APIs. Both packages must return the same
// answers.
func TestBothModelPackagesReadAnswersAlike(t *testing.T) {
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	tools := []agent.Message{
		{Role: agent.User, Text: `call: now {"zone":"UTC"}` + "\ncall: now {}"},
		{Role: agent.Assistant, Text: "Looking.", ToolCalls: []agent.ToolCall{
			{ID: "call_1", Name: "now", Arguments: `{"zone":"UTC"}`}, {ID: "call_2", Name: "now", Arguments: "{}"},
		}},
		{Role: agent.ToolRole, ToolCallID: "call_1", Text: "noon"},
		{Role: agent.ToolRole, ToolCallID: "call_2"},
	}
	for _, tt := range []struct {
		name, question string
		messages       []agent.Message // if set, sent instead of the question
		most           int
		only           string // stream or whole
		calls          int
		fails          bool
	}{
		{name: "plain", question: "Explain the tides"},
		{name: "big chunks", question: "{{standin jitter=0.5 chunk=7}} Explain the tides"},
		{name: "CRLF, noise and comments", question: "{{standin crlf noise=3 comment_every=2}} Explain the tides"},
		{name: "no space after the colon, several lines", question: "{{standin nospace multiline no_last_newline}} Explain the tides"},
		{name: "a megabyte in one line", question: "{{standin rate=0 chunk=1048576}} length: 1048576"},
		{name: "reasoning", question: `{{standin think="Let me see." cached=4}} say: Hello.`},
		{name: "thinking in tags", question: `{{standin think="Let me see." think_as=tags}} say: Hello.`},
		{name: "a call", question: `call: now {"zone":"Europe/Berlin"}`, calls: 1},
		{name: "two calls with text and reasoning", question: `{{standin think="Which zone?" call="now {\"zone\":\"UTC\"}" call="now {}" say="Let me see."}} hi`, calls: 2},
		{name: "results of calls", messages: tools},
		{name: "history", messages: []agent.Message{
			{Role: agent.User, Text: "one"},
			{Role: agent.Assistant, Text: "two"},
			{Role: agent.System, Text: "three"},
			{Role: agent.Assistant},
			{Role: agent.User, Text: "history:"},
		}},
		{name: "an image", messages: []agent.Message{{Role: agent.User, Text: "images:", Images: []agent.Image{{MediaType: "image/png", Data: photo.Bytes()}}}}},
		{name: "a file", messages: []agent.Message{{Role: agent.User, Text: "files:", Files: []agent.File{{Name: "a.pdf", MediaType: "application/pdf", Content: []byte("%PDF-1.7")}}}}},
		{name: "a file alone", messages: []agent.Message{{Role: agent.User, Files: []agent.File{{Name: "a.pdf", MediaType: "application/pdf", Content: []byte("%PDF-1.7")}}}}},
		{name: "no image", messages: []agent.Message{{Role: agent.User, Text: "images:", Images: []agent.Image{{MediaType: "image/png", Data: []byte("x")}}}}, fails: true},
		{name: "nothing", question: "{{standin empty}} hi"},
		{name: "refusal", question: `{{standin refusal="I can't."}} hi`},
		{name: "length", question: "words: 100", most: 20},
		{name: "filter", question: "{{standin finish=content_filter}} say: Hello"},
		{name: "usage in every chunk", question: "{{standin usage=each}} Explain the tides"},
		{name: "no usage", question: "{{standin usage=off}} say: Hello"},
		{name: "a document where a stream was asked for", question: "{{standin as=json think=hm}} say: Hello"},
		{name: "no temperature", question: "{{standin refuse=temperature}} say: Hello"},
		{name: "no streaming", question: "{{standin refuse=stream}} say: Hello"},
		{name: "cut connection", question: "{{standin cut=12}} Explain the tides", fails: true},
		{name: "early end", question: "{{standin eof=12}} Explain the tides", fails: true},
		{name: "end after the text", question: "{{standin eof=text}} Explain the tides", only: "stream", fails: true},
		{name: "hang at the very end", question: "{{standin hang=usage}} say: Hello"},
		{name: "cut at the very end", question: "{{standin cut=usage}} say: Hello"},
		{name: "error event", question: "{{standin fail=5 fail_as=event}} Explain the tides", fails: true},
		{name: "error of vLLM", question: "{{standin fail=5 fail_as=vllm}} Explain the tides", fails: true},
		{name: "an error", question: "{{standin fail=5}} Explain the tides", fails: true},
		{name: "rate limit on the way", question: "{{standin fail=5 code=rate_limit_exceeded}} Explain the tides", only: "stream", fails: true},
		{name: "busy", question: "{{standin status=503}} hi", fails: true},
		{name: "gateway", question: "{{standin status=502}} hi", fails: true},
		{name: "rate limited", question: "{{standin status=429 retry_after=7}} hi", fails: true},
		{name: "no money", question: "{{standin status=429 code=insufficient_quota}} hi", fails: true},
		{name: "wrong key", question: "{{standin status=401}} hi", fails: true},
		{name: "too long", question: "{{standin context=5}} Explain the tides", fails: true},
		{name: "a page", question: "{{standin as=html}} hi", fails: true},
		{name: "no connection", question: "{{standin cut=start}} hi", fails: true},
	} {
		for _, stream := range []bool{true, false} {
			mode := map[bool]string{true: "stream", false: "whole"}[stream]
			if tt.only != "" && tt.only != mode {
				continue
			}
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				warm := float32(0.5)
				request := agent.Request{System: "Be brief.", Messages: tt.messages, MaxOutput: tt.most, Tools: []agent.ToolSpec{{Name: "now", Description: "Tells the time."}}}
				if request.Messages == nil {
					request.Messages = []agent.Message{{Role: agent.User, Text: tt.question}}
				}
				var got []answered
				for _, a := range apis() {
					imitated(t, a, func(o *provider.Options) { o.Temperature, o.Stream = &warm, stream }, func(t *testing.T, m agent.Model, server *openai.Server) {
						got = append(got, answer(t.Context(), m, request))
						for _, r := range server.Requests() {
							if r.Status == http.StatusBadRequest && !tt.fails && !strings.Contains(tt.question, "refuse=") {
								t.Errorf("%s: the provider refused: %s", a.name, r.Error)
							}
						}
					})
				}
				if got[0].String() != got[1].String() || !slices.Equal(got[0].events, got[1].events) || got[0].Text != got[1].Text {
					t.Errorf("chat completions: %v\n\nresponses: %v", got[0], got[1])
				}
				if failed := got[1].err != ""; failed != tt.fails || len(got[1].ToolCalls) != tt.calls {
					t.Errorf("%v", got[1])
				}
			})
		}
	}
}

// clock is a toolbox with one tool, whose parallel calls end one after the other.
type clock struct{}

func (clock) Tools() []agent.ToolDef {
	return []agent.ToolDef{{
		Name: "now", Description: "Tells the time.", ReadOnly: true,
		Call: func(_ context.Context, in agent.Input) (agent.Output, error) {
			time.Sleep(time.Duration(len(in.Arguments)) * time.Millisecond)
			return agent.Output{Text: "noon"}, nil
		},
	}}
}

// TestBothModelPackagesRunTurnsAlike runs whole turns through both APIs, also turns with errors. The results of the turns must
// not depend on the API.
func TestBothModelPackagesRunTurnsAlike(t *testing.T) {
	for _, question := range []string{
		"Explain the tides",
		"{{standin cut=120 on=stream times=1}} Explain the tides",
		"{{standin eof=text on=stream times=1}} Explain the tides",
		"{{standin fail=50 on=stream times=1}} Explain the tides",
		"{{standin status=503 times=2}} say: Hello.",
		"{{standin status=429 retry_after=7 times=1}} say: Hello.",
		"{{standin refuse=stream}} say: Hello.",
		`{{standin think="Let me see." think_as=open_tag_missing}} say: Hello.`,
		"{{standin empty}} hi",
		`{{standin refusal="I can't."}} hi`,
		"{{standin finish=length}} say: Hello",
		"{{standin finish=content_filter}} say: Hello",
		"{{standin hang=10 comment_interval=1s}} Explain the tides",
		`{{standin think="Which zone?" call="now {\"zone\":\"UTC\"}" call="now {}" say="Looking."}} hi`,
		`{{standin refuse=tools}} say: Hello.`,
		`{{standin require=reasoning_content think="Which zone?"}} call: now {}`,
	} {
		var got []string
		for _, a := range apis() {
			imitated(t, a, nil, func(t *testing.T, m agent.Model, _ *openai.Server) {
				runner, err := agent.New(agent.Options{
					Models: []agent.ModelOptions{{Model: m}}, ThinkTags: []string{"think"}, Log: slog.New(slog.DiscardHandler), Tools: clock{},
					Limits: agent.Limits{Turn: 5 * time.Minute, FirstToken: 20 * time.Second, Silence: 10 * time.Second, ModelCalls: 16},
				})
				if err != nil {
					t.Fatal(err)
				}
				var events []string
				r, err := runner.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: question}}},
					func(e agent.Event) { events = append(events, fmt.Sprintf("%T%+v", e, e)) })
				r.Elapsed = 0
				for i := range r.Append {
					for k := range r.Append[i].ToolCalls {
						r.Append[i].ToolCalls[k].Extra = nil // each package stores different data in Extra
					}
				}
				if strings.Contains(question, "call") && (r.ToolCalls == 0 || !strings.Contains(r.Text, "noon")) {
					t.Errorf("%s: %s: %+v, %v", a.name, question, r, err)
				}
				got = append(got, fmt.Sprintf("%+v\n%v\n%q", r, err, events))
			})
		}
		if got[0] != got[1] {
			t.Errorf("%s:\nchat completions: %.3000s\n\nresponses: %.3000s", question, got[0], got[1])
		}
	}
}
