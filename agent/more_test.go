package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newAgent(t *testing.T, models ...ModelOptions) *Agent {
	t.Helper()
	a, err := New(Options{Models: models, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newAgentWith returns an agent with models that have no limits.
func newAgentWith(t *testing.T, o Options, models ...Model) *Agent {
	t.Helper()
	for _, m := range models {
		o.Models = append(o.Models, ModelOptions{Model: m})
	}
	o.Log = slog.New(slog.DiscardHandler)
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// meanwhile returns a function for Turn.More. Each call of the function returns the next of the texts as a message; an empty
// text means no message.
func meanwhile(texts ...string) func(context.Context) []Message {
	return func(context.Context) []Message {
		if len(texts) == 0 {
			return nil
		}
		text := texts[0]
		texts = texts[1:]
		if text == "" {
			return nil
		}
		return []Message{{Role: User, Text: text}}
	}
}

func said(messages []Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s:%s", m.Role, m.Text))
	}
	return strings.Join(out, " ")
}

func TestMessagesDuringATurn(t *testing.T) {
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	busy := answer{err: &ModelError{Kind: Retryable, Status: 503, Err: errors.New("busy")}}
	denied := answer{err: &ModelError{Kind: Auth, Status: 401, Err: errors.New("no")}}
	for _, tt := range []struct {
		name    string
		more    []string
		answers []answer
		asked   []string
		grown   string
	}{
		{
			"nothing",
			[]string{""},
			[]answer{{deltas: texts("Hello.")}},
			[]string{"user:hi"},
			"assistant:Hello.",
		},
		{
			"before the first request",
			[]string{"and?"},
			[]answer{{deltas: texts("Hello.")}},
			[]string{"user:hi user:and?"},
			"user:and? assistant:Hello.",
		},
		{
			"after a wait",
			[]string{"", "and?"},
			[]answer{busy, {deltas: texts("Hello.")}},
			[]string{"user:hi", "user:hi user:and?"},
			"user:and? assistant:Hello.",
		},
		{
			"after a broken stream",
			[]string{"a", "b"},
			[]answer{{deltas: texts("He"), err: broke}, {c: Completion{Text: "Hello."}}},
			[]string{"user:hi user:a", "user:hi user:a user:b"},
			"user:a user:b assistant:Hello.",
		},
		{
			"the broken stream's text stays",
			[]string{"a", "b"},
			[]answer{{deltas: texts("He"), err: broke}, denied},
			[]string{"user:hi user:a", "user:hi user:a user:b"},
			"user:a assistant:He user:b",
		},
		{
			"no answer",
			[]string{"a"},
			[]answer{denied},
			[]string{"user:hi user:a"},
			"user:a",
		},
		{
			"refusal",
			[]string{"a"},
			[]answer{{deltas: []Delta{{Refusal: "No."}}}},
			[]string{"user:hi user:a"},
			"user:a assistant:No.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := streamed
				turn.More = meanwhile(tt.more...)
				got := runTurn(t, t.Context(), Options{}, turn, tt.answers...)
				var asked []string
				for _, r := range got.model.requests {
					asked = append(asked, said(r.Messages))
				}
				if fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", tt.asked) || said(got.Append) != tt.grown {
					t.Errorf("asked %q, grew by %q\nwant %q, %q", asked, said(got.Append), tt.asked, tt.grown)
				}
			})
		})
	}
	if got := said(streamed.Messages); got != "user:hi" {
		t.Errorf("the turn's messages became %q", got)
	}
}

// If people write messages while older messages are being summarized, the new messages are not summarized.
func TestMessagesDuringATurnAreNotSummarized(t *testing.T) {
	t.Parallel()
	turn := ask(chat(20, 100), "and now?")
	turn.More = meanwhile("or then?")
	got := runTurn(t, t.Context(), windowed(2000, 200), turn, answer{c: Completion{Text: "A summary."}}, answer{deltas: texts("Hello.")})
	asked := said(got.model.requests[1].Messages)
	if !strings.HasSuffix(asked, "user:and now? user:or then?") || said(got.Append) != "user:or then? assistant:Hello." || got.Compaction.Messages >= 40 {
		t.Errorf("asked with %q, grew by %q, %+v", asked, said(got.Append), got.Compaction)
	}
}

func TestTurnNamesItsModel(t *testing.T) {
	t.Parallel()
	small := &narrow{window: 5000, output: 100, factor: 1}
	main := &script{answers: []answer{{c: Completion{Text: "I am main."}}, {c: Completion{Text: "I am main."}}}}
	a := newAgent(t, ModelOptions{Model: main}, ModelOptions{Model: small, Window: 5000})
	if got := fmt.Sprint(a.Models()); got != "[main narrow]" {
		t.Errorf("models %s", got)
	}
	for name, want := range map[string]string{"": "main", "unknown": "main", "narrow": "narrow"} {
		r, err := a.Run(t.Context(), Turn{Model: name, Messages: []Message{{Role: User, Text: "hi"}}}, func(Event) {})
		if err != nil || r.Model != want || (want == "narrow") != (r.Window == 5000) {
			t.Errorf("%q: answered by %s with a window of %d, error %v", name, r.Model, r.Window, err)
		}
	}
}

// If an answer breaks off, the tokens of its received part are estimated, even if the provider reported the usage of an
// earlier answer of the turn.
func TestEstimatedCompletion(t *testing.T) {
	const step, more = 5, 100 // completion tokens that the provider reports for answers
	long := texts(strings.Repeat("word ", 100))
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	for _, tt := range []struct {
		name    string
		answers []answer
		told    int
		guessed bool
	}{
		{"told", []answer{called("", "read {}"), {deltas: long, c: Completion{Usage: &Usage{Completion: more}}}}, step + more, false},
		{"cut after a step", []answer{called("", "read {}"), {deltas: long, hang: true}, {err: &ModelError{Kind: Auth, Status: 401, Err: errors.New("no")}}}, step, true},
		{"not told after a step", []answer{called("", "read {}"), {deltas: long}}, step, true},
		{"broken, and asked again", []answer{{deltas: long, err: broke}, {c: Completion{Text: "Hello.", Usage: &Usage{Completion: 2}}}}, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Limits: Limits{Silence: time.Second}, Tools: workshop()}
				got := runTurn(t, t.Context(), o, streamed, tt.answers...)
				least := 0
				if tt.guessed {
					least = EstimateTokens(long[0].Text)
				}
				if got.Usage.Completion != tt.told || got.EstimatedCompletion != least || got.UsageByModel[0].EstimatedCompletion != least {
					t.Errorf("told %d, guessed %d (%+v), want %d and %d", got.Usage.Completion, got.EstimatedCompletion, got.UsageByModel, tt.told, least)
				}
			})
		})
	}
	got := runTurn(t, t.Context(), Options{}, Turn{Messages: streamed.Messages}, answer{c: Completion{Text: "Hello there."}})
	if want := EstimateTokens("Hello there."); got.EstimatedCompletion != want {
		t.Errorf("a whole answer: guessed %d, want %d", got.EstimatedCompletion, want)
	}
}

func TestEstimatedPrompt(t *testing.T) {
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	prompt := Request{Messages: streamed.Messages}.tokens()
	for _, tt := range []struct {
		name    string
		answers []answer
		want    int
	}{
		{"told", []answer{{deltas: texts("Hello."), c: Completion{Usage: &Usage{Prompt: 9}}}}, 0},
		{"not told", []answer{{deltas: texts("Hello.")}}, prompt},
		{"refused", []answer{{err: &ModelError{Kind: Auth, Err: errors.New("no")}}}, 0},
		{"cut", []answer{{deltas: texts("He"), err: broke}, {c: Completion{Text: "Hello.", Usage: &Usage{Prompt: 9}}}}, prompt},
		{"cut for good", []answer{{deltas: texts("He"), err: &ModelError{Kind: Quota, Err: errors.New("no")}}}, prompt},
		{"silent, and asked again", []answer{{hang: true}, {hang: true}}, 2 * prompt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := runTurn(t, t.Context(), Options{Limits: Limits{FirstToken: 1e9, Silence: 1e9}}, streamed, tt.answers...)
				if got.EstimatedPrompt != tt.want {
					t.Errorf("got %d, want %d", got.EstimatedPrompt, tt.want)
				}
			})
		})
	}
}
