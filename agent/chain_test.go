package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestAfterFailures(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	busy := &ModelError{Kind: Retryable, Err: errors.New("busy")}
	auth := &ModelError{Kind: Auth, Err: errors.New("no")}
	for _, tt := range []struct {
		name     string
		failures []error
		want     time.Duration
	}{
		{"never failed", nil, 0},
		{"once", []error{busy}, 0},
		{"twice", []error{busy, busy}, time.Minute},
		{"four times", []error{busy, busy, busy, busy}, 4 * time.Minute},
		{"for days", []error{busy, busy, busy, busy, busy, busy, busy, busy, busy, busy, busy, busy, busy, busy}, maxCooldown},
		{"silence", []error{errSilence, errSilence}, time.Minute},
		{"a wrong key rests at once", []error{auth}, time.Minute},
		{"no money either", []error{&ModelError{Kind: Quota}, &ModelError{Kind: Quota}}, 2 * time.Minute},
		{"told", []error{&ModelError{Kind: RateLimited, RetryAfter: 5 * time.Minute}}, 5 * time.Minute},
		{"told too long", []error{&ModelError{Kind: RateLimited, RetryAfter: 24 * time.Hour}}, maxCooldown},
	} {
		var s cooldown
		for _, err := range tt.failures {
			s = s.afterFailure(now, err)
		}
		if !s.over(now.Add(tt.want)) || tt.want > 0 && s.over(now.Add(tt.want-1)) {
			t.Errorf("%s: rests until %v, want %v", tt.name, s.until.Sub(now), tt.want)
		}
	}
}

func TestOrderOfModels(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var models []*chainModel
	for _, name := range []string{"a", "b", "c"} {
		models = append(models, &chainModel{ModelOptions: ModelOptions{Model: &script{name: name}}})
	}
	show := func(name string) string {
		var names []string
		for _, m := range order(models, name, now) {
			names = append(names, m.Model.Name())
		}
		return strings.Join(names, "")
	}
	if got := show("") + " " + show("b") + " " + show("x"); got != "abc bac abc" {
		t.Errorf("got %s", got)
	}
	models[0].recordFailure(now, &ModelError{Kind: Auth})
	models[2].recordFailure(now, &ModelError{Kind: Auth})
	if got := show("") + " " + show("c"); got != "bac bca" {
		t.Errorf("with two that rest: got %s", got)
	}
	models[0].recordSuccess()
	if got := show(""); got != "abc" {
		t.Errorf("after it worked: got %s", got)
	}
}

// chain runs a turn with models "main" and "spare".
func chain(t *testing.T, o Options, turn Turn, main, spare []answer) (ran, *script) {
	t.Helper()
	first, second := &script{answers: main}, &script{name: "spare", answers: spare}
	a := newAgentWith(t, o, first, second)
	var events []string
	r, err := a.Run(t.Context(), turn, func(e Event) { events = append(events, show(e)) })
	return ran{Result: r, err: err, events: strings.Join(events, " "), model: first}, second
}

func TestNextModelAnswers(t *testing.T) {
	fail := func(kind ErrorKind) answer {
		return answer{err: &ModelError{Kind: kind, Status: 503, Err: errors.New("no")}}
	}
	cut := answer{deltas: texts("He"), err: &ModelError{Kind: Broken, Err: errors.New("cut")}, c: Completion{}}
	spare := []answer{{deltas: texts("Hello."), c: Completion{Usage: &Usage{Prompt: 7, Completion: 2}}}}
	for _, tt := range []struct {
		name   string
		main   []answer
		events string
		asked  int // the number of requests to the first model
	}{
		{"a wrong key", []answer{fail(Auth)}, `text:"Hello."`, 1},
		{"no money", []answer{fail(Quota)}, `text:"Hello."`, 1},
		{"no such model", []answer{fail(BadRequest)}, `text:"Hello."`, 1},
		{"busy", []answer{fail(Retryable), fail(Retryable), fail(Retryable), fail(Retryable)}, `text:"Hello."`, 4},
		{"told to wait for long", []answer{{err: &ModelError{Kind: RateLimited, RetryAfter: 20 * time.Second, Err: errors.New("slow")}}}, `text:"Hello."`, 1},
		{"silent", []answer{{hang: true}, {hang: true}}, `text:"Hello."`, 2},
		{"silent midway", []answer{{deltas: texts("He"), hang: true}, {hang: true}}, `text:"He" reset text:"Hello."`, 2},
		{"broken for good", []answer{cut, fail(Auth)}, `text:"He" reset text:"Hello."`, 2},
		{"no money midway", []answer{{deltas: texts("He"), err: &ModelError{Kind: Quota, Err: errors.New("no")}}}, `text:"He" reset text:"Hello."`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, second := chain(t, Options{Limits: Limits{FirstToken: time.Second, Silence: time.Second}}, streamed, tt.main, spare)
				got.check(t, StopDone, "Hello.", tt.events)
				if got.Model != "spare" || len(got.model.requests) != tt.asked || len(second.requests) != 1 || got.err != nil {
					t.Errorf("%s answered, asked %d and %d times, error %v", got.Model, len(got.model.requests), len(second.requests), got.err)
				}
				calls := 0
				for _, s := range got.UsageByModel {
					calls += s.Calls
				}
				if last := got.UsageByModel[len(got.UsageByModel)-1]; last.Model != "spare" || last.Usage.Prompt != 7 || got.Usage.Prompt != 7 || got.ModelCalls != calls {
					t.Errorf("usage %+v", got.UsageByModel)
				}
			})
		})
	}
}

func TestNextModelIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, second := chain(t, Options{}, streamed, []answer{{err: &ModelError{Kind: Filtered, Err: errors.New("policy")}}}, nil)
		got.check(t, StopFiltered, DefaultLines()[StopFiltered], "")
		if len(second.requests) > 0 {
			t.Error("another model was asked what a filter had stopped")
		}
		got, second = chain(t, Options{Limits: Limits{ModelCalls: 1}}, streamed, []answer{{deltas: texts("He"), err: &ModelError{Kind: Quota, Err: errors.New("no")}}}, nil)
		if got.Stop != StopCalls || len(second.requests) > 0 {
			t.Errorf("%s, %d more requests", got.Stop, len(second.requests))
		}
		got, _ = chain(t, Options{Limits: Limits{Turn: time.Second}}, streamed, []answer{{deltas: texts("He"), hang: true}}, nil)
		got.check(t, StopTimeLimit, "He", `text:"He"`)
	})
}

// If all models fail, the reply keeps the text of the last attempt.
func TestNoModelAnswers(t *testing.T) {
	t.Parallel()
	auth := answer{err: &ModelError{Kind: Auth, Err: errors.New("no")}}
	got, _ := chain(t, Options{}, streamed, []answer{{deltas: texts("He"), err: &ModelError{Kind: Quota, Err: errors.New("no")}}}, []answer{auth})
	got.check(t, StopError, "He", `text:"He"`)
	if got.Model != "main" || !isKind(got.err, Auth) || len(got.Append) != 1 {
		t.Errorf("%s, error %v, grew by %v", got.Model, got.err, got.Append)
	}
}

// If a model fails after tool calls, the next model continues the turn. The text before the tool calls, which people have
// read, stays.
func TestNextModelContinuesAfterTools(t *testing.T) {
	t.Parallel()
	got, second := chain(t, Options{Tools: workshop()}, streamed,
		[]answer{called("First.", "read {}"), {deltas: texts("Sec"), err: &ModelError{Kind: Quota, Err: errors.New("no")}}},
		[]answer{called("Second.", "read {}"), {deltas: texts("Third.")}})
	got.check(t, StopDone, "First.\n\nSecond.\n\nThird.", strings.Join([]string{
		`text:"First."`, `a:identified:"read"`, `a:executing:"read"`, `a:completed:"read"`, `text:"\n\nSec"`, `reset`, `text:"First."`,
		`text:"\n\nSecond."`, `a_2:identified:"read"`, `a_2:executing:"read"`, `a_2:completed:"read"`, `text:"\n\nThird."`,
	}, " "))
	if len(second.requests) != 2 || len(got.UsageByModel) != 2 || got.UsageByModel[0].Calls != 2 || got.UsageByModel[1].Calls != 2 || got.ModelCalls != 4 {
		t.Errorf("usage %+v", got.UsageByModel)
	}
	checkAnswered(t, second.requests[1].Messages)
}

func TestFailingModelRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer{err: &ModelError{Kind: Auth, Err: errors.New("no")}}
		main, spare := &script{answers: []answer{busy, {deltas: texts("Back.")}}}, &script{name: "spare"}
		a := newAgentWith(t, Options{}, main, spare)
		for i, want := range []string{"spare", "spare", "main"} {
			spare.answers = []answer{{deltas: texts("Hello.")}}
			r, err := a.Run(t.Context(), streamed, func(Event) {})
			if err != nil || r.Model != want {
				t.Errorf("turn %d: %s answered, %v, want %s", i+1, r.Model, err, want)
			}
			if i == 1 {
				time.Sleep(firstCooldown)
			}
		}
		if len(main.requests) != 2 {
			t.Errorf("the first model was asked %d times", len(main.requests))
		}
	})
}

// A question that is too long for one model goes to a model with a larger window, and to no other.
func TestTooLongForOneModel(t *testing.T) {
	t.Parallel()
	small := ModelOptions{Model: &narrow{window: 500, output: 100, factor: 1}, Window: 500, MaxOutput: 100}
	tiny, wide := &script{name: "tiny"}, &script{name: "wide", answers: []answer{{c: Completion{Text: "Hello."}}}}
	a := newAgent(t, small, ModelOptions{Model: tiny, Window: 400, MaxOutput: 100}, ModelOptions{Model: wide, Window: 5000, MaxOutput: 100})
	r, err := a.Run(t.Context(), Turn{Messages: []Message{{Role: User, Text: strings.Repeat("word ", 1000)}}}, func(Event) {})
	if err != nil || r.Model != "wide" || r.Window != 5000 || len(tiny.requests) > 0 {
		t.Errorf("%s answered with a window of %d, %v; the tiny one was asked %d times", r.Model, r.Window, err, len(tiny.requests))
	}
	r, err = a.Run(t.Context(), Turn{Messages: []Message{{Role: User, Text: strings.Repeat("word ", 10_000)}}}, func(Event) {})
	if err != nil || r.Stop != StopTooLong || fmt.Sprint(r.Append) != "[]" {
		t.Errorf("%s, %v", r.Stop, err)
	}
}

// If the history was cut for one model, the next model gets the whole history again.
func TestNextModelGetsTheWholeHistory(t *testing.T) {
	t.Parallel()
	long := answer{err: &ModelError{Kind: ContextLength, Status: 400, Err: errors.New("too long")}}
	turn := ask(chat(2, 20), "and now?")
	got, second := chain(t, Options{}, turn, []answer{long, long, long, long}, []answer{{deltas: texts("Hello.")}})
	if got.Text != "Hello." || len(got.model.requests) == 4 || len(second.requests) != 1 || len(second.requests[0].Messages) != len(turn.Messages) {
		t.Errorf("got %q after %d and %d requests, the last with\n%s", got.Text, len(got.model.requests), len(second.requests), transcript(second.requests[0].Messages))
	}
}
