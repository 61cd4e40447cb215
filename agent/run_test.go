package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answer is the result of one call of a scripted model.
type answer struct {
	deltas []Delta
	every  time.Duration // the wait before each delta
	c      Completion
	err    error
	hang   bool // after the deltas, nothing comes until the context ends
}

// script is a Model with a fixed sequence of answers.
type script struct {
	name     string // empty: main
	answers  []answer
	requests []Request
	times    []time.Duration
	began    time.Time
}

func (s *script) Name() string { return cmp.Or(s.name, "main") }

func (s *script) next(r Request) answer {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.requests = append(s.requests, r)
	s.times = append(s.times, time.Since(s.began))
	if len(s.answers) == 0 {
		return answer{err: errors.New("the script is over")}
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

func (s *script) Stream(ctx context.Context, r Request, emit func(Delta)) (Completion, error) {
	a := s.next(r)
	for _, d := range a.deltas {
		if a.every > 0 {
			if err := Sleep(ctx, a.every); err != nil {
				return Completion{}, &ModelError{Kind: Broken, Err: err}
			}
		}
		emit(d)
	}
	if a.hang {
		<-ctx.Done()
		return Completion{}, &ModelError{Kind: Broken, Err: ctx.Err()}
	}
	return a.c, a.err
}

func texts(parts ...string) []Delta {
	var out []Delta
	for _, p := range parts {
		out = append(out, Delta{Text: p})
	}
	return out
}

// ran is the result of a turn.
type ran struct {
	Result
	err    error
	events string
	log    string
	model  *script
}

func runTurn(t *testing.T, ctx context.Context, o Options, turn Turn, answers ...answer) ran {
	t.Helper()
	model := &script{answers: answers}
	var log bytes.Buffer
	var mo ModelOptions
	if len(o.Models) > 0 {
		mo = o.Models[0] // keep the configured window
	}
	mo.Model = model
	o.Models = []ModelOptions{mo}
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	result, err := a.Run(ctx, turn, func(e Event) { events = append(events, show(e)) })
	return ran{Result: result, err: err, events: strings.Join(events, " "), log: log.String(), model: model}
}

func show(e Event) string {
	switch e := e.(type) {
	case Text:
		return fmt.Sprintf("text:%q", e.Delta)
	case Reasoning:
		return fmt.Sprintf("thought:%q", e.Delta)
	case Reset:
		return "reset"
	case Tool:
		return tool(e)
	case Call:
		return fmt.Sprintf("call:%s:%s:%q", e.ID, e.Name, e.Arguments)
	default:
		return fmt.Sprintf("%T", e)
	}
}

var streamed = Turn{ID: "t1", Stream: true, Messages: []Message{{Role: User, Text: "hi"}}}

func (r ran) check(t *testing.T, stop StopReason, text, events string) {
	t.Helper()
	if r.Stop != stop || r.Text != text {
		t.Errorf("got %s %q, want %s %q (error: %v)", r.Stop, r.Text, stop, text, r.err)
	}
	if r.events != events {
		t.Errorf("events:\n got %s\nwant %s", r.events, events)
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	lines := DefaultLines()
	refused := &ModelError{Kind: Filtered, Err: errors.New("policy")}
	for _, tt := range []struct {
		name    string
		deltas  []Delta
		c       Completion
		err     error
		stop    StopReason
		text    string
		history string
	}{
		{"done", texts("Hello", " there."), Completion{}, nil, StopDone, "Hello there.", "Hello there."},
		{"white space", texts(" \n Hello", " \n"), Completion{}, nil, StopDone, "Hello", "Hello"},
		{"empty", nil, Completion{}, nil, StopEmpty, lines[StopEmpty], ""},
		{"only white space", texts("\n"), Completion{}, nil, StopEmpty, lines[StopEmpty], ""},
		{"only reasoning", []Delta{{Reasoning: "hm"}}, Completion{}, nil, StopThinking, lines[StopThinking], ""},
		{"only a think block", texts("<think>hm</think>\n"), Completion{}, nil, StopThinking, lines[StopThinking], ""},
		{"refused", []Delta{{Refusal: "No, "}, {Refusal: "sorry."}}, Completion{}, nil, StopRefused, lines[StopRefused], "No, sorry."},
		{"refused midway", []Delta{{Text: "Well."}, {Refusal: "No."}}, Completion{}, nil, StopRefused, "Well.\n\n" + lines[StopRefused], "Well."},
		{"filtered", nil, Completion{Finish: FinishFiltered}, nil, StopFiltered, lines[StopFiltered], ""},
		{"filtered midway", texts("Once upon"), Completion{Finish: FinishFiltered}, nil, StopFiltered, "Once upon\n\n" + lines[StopFiltered], "Once upon"},
		{"prompt filtered", nil, Completion{}, refused, StopFiltered, lines[StopFiltered], ""},
		{"length", texts("One two"), Completion{Finish: FinishLength}, nil, StopLength, "One two\n\n" + lines[StopLength], "One two"},
		{"length before the first word", []Delta{{Reasoning: "hm"}}, Completion{Finish: FinishLength}, nil, StopLength, lines[StopLength], ""},
		{"length in a fence", texts("```go\nx"), Completion{Finish: FinishLength}, nil, StopLength, "```go\nx\n```\n\n" + lines[StopLength], "```go\nx"},
		{"length after a fence", texts("```\nx\n```"), Completion{Finish: FinishLength}, nil, StopLength, "```\nx\n```\n\n" + lines[StopLength], "```\nx\n```"},
		{"tool call without tools", nil, Completion{ToolCalls: []ToolCall{{ID: "1", Name: "time"}}}, nil, StopNoTool, lines[StopNoTool], ""},
		{"text and tool call", texts("Let me see."), Completion{ToolCalls: []ToolCall{{ID: "1", Name: "time"}}}, nil, StopNoTool, "Let me see.\n\n" + lines[StopNoTool], "Let me see."},
		{"invalid UTF-8", texts("a\xff\xe2", "\x82\xac"), Completion{}, nil, StopDone, "a\uFFFD€", "a\uFFFD€"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", tt.name, stream), func(t *testing.T) {
				t.Parallel()
				turn := Turn{Stream: stream}
				a := answer{deltas: tt.deltas, c: tt.c, err: tt.err}
				if !stream {
					for _, d := range tt.deltas {
						a.c.Text += d.Text
						a.c.Reasoning += d.Reasoning
						a.c.Refusal += d.Refusal
					}
					a.deltas = nil
				}
				got := runTurn(t, t.Context(), Options{ThinkTags: []string{"think"}}, turn, a)
				if got.err != nil || got.Stop != tt.stop || got.Text != tt.text || got.Partial {
					t.Errorf("got %s %q, partial %v, error %v\nwant %s %q", got.Stop, got.Text, got.Partial, got.err, tt.stop, tt.text)
				}
				history := ""
				for _, m := range got.Append {
					history += m.Text
				}
				if history != tt.history {
					t.Errorf("history grows by %q, want %q", history, tt.history)
				}
				if got.Model != "main" || got.ModelCalls != 1 {
					t.Errorf("model %q, %d calls", got.Model, got.ModelCalls)
				}
			})
		}
	}
}

// F34, F59: thinking is emitted as Reasoning, and not as text of the reply.
func TestEventsF34F59(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{ThinkTags: []string{"think"}, System: "Be brief."}, streamed,
		answer{deltas: []Delta{{Reasoning: "r"}, {Text: "<thi"}, {}, {Text: "nk>a"}, {Text: "</think>Hello"}, {Text: "!"}}})
	got.check(t, StopDone, "Hello!", `thought:"r" thought:"a" text:"Hello" text:"!"`)
	if want := "Be brief."; got.model.requests[0].System != want {
		t.Errorf("system prompt %q, want %q", got.model.requests[0].System, want)
	}
	got = runTurn(t, t.Context(), Options{ThinkTags: []string{"think"}}, Turn{Stream: true, System: "Own."},
		answer{deltas: texts("hm\n", "so</think>", "\nHello")})
	got.check(t, StopDone, "Hello", `text:"hm\n" reset thought:"hm\n" thought:"so" text:"Hello"`)
	if want := "Own."; got.model.requests[0].System != want {
		t.Errorf("system prompt %q, want %q", got.model.requests[0].System, want)
	}
}

// F09: a stream that breaks off is not a complete answer, so the answer is requested once more.
func TestBrokenStreamIsRepeatedOnceF09(t *testing.T) {
	t.Parallel()
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	got := runTurn(t, t.Context(), Options{}, streamed,
		answer{deltas: texts("Hel", "lo"), err: broke},
		answer{c: Completion{Text: "Hello there.", Usage: &Usage{Prompt: 3, Completion: 4}}})
	got.check(t, StopDone, "Hello there.", `text:"Hel" text:"lo" reset text:"Hello there."`)
	if got.err != nil || got.Partial || got.ModelCalls != 2 || got.Usage != (Usage{Prompt: 3, Completion: 4}) {
		t.Errorf("error %v, partial %v, %d calls, usage %+v", got.err, got.Partial, got.ModelCalls, got.Usage)
	}
	if want := EstimateTokens("Hello" + "Hello there."); got.Estimate != want {
		t.Errorf("estimate %d, want %d", got.Estimate, want)
	}
	if n := strings.Count(got.log, "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, got.log)
	}
	if n := len(got.model.requests); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// F08: if a stream breaks and no attempt is left, the text that people saw stays.
func TestTwiceBrokenStreamKeepsItsTextF08(t *testing.T) {
	t.Parallel()
	broke := &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}
	denied := &ModelError{Kind: Auth, Status: 401, Err: errors.New("no")}
	got := runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("Hello "), err: broke}, answer{err: denied})
	got.check(t, StopError, "Hello", `text:"Hello "`)
	var ae *Error
	if !got.Partial || !errors.As(got.err, &ae) || ae.Reason != StopError || !isKind(got.err, Auth) {
		t.Errorf("partial %v, error %v", got.Partial, got.err)
	}
	if len(got.Append) != 1 || got.Append[0].Text != "Hello" {
		t.Errorf("history grows by %+v", got.Append)
	}
}

func TestPermanentErrorMidway(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("He"), err: &ModelError{Kind: Quota, Err: errors.New("no money")}})
	got.check(t, StopError, "He", `text:"He"`)
	if len(got.model.requests) != 1 {
		t.Errorf("%d calls", len(got.model.requests))
	}
}

func TestFilterMidwayIsNoError(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("He"), err: &ModelError{Kind: Filtered, Err: errors.New("policy")}})
	got.check(t, StopFiltered, "He\n\n"+DefaultLines()[StopFiltered], `text:"He"`)
}

// If a provider sends an answer in one piece, it is silent until the answer is complete. The limits on silence must not end an
// answer in one piece.
func TestUnstreamedAnswerMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{ModelCalls: 1, FirstToken: 5 * time.Second, Silence: 2 * time.Second}
		got := runTurn(t, t.Context(), Options{Limits: limits}, streamed,
			answer{deltas: []Delta{{Whole: true}, {}}, every: 4 * time.Second, c: Completion{Text: "Hello.", Usage: &Usage{Prompt: 1}}})
		got.check(t, StopDone, "Hello.", `text:"Hello."`)
		if got.ModelCalls != 1 || got.log != "" || got.Elapsed != 8*time.Second {
			t.Errorf("%d calls, %v, log %q", got.ModelCalls, got.Elapsed, got.log)
		}
	})
}

func TestModelCallLimit(t *testing.T) {
	t.Parallel()
	got := runTurn(t, t.Context(), Options{Limits: Limits{ModelCalls: 1}}, streamed,
		answer{deltas: texts("He"), err: &ModelError{Kind: Broken, Err: errors.New("cut")}})
	got.check(t, StopCalls, "He", `text:"He"`)
	if got.err == nil || got.ModelCalls != 1 {
		t.Errorf("error %v, %d calls", got.err, got.ModelCalls)
	}
}

func TestRetriesBeforeTheFirstToken(t *testing.T) {
	busy := answer{err: &ModelError{Kind: Retryable, Status: 503, Err: errors.New("busy")}}
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), Options{}, streamed, busy, busy, busy, answer{deltas: texts("Hello.")})
		got.check(t, StopDone, "Hello.", `text:"Hello."`)
		if got.ModelCalls != 4 {
			t.Errorf("%d calls, want 4: each attempt reached the provider", got.ModelCalls)
		}
		for i, want := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond} {
			if at := got.model.times[i]; at > want || at < want*3/4 {
				t.Errorf("attempt %d after %v, want %v less up to a quarter", i+1, at, want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), Options{}, streamed, busy, busy, busy, busy, answer{deltas: texts("never")})
		got.check(t, StopError, "", "")
		if len(got.model.requests) != 4 || !strings.Contains(got.err.Error(), "after 4 attempts") || !got.Partial {
			t.Errorf("%d attempts, error %v", len(got.model.requests), got.err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		cut := answer{err: &ModelError{Kind: Broken, Err: errors.New("unexpected EOF")}}
		got := runTurn(t, t.Context(), Options{}, streamed, cut, answer{c: Completion{Text: "Hello."}})
		got.check(t, StopDone, "Hello.", `text:"Hello."`)
		if n := len(got.model.requests); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestRateLimitStopsTheTurnsClock(t *testing.T) {
	limited := answer{err: &ModelError{Kind: RateLimited, Status: 429, RetryAfter: 30 * time.Second, Err: errors.New("slow down")}}
	o := Options{Limits: Limits{Turn: 10 * time.Second}}
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), o, streamed, limited, limited, answer{deltas: texts("a", "b"), every: 4 * time.Second})
		got.check(t, StopDone, "ab", `text:"a" text:"b"`)
		if got.Elapsed < 68*time.Second || got.Elapsed > 74*time.Second {
			t.Errorf("took %v", got.Elapsed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), o, streamed, limited, answer{deltas: texts("a", "b", "c"), every: 4 * time.Second})
		got.check(t, StopTimeLimit, "ab", `text:"a" text:"b"`)
	})
	synctest.Test(t, func(t *testing.T) {
		long := answer{err: &ModelError{Kind: RateLimited, Status: 429, RetryAfter: time.Hour, Err: errors.New("slow down")}}
		got := runTurn(t, t.Context(), o, streamed, long)
		got.check(t, StopError, "", "")
		if got.Elapsed != 0 || !strings.Contains(got.err.Error(), "retry after 1h0m0s") {
			t.Errorf("took %v, error %v", got.Elapsed, got.err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got := runTurn(t, ctx, o, streamed, limited)
		got.check(t, StopCancelled, "", "")
		if got.Elapsed != 5*time.Second || !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("took %v, error %v", got.Elapsed, got.err)
		}
	})
}

func TestTurnLimit(t *testing.T) {
	o := Options{Limits: Limits{Turn: 10 * time.Second, Silence: time.Minute}}
	synctest.Test(t, func(t *testing.T) {
		got := runTurn(t, t.Context(), o, streamed, answer{deltas: texts("Hello"), hang: true})
		got.check(t, StopTimeLimit, "Hello", `text:"Hello"`)
		if got.Elapsed != 10*time.Second || !got.Partial || got.Estimate != EstimateTokens("Hello") {
			t.Errorf("took %v, partial %v, estimate %d", got.Elapsed, got.Partial, got.Estimate)
		}
		if strings.Count(got.log, "level=WARN") != 1 {
			t.Errorf("want one warning about usage:\n%s", got.log)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		o.Limits.Silence = time.Second // this limit does not apply to answers in one piece
		got := runTurn(t, t.Context(), o, Turn{}, answer{hang: true})
		got.check(t, StopTimeLimit, "", "")
	})
	synctest.Test(t, func(t *testing.T) {
		o.Limits.Turn = time.Second // this limit ends the turn while it waits before the second or the third attempt
		busy := answer{err: &ModelError{Kind: Retryable, Status: 503, Err: errors.New("busy")}}
		got := runTurn(t, t.Context(), o, streamed, busy, busy, busy, busy)
		got.check(t, StopTimeLimit, "", "")
		if got.Elapsed != time.Second {
			t.Errorf("took %v", got.Elapsed)
		}
	})
}

func TestSilenceLimit(t *testing.T) {
	o := Options{Limits: Limits{Turn: time.Hour, FirstToken: 20 * time.Second, Silence: 10 * time.Second}}
	stuck := answer{deltas: append(texts("a", "b"), Delta{}), every: 9 * time.Second, hang: true}
	synctest.Test(t, func(t *testing.T) { // the empty delta at 27 s does not end the silence
		got := runTurn(t, t.Context(), o, streamed, stuck, stuck)
		got.check(t, StopSilence, "ab", `text:"a" text:"b"`)
		if got.Elapsed != 56*time.Second || !got.Partial {
			t.Errorf("took %v, partial %v", got.Elapsed, got.Partial)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the model can also be silent before the first token
		got := runTurn(t, t.Context(), o, streamed, answer{hang: true}, answer{hang: true}, answer{deltas: texts("never")})
		got.check(t, StopFirstToken, "", "")
		if got.Elapsed != 40*time.Second || !strings.Contains(got.err.Error(), "limits.first_token") {
			t.Errorf("took %v, error %v", got.Elapsed, got.err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the time that a slow reader takes does not count as silence of the model
		a, err := New(Options{Models: []ModelOptions{{Model: &script{answers: []answer{{deltas: texts("a", "b")}}}}}, Limits: o.Limits, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Run(t.Context(), streamed, func(Event) { time.Sleep(time.Minute) })
		if got.Text != "ab" || err != nil {
			t.Errorf("got %q, %v", got.Text, err)
		}
	})
}

func TestCancel(t *testing.T) {
	why := errors.New("the user wrote again")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		got := runTurn(t, ctx, Options{ThinkTags: []string{"think"}}, streamed, answer{deltas: texts("Hello <"), hang: true})
		got.check(t, StopCancelled, "Hello <", `text:"Hello " text:"<"`)
		var ae *Error
		if !got.Partial || !errors.Is(got.err, why) || !errors.As(got.err, &ae) || ae.Reason != StopCancelled || got.Elapsed != time.Second {
			t.Errorf("partial %v, took %v, error %v", got.Partial, got.Elapsed, got.err)
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	want := Usage{Prompt: 10, Cached: 4, Completion: 7, Reasoning: 2}
	got := runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("Hello"), c: Completion{Usage: &want}})
	if got.Usage != want || got.log != "" {
		t.Errorf("usage %+v, log %q", got.Usage, got.log)
	}
	got = runTurn(t, t.Context(), Options{}, streamed, answer{deltas: texts("Hello")})
	if got.Usage != (Usage{}) || strings.Count(got.log, "level=WARN") != 1 || got.Estimate != 2 {
		t.Errorf("usage %+v, estimate %d, log %q", got.Usage, got.Estimate, got.log)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Log: log}, "no model"},
		{Options{Models: []ModelOptions{{Model: &script{}}}}, "no logger"},
		{Options{Models: []ModelOptions{{Model: &script{}}}, Log: log, Limits: Limits{Turn: -1}}, "negative limit"},
		{Options{Models: []ModelOptions{{Model: &script{}}}, Log: log, ThinkTags: []string{"<think>"}}, "without brackets"},
		{Options{Models: []ModelOptions{{Model: &script{}}}, Log: log, ThinkTags: []string{""}}, "without brackets"},
	} {
		if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestErrorsSayWhatHappened(t *testing.T) {
	t.Parallel()
	err := error(&Error{Reason: StopError, Err: &cutError{err: &ModelError{Kind: Retryable, Status: 502, Err: errors.New("bad gateway")}}})
	if want := "turn ended (error): retryable: HTTP 502: bad gateway"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if want := "broken: EOF"; (&ModelError{Kind: Broken, Err: errors.New("EOF")}).Error() != want {
		t.Errorf("want %q", want)
	}
}

// An answer that does not end is cut at maxText, and a line tells people that the answer reached the length limit.
func TestAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	many := make([]Delta, 400)
	for i := range many {
		many[i].Text = strings.Repeat("word ", 2<<10)
	}
	for name, a := range map[string]answer{
		"streamed": {deltas: many},
		"whole":    {c: Completion{Text: strings.Repeat("wörd ", 800<<10)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runTurn(t, t.Context(), Options{}, Turn{Stream: name == "streamed"}, a)
			if r.Stop != StopLength || !strings.HasSuffix(r.Text, DefaultLines()[StopLength]) {
				t.Errorf("stop %q, text ends with %q, want the length's line", r.Stop, r.Text[len(r.Text)-60:])
			}
			if n := len(r.Text); n > maxText+100 || n < maxText/2 {
				t.Errorf("text has %d bytes, want at most %d", n, maxText)
			}
		})
	}
}

func TestInvisibleAnswerIsEmpty(t *testing.T) {
	t.Parallel()
	r := runTurn(t, t.Context(), Options{}, Turn{Stream: true}, answer{deltas: texts("\u200b", "\u200d\ufe0f\u2060 \n")})
	if r.Stop != StopEmpty || r.Text != DefaultLines()[StopEmpty] || len(r.Append) != 0 {
		t.Errorf("got %q, %q, want the line of an empty answer", r.Stop, r.Text)
	}
}
