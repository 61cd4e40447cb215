package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"telex/standin/openai"
)

// statuses asks the same question n times and returns the status codes.
func (p *provider) statuses(question string, n int) []int {
	p.t.Helper()
	var list []int
	for range n {
		list = append(list, p.ask(question).status)
	}
	return list
}

func TestRules(t *testing.T) {
	t.Parallel()
	const question = "say: to be or not to be"
	for _, tc := range []struct {
		name  string
		rules []openai.Rule
		want  []int
	}{
		{"none", nil, []int{200, 200}},
		{"all", []openai.Rule{{Do: "status=500"}}, []int{500, 500}},
		{"times", []openai.Rule{{Times: 2, Do: "status=500"}}, []int{500, 500, 200}},
		{"skip", []openai.Rule{{Skip: 1, Times: 1, Do: "status=500"}}, []int{200, 500, 200}},
		{"part", []openai.Rule{{Match: "or not", Do: "status=500"}}, []int{500}},
		{"other part", []openai.Rule{{Match: "Or", Do: "status=500"}}, []int{200}},
		{"expression", []openai.Rule{{Regex: `^say.*\bbe$`, Do: "status=500"}}, []int{500}},
		{"model", []openai.Rule{{Model: "standin", Do: "status=500"}}, []int{500}},
		{"other model", []openai.Rule{{Model: "gpt", Do: "status=500"}}, []int{200}},
		{"oldest first", []openai.Rule{{Times: 1, Do: "status=500"}, {Do: "status=409"}}, []int{500, 409, 409}},
		{"not for streams", []openai.Rule{{Do: "on=plain status=500"}}, []int{200}},
		{"can't stream", []openai.Rule{{Do: "refuse=stream"}}, []int{400}},
	} {
		p := start(t, openai.Options{})
		for _, r := range tc.rules {
			p.rule(r)
		}
		if got := p.statuses(question, len(tc.want)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: statuses %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestRulesRefused(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, r := range []openai.Rule{
		{Do: "nonsense=1"}, {Do: `say="open`}, {Do: "times=1"}, {Do: "skip=1"}, {Regex: "(", Do: "empty"}, {Times: -1, Do: "empty"}, {Skip: -1},
	} {
		if err := p.Rule(r); err == nil {
			t.Errorf("rule %+v was taken, want an error", r)
		}
	}
}

func TestDirectiveCountsAndWins(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	if got, want := p.statuses("{{standin status=503 times=2}} say: x", 3), []int{503, 503, 200}; !slices.Equal(got, want) {
		t.Errorf("times=2: statuses %v, want %v", got, want)
	}
	if got, want := p.statuses("{{standin status=503 skip=1 times=1}} say: x", 3), []int{200, 503, 200}; !slices.Equal(got, want) {
		t.Errorf("skip=1 times=1: statuses %v, want %v", got, want)
	}
	p.rule(openai.Rule{Do: "status=500 retry_after=7"})
	got := p.ask("{{standin status=409}} x")
	if got.status != 409 || got.header.Get("Retry-After") != "7" {
		t.Errorf("status %d, Retry-After %q, want the directive's 409 and the rule's 7", got.status, got.header.Get("Retry-After"))
	}
	if r := p.last(); r.Rule != 1 || r.Question != "x" {
		t.Errorf("record: rule %d, question %q, want 1 and x", r.Rule, r.Question)
	}
}

func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	p.rule(openai.Rule{Do: "refuse=stream,max_tokens"})
	for _, tc := range []struct {
		extra       string
		stream      bool
		status      int
		param, code string
	}{
		{`"top_p":1`, false, 200, "", ""},
		{`"top_p":1`, true, 400, "stream", "unsupported_value"},
		{`"max_tokens":5`, false, 400, "max_tokens", "unsupported_parameter"},
		{`"max_completion_tokens":5`, false, 200, "", ""},
	} {
		got := p.post("/v1/chat/completions", strings.Replace(request(t, "say: x", tc.stream), "{", "{"+tc.extra+",", 1))
		if got.status != tc.status {
			t.Errorf("%s, stream %v: status %d, want %d", tc.extra, tc.stream, got.status, tc.status)
			continue
		}
		if got.status == 400 {
			if _, _, param, code := apiError(t, got.body); param != tc.param || code != tc.code {
				t.Errorf("%s, stream %v: param %q, code %q, want %q, %q", tc.extra, tc.stream, param, code, tc.param, tc.code)
			}
		}
	}
}

func TestControlAPI(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-secret"})
	if got := p.post("/control/rule", `{"match":"x","times":1,"do":"status=500"}`); got.status != 201 {
		t.Errorf("add a rule: %d %s", got.status, got.body)
	}
	for _, bad := range []string{`{`, `{"mach":"x"}`, `{"do":"what"}`} {
		if got := p.post("/control/rule", bad); got.status != 400 {
			t.Errorf("add the rule %s: %d, want 400", bad, got.status)
		}
	}
	if got := p.get(t.Context(), "/control/rule"); got.body != `[{"number":1,"rule":{"match":"x","times":1,"do":"status=500"},"seen":0}]` {
		t.Errorf("rules: %s", got.body)
	}
	p.ask("without a key")
	p.post("/v1/chat/completions", "not JSON")
	for _, tc := range []struct {
		query string
		ids   []int
	}{{"", []int{1, 2}}, {"?after=1", []int{2}}, {"?after=2", nil}} {
		var list []openai.Request
		got := p.get(t.Context(), "/control/requests"+tc.query)
		if err := json.Unmarshal([]byte(got.body), &list); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		var ids []int
		for _, r := range list {
			ids = append(ids, r.ID)
			if r.Status != 401 || r.End != openai.EndRefused || r.Ended.IsZero() {
				t.Errorf("request %d: status %d, end %q at %v, want 401 refused", r.ID, r.Status, r.End, r.Ended)
			}
		}
		if !slices.Equal(ids, tc.ids) {
			t.Errorf("requests%s: ids %v, want %v", tc.query, ids, tc.ids)
		}
	}
	if got := p.get(t.Context(), "/control/requests?after=x"); got.status != 400 {
		t.Errorf("after=x: %d, want 400", got.status)
	}
	if got := p.get(t.Context(), "/control/answer?question=words:+2"); got.body != "one two" {
		t.Errorf("answer: %q", got.body)
	}
	if got := p.get(t.Context(), "/control/stats"); !strings.Contains(got.body, `"requests":2,"active":0,"max_active":1,"complete":0,"refused":2`) {
		t.Errorf("stats: %s", got.body)
	}
	if got := p.post("/control/reset", ""); got.status != 204 {
		t.Errorf("reset: %d", got.status)
	}
	if got := p.Stats(); got != (openai.Stats{}) || len(p.Requests()) > 0 {
		t.Errorf("after the reset: %+v, %d requests", got, len(p.Requests()))
	}
}

func TestRecordsHoldTheRequest(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	sent := request(t, "words: 3", true)
	p.post("/v1/chat/completions", sent)
	r := p.last()
	if string(r.Body) != sent || r.Path != "/v1/chat/completions" || r.Method != "POST" || r.Model != "standin" {
		t.Errorf("record: %s %s %s, body %s", r.Method, r.Path, r.Model, r.Body)
	}
	var bytes []int
	for _, m := range r.Marks {
		bytes = append(bytes, m.Bytes)
	}
	if want := []int{3, 7, 13}; !slices.Equal(bytes, want) {
		t.Errorf("marks %v, want %v", bytes, want)
	}
	if r.FirstToken.Before(r.Time) || r.LastToken.Before(r.FirstToken) || r.Ended.Before(r.LastToken) {
		t.Errorf("times are out of order: %v", fmt.Sprint(r.Time, r.FirstToken, r.LastToken, r.Ended))
	}
}
