package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// If a stream falls silent, the answer is requested once more, even if there is no other model.
func TestRepeat_silentStream(t *testing.T) {
	o := Options{Limits: Limits{Turn: time.Hour, FirstToken: 20 * time.Second, Silence: 10 * time.Second}}
	told := &Usage{Prompt: 5, Completion: 2}
	for _, tt := range []struct {
		name   string
		first  answer
		events string
		after  time.Duration
	}{
		{"before the first token", answer{hang: true}, `text:"Hello."`, 20 * time.Second},
		{"midway", answer{deltas: texts("He"), hang: true}, `text:"He" reset text:"Hello."`, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := runTurn(t, t.Context(), o, streamed, tt.first, answer{deltas: texts("Hel", "lo."), c: Completion{Usage: told}})
				want := tt.events
				if tt.first.deltas == nil { // no text of the first answer was emitted, so the second answer is emitted while it arrives
					want = `text:"Hel" text:"lo."`
				}
				got.check(t, StopDone, "Hello.", want)
				if got.Elapsed != tt.after || got.err != nil || got.ModelCalls != 2 || got.Usage != *told || got.EstimatedPrompt == 0 {
					t.Errorf("after %v, error %v, %d calls, usage %+v and %d", got.Elapsed, got.err, got.ModelCalls, got.Usage, got.EstimatedPrompt)
				}
			})
		})
	}
}

// F60: deltas without content and repeated states of a call count as silence. Only content ends the silence.
func TestSilence_emptyDeltasF60(t *testing.T) {
	o := Options{Limits: Limits{Turn: time.Hour, FirstToken: 20 * time.Second, Silence: 10 * time.Second}, Tools: workshop()}
	call := func(arguments string) Delta {
		return Delta{Call: &CallDelta{ID: "a", Name: "read", Arguments: arguments}}
	}
	empty := make([]Delta, 100)
	same := make([]Delta, 100)
	for i := range same {
		same[i] = call(`{"se`)
	}
	growing := []Delta{call(`{`), call(`{"se`), call(`{"seconds"`), call(`{"seconds":0`)}
	for _, tt := range []struct {
		name   string
		deltas []Delta
		stop   StopReason
		after  time.Duration
	}{
		{"nothing but empty ones", empty, StopFirstToken, 40 * time.Second},
		{"after a word", append(texts("a"), empty...), StopSilence, 36 * time.Second},
		{"a call that does not grow", same, StopSilence, 36 * time.Second},
		{"a call that grows", growing, StopEmpty, 4 * 8 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := answer{deltas: tt.deltas, every: 8 * time.Second}
				got := runTurn(t, t.Context(), o, streamed, a, a)
				if got.Stop != tt.stop || got.Elapsed != tt.after {
					t.Errorf("got %s after %v, want %s after %v (%v)", got.Stop, got.Elapsed, tt.stop, tt.after, got.err)
				}
			})
		})
	}
}

// The time limit for the first token may be longer than the limit on silence.
func TestSilence_firstTokenHasItsOwnLimit(t *testing.T) {
	o := Options{Limits: Limits{Turn: time.Hour, FirstToken: 120 * time.Second, Silence: 60 * time.Second}}
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), o, streamed, answer{deltas: texts("Hello."), every: 119 * time.Second})
		got.check(t, StopDone, "Hello.", `text:"Hello."`)
	})
	synctest.Test(t, func(t *testing.T) {
		late := answer{deltas: texts("a", "b"), every: 61 * time.Second}
		got := runTurn(t, t.Context(), o, streamed, late, late)
		got.check(t, StopSilence, "a", `text:"a"`)
	})
}

// Once a provider has begun to work on a request, each attempt may cost as much as a whole answer, so there is only one more
// attempt. Every attempt that reached a provider is counted in the usage.
func TestRepeat_onlyOnceAfterWorkBegan(t *testing.T) {
	status := func(kind ErrorKind, status int) answer {
		return answer{err: &ModelError{Kind: kind, Status: status, Err: errors.New("no")}}
	}
	cut := answer{deltas: texts("He"), err: &ModelError{Kind: Broken, Err: errors.New("cut")}}
	empty := status(Broken, 200)
	lost := status(Retryable, 0) // the error of a connection that is lost before the response's header
	refused := answer{err: &ModelError{Kind: Retryable, NotSent: true, Err: errors.New("connection refused")}}
	busy := status(Retryable, 503)
	for _, tt := range []struct {
		name     string
		answers  []answer
		requests int
		calls    int
		guessed  int // attempts whose prompt tokens are estimated
	}{
		{"cut each time", []answer{cut, cut, cut, cut, cut}, 2, 2, 2},
		{"an empty stream each time", []answer{empty, empty, empty, empty, empty}, 2, 2, 2},
		{"cut, then each time without a word", []answer{cut, empty, empty, empty, empty}, 2, 2, 2},
		{"the connection lost each time", []answer{lost, lost, lost, lost, lost}, 2, 2, 2},
		{"a gateway that waits no longer", []answer{status(Retryable, 504), status(Retryable, 504), cut, cut}, 2, 2, 2},
		{"cut, and busy", []answer{cut, busy, busy, busy, busy, cut}, 5, 5, 1},
		{"busy", []answer{busy, busy, busy, busy, cut}, 4, 4, 0},
		{"not reached", []answer{refused, refused, refused, refused, cut}, 4, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := runTurn(t, t.Context(), Options{}, streamed, tt.answers...)
				prompt := Request{Messages: streamed.Messages}.tokens()
				if len(got.model.requests) != tt.requests || got.ModelCalls != tt.calls || got.EstimatedPrompt != tt.guessed*prompt {
					t.Errorf("%d requests, %d calls, %d of %d tokens guessed; want %d, %d, %d prompts",
						len(got.model.requests), got.ModelCalls, got.EstimatedPrompt, prompt, tt.requests, tt.calls, tt.guessed)
				}
			})
		})
	}
}

// Refused attempts count towards the limit of model calls. When the limit is reached, Run returns the provider's last error.
func TestModelCalls_refusedAttemptsCount(t *testing.T) {
	busy := answer{err: &ModelError{Kind: Retryable, Status: 503, Err: errors.New("busy")}}
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), Options{Limits: Limits{ModelCalls: 3}}, streamed, busy, busy, busy, busy)
		if len(got.model.requests) != 3 || got.ModelCalls != 3 || got.Stop != StopError || !isKind(got.err, Retryable) {
			t.Errorf("%d requests, %d calls, %s: %v", len(got.model.requests), got.ModelCalls, got.Stop, got.err)
		}
	})
}

// The usage that a provider reports for a failed answer is counted as reported, not estimated.
func TestUsage_ofFailedAnswers(t *testing.T) {
	t.Parallel()
	failed := &ModelError{Kind: Broken, Status: 200, Usage: &Usage{Prompt: 7, Completion: 3, Reasoning: 2}, Err: errors.New("failed")}
	got := runTurn(t, t.Context(), Options{}, streamed,
		answer{deltas: texts("He"), err: failed}, answer{deltas: texts("Hello."), c: Completion{Usage: &Usage{Prompt: 7, Completion: 1}}})
	if want := (Usage{Prompt: 14, Completion: 4, Reasoning: 2}); got.Usage != want || got.EstimatedPrompt+got.EstimatedCompletion != 0 || got.ModelCalls != 2 {
		t.Errorf("usage %+v, guessed %d and %d, %d calls", got.Usage, got.EstimatedPrompt, got.EstimatedCompletion, got.ModelCalls)
	}
}

// A model falls silent while it writes a summary. The limit on silence ends the call for the summary, and the turn continues
// without a summary.
func TestSilence_ofSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := windowed(2000, 200)
		o.Limits = Limits{Turn: time.Hour, FirstToken: 20 * time.Second, Silence: 10 * time.Second}
		got := runTurn(t, t.Context(), o, ask(chat(20, 100), "and now?"),
			answer{deltas: texts("A"), hang: true}, answer{deltas: texts("Hello.")})
		got.check(t, StopDone, "Hello.", `text:"Hello."`)
		if got.Elapsed != 10*time.Second || got.Compaction != nil {
			t.Errorf("after %v, %+v", got.Elapsed, got.Compaction)
		}
	})
}

// If a turn is not streamed, the model still streams its answer, and the agent emits the text in one piece. Requests that the
// provider refused because of their form count as model calls.
func TestStream_alsoUnstreamedAnswers(t *testing.T) {
	t.Parallel()
	turn := Turn{Messages: streamed.Messages}
	got := runTurn(t, t.Context(), Options{}, turn, answer{deltas: texts("Hel", "lo.")})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	got = runTurn(t, t.Context(), Options{}, turn, answer{c: Completion{Text: "Hello.", Refused: 1}})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	if got.ModelCalls != 2 {
		t.Errorf("%d calls", got.ModelCalls)
	}
}

// The journal stores the usage before each further attempt and with each step. If another process continues the turn, its
// Result includes the stored usage.
func TestJournal_storesTheUsage(t *testing.T) {
	t.Parallel()
	used := func(n int) *Usage { return &Usage{Prompt: n, Completion: 1} }
	j := &journal{}
	turn := streamed
	turn.Journal = j
	var seen []string
	first := &spy{script: script{answers: []answer{
		{deltas: texts("He"), err: &ModelError{Kind: Broken, Usage: used(3), Err: errors.New("cut")}},
		{deltas: texts("Let me see."), c: Completion{Usage: used(4), ToolCalls: []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}}},
		{err: &ModelError{Kind: Auth, Status: 401, Err: errors.New("no")}},
	}}, before: func() { seen = append(seen, fmt.Sprint(j.usage)) }}
	a := newAgentWith(t, Options{Tools: workshop()}, first)
	r, _ := a.Run(t.Context(), turn, func(Event) {})
	want := []string{"[]", "[{main {3 0 1 0} 1 1 0 0}]", "[{main {7 0 2 0} 2 4 0 0}]"}
	if fmt.Sprint(seen) != fmt.Sprint(want) || j.usageWrites != 1 || r.ModelCalls != 3 {
		t.Errorf("the journal had\n%q, want\n%q; %d writes beside the steps, %d calls", seen, want, j.usageWrites, r.ModelCalls)
	}

	turn.Journal, turn.Steps, turn.EarlierUsage = nil, j.steps, append(j.usage, ModelUsage{Model: "gone", EstimatedPrompt: 40, EstimatedCompletion: 2, Estimate: 2, Calls: 1})
	got := runTurn(t, t.Context(), Options{Tools: workshop(), Limits: Limits{ModelCalls: 5}}, turn, answer{deltas: texts("Done."), c: Completion{Usage: used(5)}})
	if got.Usage != (Usage{Prompt: 12, Completion: 3}) || got.EstimatedPrompt != 40 || got.ModelCalls != 4 || len(got.UsageByModel) != 2 || got.Stop != StopDone {
		t.Errorf("%s: %+v, %d calls", got.Stop, got.UsageByModel, got.ModelCalls)
	}
}

// spy is a script that calls the function before at the beginning of each answer.
type spy struct {
	script
	before func()
}

func (s *spy) Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error) {
	s.before()
	return s.script.Stream(ctx, r, emit)
}
