package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// strict is a Model that, like real providers, refuses a request if its prompt and its maximum answer together exceed the
// window.
type strict struct {
	script
	window int
	output int  // the maximum length of an answer, which each request contains; 0: requests contain none
	says   bool // the refusal names the size of the window
}

func (s *strict) Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error) {
	output := s.output
	if r.MaxOutput > 0 && (output == 0 || r.MaxOutput < output) {
		output = r.MaxOutput
	}
	if size := r.tokens(); size+output > s.window {
		s.requests = append(s.requests, r)
		me := &ModelError{Kind: ContextLength, Status: 400, Err: errors.New("too long")}
		if s.says {
			me.Limit = s.window
		}
		return Completion{}, me
	}
	return s.script.Stream(ctx, r, emit)
}

// manual returns a toolbox with the given number of tools, whose schemas have about the given number of tokens.
func manual(n, tokens int) toolbox {
	var out toolbox
	for i := range n {
		schema := fmt.Sprintf(`{"type":"object","properties":{"description":{"type":"string","description":%q}},"required":["description"]}`, strings.Repeat("word ", tokens*4/5))
		out = append(out, ToolDef{
			Name: fmt.Sprintf("tool%d", i), Description: strings.Repeat("does it ", 20), ReadOnly: true, Parameters: json.RawMessage(schema),
			Call: func(context.Context, Input) (Output, error) {
				return Output{Text: strings.Repeat("long result ", 4000)}, nil
			},
		})
	}
	return out
}

// If a part of the request leaves no room for a short question, that part is made smaller, whether or not the window is known.
// The log names the part that was too large, and the configuration key that helps.
func TestFit_shrinksTheLargestParts(t *testing.T) {
	for _, known := range []string{"configured", "told", "refused"} {
		for _, tt := range []struct {
			name   string
			output int
			tools  Toolbox
			system string
			answer []answer
			key    string
			calls  int
		}{
			{name: "an output cap above the window", output: 4096, key: "models[].max_output_tokens"},
			{name: "long schemas", tools: manual(130, 300), key: "mcp_servers[].deny"},
			{name: "a long result", tools: manual(1, 20), answer: []answer{called("", "tool0 {}")}, calls: 1},
			{name: "several long results", tools: manual(1, 20), answer: []answer{called("", "tool0 {}", "tool0 {}", "tool0 {}", "tool0 {}")}, calls: 4},
			{name: "all of it", output: 4096, tools: manual(130, 300), answer: []answer{called("", "tool0 {}")}, calls: 1},
		} {
			t.Run(known+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log strings.Builder
					model := &strict{window: 4000, output: tt.output, says: known == "told", script: script{answers: append(tt.answer, answer{deltas: texts("Hello.")})}}
					o := ModelOptions{Model: model, MaxOutput: tt.output, Window: 128_000}
					if known == "configured" {
						o.Window = 4000
						if o.MaxOutput >= o.Window {
							o.MaxOutput, model.output = 3999, 3999
						}
					}
					a, err := New(Options{Models: []ModelOptions{o}, Tools: tt.tools, Limits: Limits{ModelCalls: 16}, Log: slog.New(slog.NewTextHandler(&log, nil))})
					if err != nil {
						t.Fatal(err)
					}
					r, err := a.Run(t.Context(), streamed, func(Event) {})
					if err != nil || r.Stop != StopDone || r.Text != "Hello." || r.ToolCalls != tt.calls {
						t.Errorf("got %s %q, %v, %d calls\n%s", r.Stop, r.Text, err, r.ToolCalls, log.String())
					}
					if !strings.Contains(log.String(), tt.key) {
						t.Errorf("the log lacks %s:\n%s", tt.key, log.String())
					}
					if tt.tools != nil && tt.calls == 0 && known != "refused" && len(model.requests[len(model.requests)-1].Tools) < 20 {
						t.Errorf("only %d tools are left", len(model.requests[len(model.requests)-1].Tools))
					}
				})
			})
		}
	}
}

// People read that their question is too long only if the question is the largest part of the request.
func TestFit_blamesTheQuestionOnlyIfItIsTooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, system, question string
		known                  bool
		stop                   StopReason
		key                    string
	}{
		{"question", "", strings.Repeat("word ", 5000), true, StopTooLong, "context_window"},
		{"system prompt", strings.Repeat("rule ", 5000), "hi", true, StopNoRoom, "agent.system_prompt"},
		{"question, as the provider found", "", strings.Repeat("word ", 5000), false, StopTooLong, "context_window"},
		{"system prompt, as the provider found", strings.Repeat("rule ", 5000), "hi", false, StopNoRoom, "agent.system_prompt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			o := ModelOptions{Model: &strict{window: 4000}}
			if tt.known {
				o.Window = 4000
			}
			a, err := New(Options{Models: []ModelOptions{o}, System: tt.system, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Run(t.Context(), Turn{Stream: true, Messages: []Message{{Role: User, Text: tt.question}}}, func(Event) {})
			want := map[StopReason]string{StopTooLong: DefaultLines()[StopTooLong], StopNoRoom: DefaultLines()[StopNoRoom]}[tt.stop]
			if err != nil || r.Stop != tt.stop || r.Text != want || !strings.Contains(log.String(), tt.key) {
				t.Errorf("got %s %q, %v\n%s", r.Stop, r.Text, err, log.String())
			}
		})
	}
}

// A shortened schema keeps the keywords that decide which values are valid, even for a property with the name of an
// annotation, such as title.
func TestShrinkTools(t *testing.T) {
	t.Parallel()
	spec := ToolSpec{Name: "x", Parameters: json.RawMessage(`{"title":"X","type":"object","properties":{"title":{"type":"string","description":"long","enum":["a"]},"default":{"anyOf":[{"type":"null","title":"N"},{"type":"integer"}],"default":3}},"required":["title"]}`)}
	d := &draft{tools: []ToolSpec{spec}}
	want := `{"properties":{"default":{"anyOf":[{"type":"null"},{"type":"integer"}]},"title":{"enum":["a"],"type":"string"}},"required":["title"],"type":"object"}`
	shortened, left := d.shrinkTools(toolTokens(d.tools) - 1)
	if got := string(d.tools[0].Parameters); got != want || fmt.Sprint(shortened, left) != "[x] []" {
		t.Errorf("got %s, %v, %v", got, shortened, left)
	}
	if string(spec.Parameters)[2:7] != "title" {
		t.Error("the caller's schema was changed")
	}
	d = &draft{tools: []ToolSpec{{Name: "small"}, {Name: "large", Description: strings.Repeat("word ", 100)}}}
	if _, left = d.shrinkTools(20); fmt.Sprint(left) != "[large]" || len(d.tools) != 1 {
		t.Errorf("left out %v", left)
	}
}

// If a request exceeds the account's token limit per minute, the agent does not repeat it, but sends a smaller one.
func TestFit_tokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := answer{err: &ModelError{Kind: TooLarge, Status: 413, Limit: 1000, Err: errors.New("Limit 1000, Requested 5000")}}
		got := runTurn(t, t.Context(), Options{}, ask(chat(20, 200), "and now?"), append([]answer{large}, slices.Repeat([]answer{{c: Completion{Text: "Hello."}}}, 9)...)...)
		if got.Text != "Hello." || got.model.requests[len(got.model.requests)-1].tokens() > 1000 {
			t.Errorf("got %s %q with %d tokens\n%s", got.Stop, got.Text, got.model.requests[len(got.model.requests)-1].tokens(), got.log)
		}
		got = runTurn(t, t.Context(), Options{}, streamed, large, large, large, large, large)
		if got.Stop != StopError || got.Text != "" || len(got.model.requests) > 2 || got.Elapsed > 0 {
			t.Errorf("got %s %q after %d requests and %v, %v", got.Stop, got.Text, len(got.model.requests), got.Elapsed, got.err)
		}
	})
}

// If a provider refused a feature, requests use the feature again after ten minutes, even if turns never pause.
func TestLessonsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := answer{err: &ModelError{Kind: NoTools, Status: 400, Err: errors.New("no tools")}}
		model := &script{answers: []answer{refused}}
		a := newAgentWith(t, Options{Tools: workshop()}, model)
		offered := ""
		for range 25 {
			model.requests, model.answers = nil, append(model.answers, answer{deltas: texts("Hello.")})
			if r, err := a.Run(t.Context(), streamed, func(Event) {}); err != nil || r.Text != "Hello." {
				t.Fatalf("%q, %v", r.Text, err)
			}
			for _, r := range model.requests {
				offered += fmt.Sprint(len(r.Tools))
			}
			time.Sleep(30 * time.Second)
		}
		if want := "4" + strings.Repeat("0", 20) + "44444"; offered != want {
			t.Errorf("tools offered: %s, want %s", offered, want)
		}
	})
}
