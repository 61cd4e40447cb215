package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// checkComplete checks the fields that every Result must have, however the turn ended.
func (r ran) checkComplete(t *testing.T) {
	t.Helper()
	if r.Stop == "" || r.Model == "" || r.ModelCalls == 0 || r.Elapsed < 0 {
		t.Errorf("not complete: %+v", r.Result)
	}
	var sum Usage
	calls := 0
	for _, s := range r.UsageByModel {
		sum, calls = sum.Add(s.Usage), calls+s.Calls
	}
	if sum != r.Usage || calls != r.ModelCalls {
		t.Errorf("used %+v in %d calls, by model %+v", r.Usage, r.ModelCalls, r.UsageByModel)
	}
	if (r.err != nil) != r.Partial {
		t.Errorf("partial %v, error %v", r.Partial, r.err)
	}
	checkAnswered(t, r.Append)
	last := map[string]string{}
	for e := range strings.FieldsSeq(r.events) {
		if id, state, ok := strings.Cut(e, ":"); ok && id != "text" {
			last[id], _, _ = strings.Cut(state, ":")
		}
	}
	for id, state := range last {
		if state != "completed" && state != "failed" {
			t.Errorf("call %s was left %s", id, state)
		}
	}
}

// If a limit ends a turn, Result.Stop names the limit. Either the log names the limit, too, and a line tells people about the
// limit, or the error names the limit, and the caller logs this error. If a single tool call takes too long, the log reports
// this call.
func TestEachLimitIsReported(t *testing.T) {
	lines := DefaultLines()
	usage := Completion{Usage: &Usage{Prompt: 10, Completion: 5}}
	done := answer{deltas: texts("Done."), c: usage}
	read := called("Let me see.", "read {}")
	long := Completion{Finish: FinishLength, Usage: &Usage{Prompt: 10, Completion: 5}}
	for _, tt := range []struct {
		name    string
		o       Options
		turn    Turn
		answers []answer
		stop    StopReason
		text    string
		grew    string
		reason  string // in the log, or in the error
		models  int
		tools   int
	}{
		{
			"turn time",
			Options{Limits: Limits{Turn: 5 * time.Second}},
			streamed,
			[]answer{read, called("More.", `read {"seconds":9}`), done},
			StopTimeLimit,
			"Let me see.\n\nMore.", "assistant:Let me see.[a read {}]\ntool a:did {}\nassistant:More.[a_2 read {\"seconds\":9}]\ntool a_2:" + resultStopped,
			"turn_limit", 2, 2,
		},
		{
			"silence",
			Options{Limits: Limits{Silence: 2 * time.Second}},
			streamed,
			[]answer{read, {deltas: texts("Do"), hang: true}, {deltas: texts("D"), hang: true}},
			StopSilence,
			"Let me see.\n\nDo", "assistant:Let me see.[a read {}]\ntool a:did {}\nassistant:Do", "silence", 3, 1,
		},
		{
			"model calls",
			Options{Limits: Limits{ModelCalls: 2}},
			streamed,
			[]answer{read, done},
			StopCalls,
			"Let me see.\n\nDone.\n\n" + lines[StopCalls], "assistant:Let me see.[a read {}]\ntool a:did {}\nassistant:Done.", "call_limit", 2, 1,
		},
		{
			"tool calls",
			Options{Limits: Limits{ToolCalls: 1}},
			streamed,
			[]answer{called("Let me see.", "read {}", "read {}"), done},
			StopToolCalls,
			"Let me see.\n\nDone.\n\n" + lines[StopToolCalls],
			"assistant:Let me see.[a read {}][b read {}]\ntool a:did {}\ntool b:Error: no more than 1 tools may be called for one answer. Answer with what you know.\nassistant:Done.",
			"tool_limit", 2, 1,
		},
		{
			"output",
			Options{},
			streamed,
			[]answer{read, {deltas: texts("Do"), c: long}},
			StopLength,
			"Let me see.\n\nDo\n\n" + lines[StopLength], "assistant:Let me see.[a read {}]\ntool a:did {}\nassistant:Do", "length", 2, 1,
		},
		{
			"window",
			Options{Models: []ModelOptions{{Window: 2000, MaxOutput: 100}}},
			Turn{Stream: true, Messages: streamed.Messages, More: meanwhile("", strings.Repeat("word ", 9000))},
			[]answer{read},
			StopTooLong,
			"Let me see.\n\n" + lines[StopTooLong], "assistant:Let me see.[a read {}]\ntool a:did {}\nuser:" + strings.Repeat("word ", 9000), "too_long", 1, 1,
		},
		{
			"one call's time",
			Options{},
			streamed,
			[]answer{called("Let me see.", `read {"seconds":61}`), done},
			StopDone,
			"Let me see.\n\nDone.", "assistant:Let me see.[a read {\"seconds\":61}]\ntool a:Error: no result in time (1m0s).\nassistant:Done.", "no result in time (1m0s)", 2, 1,
		},
		{
			"one call's time, and it changes things",
			Options{},
			Turn{Stream: true, Messages: streamed.Messages, Approver: &person{verdict: Approved}},
			[]answer{called("Let me see.", `write {"seconds":61}`), done},
			StopDone,
			"Let me see.\n\nDone.", "assistant:Let me see.[a write {\"seconds\":61}]\ntool a:" + resultUnknown + "\nassistant:Done.", "no result in time (1m0s)", 2, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.o.Tools = workshop()
				got := runTurn(t, t.Context(), tt.o, tt.turn, tt.answers...)
				if got.Stop != tt.stop || got.Text != tt.text || got.ModelCalls != tt.models || got.ToolCalls != tt.tools {
					t.Errorf("got %s %q, %d and %d calls", got.Stop, got.Text, got.ModelCalls, got.ToolCalls)
				}
				if transcript(got.Append) != tt.grew {
					t.Errorf("grew by\n%s\nwant\n%s", transcript(got.Append), tt.grew)
				}
				if said := fmt.Sprint(got.log, got.err); !strings.Contains(said, tt.reason) {
					t.Errorf("want %s in %s", tt.reason, said)
				}
				if got.Usage.Prompt < 10 {
					t.Errorf("usage %+v", got.Usage)
				}
				got.checkComplete(t)
			})
		})
	}
}

// A turn that is cancelled at any moment has a complete Result and a valid history.
func TestCancelledAnywhere(t *testing.T) {
	read := called("Let me see.", "read {}")
	busy := answer{err: &ModelError{Kind: RateLimited, RetryAfter: 30 * time.Second, Err: errors.New("busy")}}
	for _, tt := range []struct {
		name    string
		answers []answer
		text    string
		grew    string
		asked   int // how often a person was asked to approve a call
	}{
		{"before the first token", []answer{{hang: true}}, "", "", 0},
		{"in the text", []answer{{deltas: texts("Do"), hang: true}}, "Do", "assistant:Do", 0},
		{"in a call", []answer{{deltas: []Delta{{Text: "Do"}, {Call: &CallDelta{ID: "a", Name: "read", Arguments: `{"x`}}}, hang: true}}, "Do", "assistant:Do", 0},
		{"in a wait", []answer{read, busy}, "Let me see.", "assistant:Let me see.[a read {}]\ntool a:did {}", 0},
		{"in the second answer", []answer{read, {hang: true}}, "Let me see.", "assistant:Let me see.[a read {}]\ntool a:did {}", 0},
		{
			"among calls that read",
			[]answer{called("One.", `read {"seconds":9}`, `read {}`, `write {}`)},
			"One.",
			"assistant:One.[a read {\"seconds\":9}][b read {}][c write {}]\ntool a:" + resultStopped + "\ntool b:did {}\ntool c:" + resultNotRun,
			0,
		},
		{"in an approval", []answer{called("One.", `write {}`, `write {}`)}, "One.", "assistant:One.[a write {}][b write {}]\ntool a:" + resultNotRun + "\ntool b:" + resultNotRun, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				why := errors.New("stopped")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(3*time.Second, func() { cancel(why) })
				turn := streamed
				p := &person{verdict: Approved, takes: time.Minute}
				turn.Approver = p
				got := runTurn(t, ctx, Options{Tools: workshop(), Limits: Limits{Turn: time.Hour, Silence: time.Minute}}, turn, tt.answers...)
				if got.Stop != StopCancelled || !errors.Is(got.err, why) || got.Text != tt.text || transcript(got.Append) != tt.grew || got.Elapsed != 3*time.Second {
					t.Errorf("got %s %q after %v, %v, grew by\n%s", got.Stop, got.Text, got.Elapsed, got.err, transcript(got.Append))
				}
				if len(p.proposals) != tt.asked {
					t.Errorf("a person was asked %d times, want %d", len(p.proposals), tt.asked)
				}
				got.checkComplete(t)
			})
		})
	}
}

// After a person's decision, the turn's clock continues where it was paused; it does not start over.
func TestApprovalPausesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := streamed
		turn.Approver = &person{verdict: Approved, takes: time.Hour}
		slow := called("", "write {}", "write {}")
		slow.deltas, slow.every = append(texts("a", "b"), slow.deltas...), time.Second
		got := runTurn(t, t.Context(), Options{Tools: workshop(), Limits: Limits{Turn: 7 * time.Second}}, turn, slow, answer{deltas: texts("c", "d", "e", "f", "g"), every: time.Second})
		if got.Stop != StopTimeLimit || got.Elapsed != 2*time.Hour+7*time.Second {
			t.Errorf("%s after %v: %q", got.Stop, got.Elapsed, got.Text)
		}
	})
}

// While a person decides, neither the turn's clock nor the limit on silence runs. A turn continues after a denied call.
// Denied calls count toward the limit of tool calls, because otherwise a model could ask forever.
func TestWaitingForAPerson(t *testing.T) {
	for _, tt := range []struct {
		verdict Verdict
		text    string
	}{{Approved, "Done."}, {Denied, "Done."}, {TimedOut, "Done."}} {
		synctest.Test(t, func(t *testing.T) {
			turn := streamed
			turn.Approver = &person{verdict: tt.verdict, takes: time.Hour}
			o := Options{Tools: workshop(), Limits: Limits{Turn: 3 * time.Second, Silence: time.Second, ToolCalls: 3}}
			got := runTurn(t, t.Context(), o, turn, called("", "write {}", "write {}"), answer{deltas: texts("Do", "ne."), every: 900 * time.Millisecond})
			if got.Stop != StopDone || got.Text != tt.text || got.Elapsed != 2*time.Hour+1800*time.Millisecond || got.ToolCalls != 2 {
				t.Errorf("%d: got %s %q after %v, %d calls, %v", tt.verdict, got.Stop, got.Text, got.Elapsed, got.ToolCalls, got.err)
			}
			got.checkComplete(t)
		})
	}
	fly := called("", "fly {}")
	lost := runTurn(t, t.Context(), Options{Tools: workshop(), Limits: Limits{ToolCalls: 3}}, streamed, fly, fly, fly, answer{deltas: texts("I give up.")})
	if lost.Stop != StopToolCalls || lost.ToolCalls != 3 || !strings.HasPrefix(lost.Text, "I give up.") {
		t.Errorf("a model that calls what is not there got %s %q, %d calls", lost.Stop, lost.Text, lost.ToolCalls)
	}
	turn := streamed
	p := &person{verdict: Denied}
	turn.Approver = p
	again := called("", "write {}")
	got := runTurn(t, t.Context(), Options{Tools: workshop(), Limits: Limits{ToolCalls: 2}}, turn, again, again, answer{deltas: texts("I give up.")})
	if got.Stop != StopToolCalls || got.ToolCalls != 2 || len(p.proposals) != 2 || !strings.HasPrefix(got.Text, "I give up.") {
		t.Errorf("got %s %q, %d calls, %d proposals", got.Stop, got.Text, got.ToolCalls, len(p.proposals))
	}
}

// A slow consumer of events does not delay a tool.
func TestProgressDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := time.Duration(-1)
		tools := toolbox{does("tell", func(_ context.Context, in Input) (Output, error) {
			began := time.Now()
			for i := range 10_000 {
				in.Progress(fmt.Sprint(i))
			}
			took = time.Since(began)
			return Output{Text: "told"}, nil
		})}
		a := newAgentWith(t, Options{Tools: tools}, &script{answers: []answer{called("", "tell {}", "tell {}"), {deltas: texts("Done.")}}})
		events := 0
		r, err := a.Run(t.Context(), streamed, func(Event) {
			events++
			time.Sleep(time.Minute)
		})
		if err != nil || r.Text != "Done." || took != 0 || events > 30 {
			t.Errorf("%q, %v, telling took %v, %d events", r.Text, err, took, events)
		}
	})
}
