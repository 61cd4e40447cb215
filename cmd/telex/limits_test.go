package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// limitCase is one turn limit with a small value, and the expected effects of reaching it.
type limitCase struct {
	name           string        // name of the limit's key
	models, more   string        // the configuration that sets the limit; models contains settings of the model
	question       string        // a question whose answer reaches the limit
	rules          []openai.Rule // rules for the model's answer
	line           string        // the line that people see; {id} stands for the turn's id
	stop           string        // the expected reason in the Result
	logged, reason string        // another log line that must exist, and the reason that it contains
	told           string        // a text that the model receives; empty: none
}

func limitCases(bench *workbench) []limitCase {
	const call = `call: time {"zones":["Asia/Tokyo"]}`
	question, rules := party("nobody")
	bench.letGo("stock", "nobody")
	bench.letGo("prices", "nobody")
	return []limitCase{
		{
			name: "agent.limits.turn", more: "agent: {limits: {turn: 1500ms}}", question: "{{standin rate=20}} words: 500",
			line: "⚠️ This took too long, so I stopped. (error {id})", stop: "turn_limit", logged: "turn failed", reason: "the turn took too long",
		},
		{
			name: "agent.limits.first_token", more: "agent: {limits: {first_token: 1s}}", question: "{{standin first=60s}} words: 60",
			line: "⚠️ The model did not start to answer in time. (error {id})", stop: "first_token", logged: "turn failed", reason: "the model did not begin its answer in time",
		},
		{
			name: "agent.limits.silence", more: "agent: {limits: {silence: 1s}}", question: "{{standin stall=30 stall_for=60s}} words: 60",
			line: "⚠️ The model stopped answering. (error {id})", stop: "silence", logged: "turn failed", reason: "the model was silent for too long",
		},
		{
			name: "agent.limits.model_calls", more: "agent: {limits: {model_calls: 3}}", question: "{{standin again}} " + call + "\nBegin.",
			line: "(The limit of steps for one answer was reached, so this may be incomplete.)", stop: "call_limit", logged: "the turn ended early", reason: "call_limit",
		},
		{
			name: "agent.limits.tool_calls", more: "agent: {limits: {tool_calls: 2}}", question: call + "\n" + call + "\n" + call + "\nBegin.",
			line: "(The limit of tool calls for one answer was reached, so this may be incomplete.)", stop: "tool_limit", logged: "the turn ended early", reason: "tool_limit",
			told: "no more than 2 tools may be called for one answer",
		},
		{
			name: "models.max_output_tokens", models: ", max_output_tokens: 25", question: "words: 100",
			line: "(The answer reached the length limit and ends here.)", stop: "length", logged: "the turn ended early", reason: "length",
		},
		{
			name: "models.context_window", models: ", context_window: 1500, max_output_tokens: 200", question: strings.Repeat("all of this matters, ", 600),
			line: "This is too long for me. Please send it in smaller pieces.", stop: "too_long", logged: "the turn ended early", reason: "too_long",
		},
		{
			name: "tools.approval_timeout", more: "tools: {approval_timeout: 700ms}\n" + bench.section(), question: question, rules: rules,
			line: saysLast + "\n\nI didn't do something that needs approval, because nobody decided in time.", stop: "done", logged: "a tool call was decided", reason: "denied: nobody decided in time",
			told: "Not done: nobody approved this call in time.",
		},
	}
}

// A turn reaches a limit. The person must see a line about the limit, and the log must also contain such a line. The
// limit must also be the reason in the Result, which the last log line about the turn contains.
func TestLimits(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	cases := limitCases(bench)
	table := make([]string, len(cases))
	t.Run("each", func(t *testing.T) {
		for i, tt := range cases {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				table[i] = tt.run(t)
			})
		}
	})
	t.Logf("limit, the person's line, the Result's reason, what the log says\n%s", strings.Join(table, "\n"))
	if n := bench.runs("order", "nobody"); n != 0 {
		t.Errorf("what nobody approved ran %d times", n)
	}
}

// run makes a turn reach the limit, and returns a line for the table that the test logs.
func (c limitCase) run(t *testing.T) string {
	w := newWorld(t, telegram.Options{}, openai.Options{})
	for _, r := range c.rules {
		if err := w.model.Rule(r); err != nil {
			t.Fatal(err)
		}
	}
	p := w.daemon(sections{
		models:    fmt.Sprintf("[{name: main, base_url: %q, api_key: %q, model: standin%s}]", w.modelURL+"/v1", testKey, c.models),
		streaming: "{telegram: {enabled: true, min_tokens: 4, edit_interval: 0.3}}",
		more:      c.more,
	})
	if strings.Contains(c.more, "mcp_servers") {
		p.awaitLog("MCP server listed its tools", 1)
	}
	w.ask(c.question)
	line := p.awaitLog(c.logged, 1)[0]
	ended := p.awaitEnd()
	if got := ended.text("stop"); got != c.stop {
		t.Errorf("the Result's reason is %q, want %q", got, c.stop)
	}
	why := cmp.Or(line.text("decision"), line.text("error"), line.text("reason"))
	if !strings.Contains(why, c.reason) {
		t.Errorf("the log says %q, want %q", why, c.reason)
	}
	texts := w.texts(ada)
	want := strings.ReplaceAll(c.line, "{id}", ended.text("turn")[:8])
	if len(texts) != 1 || !strings.HasSuffix(texts[0], want) || strings.ContainsAny(texts[0], "▌⚙") {
		t.Errorf("ada sees %q, want %q at the end of one message", texts, want)
	}
	var told strings.Builder
	for _, r := range w.model.Requests() {
		told.Write(r.Body)
	}
	if !strings.Contains(told.String(), c.told) {
		t.Errorf("the model was not told %q", c.told)
	}
	return fmt.Sprintf("%-26s %-85s stop=%-10s %s: %q", c.name, want, ended.text("stop"), line.text("msg"), why)
}

// awaitEnd waits for the log line that reports the end of a turn, whether the turn succeeded or failed.
func (p *process) awaitEnd() (ended entry) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if !p.stderr.await(ctx, func(text string) bool {
		entries, _ := entriesOf(text) // the method log reports lines that are not JSON
		i := slices.IndexFunc(entries, func(e entry) bool { return e.text("stop") != "" })
		if i >= 0 {
			ended = entries[i]
		}
		return i >= 0
	}) {
		p.t.Fatalf("telex %s: no turn ended", p.name)
	}
	return ended
}
