package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestMend(t *testing.T) {
	t.Parallel()
	calls := func(ids ...string) Message {
		m := Message{Role: Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: id, Name: "read", Arguments: "{}"})
		}
		return m
	}
	result := func(id string) Message { return Message{Role: ToolRole, ToolCallID: id, Text: "r" + id} }
	for _, tt := range []struct {
		name  string
		steps []Message
		begun []string
		want  string // the results of calls in the mended history
		open  string
	}{
		{"nothing", nil, nil, "", ""},
		{"complete", []Message{calls("a"), result("a")}, nil, "a:ra", ""},
		{"in the order of the calls", []Message{calls("a", "b"), result("b"), result("a")}, nil, "a:ra b:rb", ""},
		{"two left", []Message{calls("a", "b", "c"), result("b")}, nil, "a:" + resultNotRun + " b:rb c:" + resultNotRun, "a c"},
		{"one had begun", []Message{calls("a", "b")}, []string{"a"}, "a:" + resultUnknown + " b:" + resultNotRun, "b"},
		{"of an earlier step", []Message{calls("a"), calls("b"), result("b")}, nil, "a:" + resultLost + " b:rb", ""},
		{"of no call", []Message{calls("a"), result("a"), result("x")}, nil, "a:ra", ""},
		{"people spoke", []Message{{Role: User, Text: "and?"}, calls("a"), result("a")}, nil, "a:ra", ""},
	} {
		mended, open := mend(tt.steps, tt.begun)
		var answers, left []string
		for _, m := range mended {
			if m.Role == ToolRole {
				answers = append(answers, m.ToolCallID+":"+m.Text)
			}
		}
		for _, c := range open {
			left = append(left, c.ID)
		}
		if strings.Join(answers, " ") != tt.want || strings.Join(left, " ") != tt.open {
			t.Errorf("%s: answers %q, open %v", tt.name, answers, left)
		}
		checkAnswered(t, mended)
		if got := Mended(tt.steps, tt.begun); transcript(got) != transcript(mended) {
			t.Errorf("%s: mended\n%s", tt.name, transcript(got))
		}
	}
}

// journal is a Journal that keeps the data that a turn needs after a crash.
type journal struct {
	steps            []Message
	usage            []ModelUsage
	usageWrites      int
	begun            []string
	files            map[string][]File
	stepErr          error
	onBegin          func(changes bool)
	beginErr, endErr error
}

func (j *journal) Step(_ context.Context, messages []Message, usage []ModelUsage) error {
	if j.stepErr == nil {
		j.steps = append(j.steps, messages...)
		j.usage = usage
	}
	return j.stepErr
}

func (j *journal) StoreUsage(_ context.Context, usage []ModelUsage) error {
	j.usage = usage
	j.usageWrites++
	return nil
}

func (j *journal) Begin(_ context.Context, changes bool, calls ...ToolCall) error {
	for _, c := range calls {
		if j.beginErr == nil {
			j.begun = append(j.begun, c.ID)
		}
	}
	if j.onBegin != nil {
		j.onBegin(changes)
	}
	return j.beginErr
}

func (j *journal) Stopped(_ context.Context, c ToolCall) error {
	j.begun = slices.DeleteFunc(j.begun, func(id string) bool { return id == c.ID })
	return nil
}

func (j *journal) End(ctx context.Context, answer Message, files []File) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if j.endErr == nil {
		j.steps = append(j.steps, answer)
		if len(files) > 0 {
			if j.files == nil {
				j.files = make(map[string][]File)
			}
			j.files[answer.ToolCallID] = files
		}
		j.begun = slices.DeleteFunc(j.begun, func(id string) bool { return id == answer.ToolCallID })
	}
	return j.endErr
}

func TestJournal(t *testing.T) {
	t.Parallel()
	j := &journal{}
	turn := streamed
	turn.Journal, turn.Approver = j, &person{verdict: Approved}
	turn.More = meanwhile("and?", "", "so?")
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, turn,
		called("One.", "write {}", "read {}", "fly {}"), called("", "fail {}"), answer{deltas: texts("Done.")})
	if got.Text != "One.\n\nDone." {
		t.Errorf("got %q", got.Text)
	}
	mended, open := mend(j.steps, j.begun)
	// The journal does not contain the text after the last step.
	if want := transcript(got.Append[:len(got.Append)-2]); transcript(mended) != want || len(open) > 0 || len(j.begun) > 0 {
		t.Errorf("kept\n%s\nopen %v, begun %v\nwant\n%s", transcript(mended), open, j.begun, want)
	}
}

// A call that can't be stored in the journal is not run.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]*journal{"step": {stepErr: errors.New("disk")}, "begin": {beginErr: errors.New("disk")}, "end": {endErr: errors.New("disk")}} {
		ran := 0
		tools := toolbox{{Name: "write", Call: func(context.Context, Input) (Output, error) { ran++; return Output{}, nil }}}
		turn := streamed
		turn.Journal, turn.Approver = j, &person{verdict: Approved}
		got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("One.", "write {}"), answer{deltas: texts("Done.")})
		if name == "end" {
			if got.Stop != StopDone || ran != 1 || !strings.Contains(got.log, "was not stored") {
				t.Errorf("%s: %s, ran %d, log %s", name, got.Stop, ran, got.log)
			}
			continue
		}
		if got.Stop != StopError || ran != 0 || !strings.Contains(got.err.Error(), "disk") || got.Text != "One." {
			t.Errorf("%s: %s, ran %d, %v", name, got.Stop, ran, got.err)
		}
		checkAnswered(t, got.Append)
	}
}

// If a turn is stopped at the moment when a call begins, the history says that the call was not run.
func TestStoppedAsACallBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := &journal{onBegin: func(bool) { cancel() }}
	turn := streamed
	turn.Journal, turn.Approver = j, &person{verdict: Approved}
	got := runTurn(t, ctx, Options{Tools: workshop()}, turn, called("", "write {}"))
	if got.Stop != StopCancelled || len(j.begun) > 0 || !strings.HasSuffix(transcript(j.steps), "tool a:"+resultNotRun) {
		t.Errorf("%s, begun %v, kept\n%s", got.Stop, j.begun, transcript(j.steps))
	}
	checkAnswered(t, got.Append)
}

// A turn that an earlier process began is continued. The turn emits the earlier text again, runs the calls that have no
// result, and runs no call twice.
func TestContinueATurn(t *testing.T) {
	t.Parallel()
	var ran []string
	count := func(_ context.Context, in Input) (Output, error) {
		ran = append(ran, in.Arguments)
		return Output{Text: "did " + in.Arguments}, nil
	}
	tools := toolbox{{Name: "read", ReadOnly: true, Call: count}, {Name: "write", Call: count}}
	turn := streamed
	turn.Steps = []Message{
		{Role: Assistant, Text: "First.", ToolCalls: []ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}},
		{Role: ToolRole, ToolCallID: "a", Name: "read", Text: "known", Images: []Image{{MediaType: "image/png", Data: []byte("p")}}},
		{Role: User, Text: "hurry"},
		{Role: Assistant, Text: "Second.", ToolCalls: []ToolCall{
			{ID: "b", Name: "write", Arguments: `{"n":1}`}, {ID: "c", Name: "write", Arguments: `{"n":2}`}, {ID: "d", Name: "read", Arguments: `{"n":3}`},
		}},
	}
	turn.StartedCalls = []string{"b"}
	turn.Files = map[string][]File{"a": {{Name: "plan.txt", Content: []byte("x")}}, "b": nil}
	j := &journal{}
	turn.Journal, turn.Approver = j, &person{verdict: Approved}
	got := runTurn(t, t.Context(), Options{Tools: tools, Limits: Limits{ToolCalls: 5}}, turn, called("", `read {"n":4}`), answer{deltas: texts("Done.")})
	got.check(t, StopToolCalls, "First.\n\nSecond.\n\nDone.\n\n"+DefaultLines()[StopToolCalls], strings.Join([]string{
		`text:"First."`, `text:"\n\nSecond."`, `c:identified:"write"`, `d:identified:"read"`, `d:executing:"read"`, `d:completed:"read"`,
		`c:interrupted:"write"`, `c:executing:"write"`, `c:completed:"write"`,
		`a_2:identified:"read"`, `a_2:executing:"read"`, `a_2:completed:"read"`, `text:"\n\nDone."`,
	}, " "))
	if fmt.Sprint(ran) != `[{"n":3} {"n":2} {"n":4}]` || got.ToolCalls != 5 || names(got.Files) != "read.png plan.txt" {
		t.Errorf("ran %v, %d calls, files %s", ran, got.ToolCalls, names(got.Files))
	}
	if !strings.HasPrefix(transcript(got.Append), "assistant:First.[a read {}]\ntool a:known\nuser:hurry\n") ||
		!strings.Contains(transcript(got.Append), "tool b:"+resultUnknown+"\ntool c:did {\"n\":2}\ntool d:did {\"n\":3}\n") {
		t.Errorf("grew by\n%s", transcript(got.Append))
	}
	if want := "tool d:did {\"n\":3}\ntool c:did {\"n\":2}\nassistant:[a_2 read {\"n\":4}]\ntool a_2:did {\"n\":4}"; transcript(j.steps) != want {
		t.Errorf("kept\n%s", transcript(j.steps))
	}
}

// The test crashes the process at a random time, and continues the turn in a new process. Each call that changes something
// runs at most once. The history differs from that of a turn without a crash only where the outcome of a call is unknown.
func TestContinueAfterACrashAtAnyTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			steps := []answer{called("One.", `read {"seconds":1}`, `write {"seconds":2}`, `write {"seconds":1}`), called("Two.", `write {"seconds":1}`), {deltas: texts("Done.")}}
			var ran []string
			tools := workshop()
			write := tools[1].Call
			tools[1].Call = func(ctx context.Context, in Input) (Output, error) {
				ran = append(ran, in.Arguments)
				return write(ctx, in)
			}
			j := &journal{}
			turn := streamed
			turn.Journal, turn.Approver = j, &person{verdict: Approved, takes: time.Second}
			ctx, crash := context.WithCancel(t.Context())
			defer crash()
			// Add a microsecond, so that the crash never happens at exactly the time at which a call ends.
			time.AfterFunc(time.Duration(rapid.IntRange(0, 9000).Draw(rt, "crash"))*time.Millisecond+time.Microsecond, crash)
			model := &script{answers: slices.Clone(steps)}
			first, err := newAgentWith(t, Options{Tools: tools}, model).Run(ctx, turn, func(Event) {})
			if err != nil {
				said := 0
				for _, m := range j.steps {
					if m.Role == Assistant {
						said++
					}
				}
				turn.Steps, turn.StartedCalls = slices.Clone(j.steps), slices.Clone(j.begun)
				model = &script{answers: slices.Clone(steps[said:])}
				if first, err = newAgentWith(t, Options{Tools: tools}, model).Run(t.Context(), turn, func(Event) {}); err != nil {
					rt.Fatal(err)
				}
			}
			checkAnswered(rt, first.Append)
			if said := transcript(first.Append); strings.Contains(said, resultStopped) || strings.Contains(said, resultNotRun) || strings.Contains(said, resultLost) {
				rt.Errorf("grew by\n%s", said)
			}
			if first.Text != "One.\n\nTwo.\n\nDone." || len(ran) != 3 {
				rt.Errorf("said %q, wrote %v", first.Text, ran)
			}
		})
	})
}

func names(files []File) string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return strings.Join(out, " ")
}

// People get the files that tools made before a crash.
func TestFilesSurviveACrash(t *testing.T) {
	t.Parallel()
	j := &journal{}
	turn := streamed
	turn.Journal = j
	crash := &ModelError{Kind: Auth, Err: errors.New("the process is gone")}
	before := runTurn(t, t.Context(), Options{Tools: workshop()}, turn, called("", "draw {}", "read {}", "draw {}"), answer{err: crash})
	if before.err == nil || names(before.Files) != "draw.png plan.txt draw.png plan.txt" || names(j.files["a"]) != "plan.txt" || j.files["b"] != nil {
		t.Fatalf("%v, files %s, kept %v", before.err, names(before.Files), j.files)
	}
	turn.Steps, turn.Files = j.steps, j.files
	got := runTurn(t, t.Context(), Options{Tools: workshop()}, turn, called("", "draw {}"), answer{deltas: texts("Here.")})
	if got.Text != "Here." || names(got.Files) != "draw.png plan.txt draw.png plan.txt draw.png plan.txt" {
		t.Errorf("%q with %s", got.Text, names(got.Files))
	}
}

// The number of files for people is limited. The model reads which files people did not get.
func TestFilesOfATurnAreBounded(t *testing.T) {
	t.Parallel()
	small := func(n int) Output {
		o := Output{Text: "made"}
		for i := range n {
			o.Files = append(o.Files, File{Name: fmt.Sprintf("%d.txt", i), Content: []byte("x")})
		}
		return o
	}
	big := Output{Files: []File{{Name: "a", Content: make([]byte, 15<<20)}, {Name: "b", Content: make([]byte, 15<<20)}, {Name: "c", Content: []byte("x")}}}
	shown := Output{Images: []Image{{MediaType: "image/png", Data: []byte("p")}}}
	for _, tt := range []struct {
		name    string
		outputs []Output
		want    string
		told    string // the result of the last call
	}{
		{"few", []Output{small(2), small(3)}, "0.txt 1.txt 0.txt 1.txt 2.txt", "made"},
		{
			"many",
			[]Output{small(9), small(3)},
			"0.txt 1.txt 2.txt 3.txt 4.txt 5.txt 6.txt 7.txt 8.txt 0.txt",
			"made\n[1.txt (1 bytes) was not handed out: people get at most 10 files for one answer, of 20 MB together]" +
				"\n[2.txt (1 bytes) was not handed out: people get at most 10 files for one answer, of 20 MB together]",
		},
		{"large", []Output{big}, "a c", "(no output)\n[b (15728640 bytes) was not handed out: people get at most 10 files for one answer, of 20 MB together]"},
		{
			"images",
			[]Output{small(10), shown},
			"0.txt 1.txt 2.txt 3.txt 4.txt 5.txt 6.txt 7.txt 8.txt 9.txt",
			"(no output)\n[make.png (1 bytes) was not handed out: people get at most 10 files for one answer, of 20 MB together]",
		},
	} {
		next := 0
		tools := toolbox{does("make", func(context.Context, Input) (Output, error) {
			next++
			return tt.outputs[next-1], nil
		})}
		answers := slices.Repeat([]answer{called("", "make {}")}, len(tt.outputs))
		got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, append(answers, answer{deltas: texts("Here.")})...)
		last := got.model.requests[len(tt.outputs)].Messages[2*len(tt.outputs)]
		if names(got.Files) != tt.want || last.Text != tt.told {
			t.Errorf("%s: files %s, told %q", tt.name, names(got.Files), last.Text)
		}
		if tt.name == "images" && len(last.Images) != 1 {
			t.Errorf("the model was shown %d images", len(last.Images))
		}
	}
}

// later is a Toolbox whose tools appear after a delay, like the tools of an MCP server.
type later struct {
	from  time.Time
	tools toolbox
}

func (l later) Tools() []ToolDef {
	if time.Now().Before(l.from) {
		return nil
	}
	return l.tools
}

// If an earlier process left a call without a result, the new process waits for the tool of this call before it runs the
// call. If the tool stays missing, the model reads that the tool is missing.
func TestOpenCallsWaitForTheirTools(t *testing.T) {
	for _, tt := range []struct {
		comes, stopped time.Duration
		want           string
		takes          time.Duration
	}{
		{0, 0, "did {}", 0},
		{10 * time.Second, 0, "did {}", 10 * time.Second},
		{time.Hour, 0, `Error: there is no tool named "write".`, toolWait},
		{time.Hour, 2 * time.Second, resultNotRun, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.stopped > 0 {
				time.AfterFunc(tt.stopped, cancel)
			}
			turn := streamed
			j := &journal{}
			turn.Journal, turn.Approver = j, &person{verdict: Approved}
			turn.Steps = []Message{{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "write", Arguments: "{}"}}}}
			o := Options{Tools: later{from: time.Now().Add(tt.comes), tools: workshop()}, Limits: Limits{Turn: 5 * time.Second}}
			got := runTurn(t, ctx, o, turn, answer{deltas: texts("Done.")})
			if got.Append[1].Text != tt.want || got.Elapsed != tt.takes || (got.Stop == StopDone) != (tt.stopped == 0) {
				t.Errorf("after %v: %s %q after %v", tt.comes, got.Stop, got.Append[1].Text, got.Elapsed)
			}
			if kept := len(j.steps) > 0; kept == (tt.stopped > 0) {
				t.Errorf("after %v: kept %s", tt.comes, transcript(j.steps))
			}
		})
	}
}

// If a person was asked about a call, the call waits for the decision, even if its tool claims to be read-only after
// the restart.
func TestProposedCallsWaitForADecision(t *testing.T) {
	t.Parallel()
	for verdict, ran := range map[Verdict]int{Approved: 2, Denied: 1} {
		var got []string
		tools := toolbox{{Name: "look", ReadOnly: true, Call: func(_ context.Context, in Input) (Output, error) {
			got = append(got, in.Arguments)
			return Output{Text: "done"}, nil
		}}}
		turn := streamed
		turn.Steps = []Message{{Role: Assistant, ToolCalls: []ToolCall{
			{ID: "a", Name: "look", Arguments: `{"n":1}`}, {ID: "b", Name: "look", Arguments: `{"n":2}`},
		}}}
		p := &person{verdict: verdict}
		turn.ProposedCalls, turn.Approver = []string{"a"}, p
		runTurn(t, t.Context(), Options{Tools: tools}, turn, answer{deltas: texts("Done.")})
		if len(p.proposals) != 1 || p.proposals[0].Call.ID != "a" || len(got) != ran || got[0] != `{"n":2}` {
			t.Errorf("%v: proposed %+v, ran %v", verdict, p.proposals, got)
		}
	}
}

// The journal stores the start of every call, even of a read-only call. So if a call crashes the process, the next process does
// not run this call again.
func TestReadOnlyCallsAreJournaled(t *testing.T) {
	t.Parallel()
	tools := workshop()
	tools[0].Asks = func(ToolCall, CallContext) bool { return true }
	var began []bool
	p := &person{verdict: Approved}
	turn := streamed
	turn.Approver, turn.Journal = p, &journal{onBegin: func(changes bool) { began = append(began, changes) }}
	got := runTurn(t, t.Context(), Options{Tools: tools}, turn, called("", "read {}", "write {}"), answer{deltas: texts("Done.")})
	if got.Text != "Done." || fmt.Sprint(began) != "[false true]" || len(p.proposals) != 2 || p.proposals[0].Standing || !p.proposals[1].Standing {
		t.Errorf("%q, %v begun, proposed %+v", got.Text, began, p.proposals)
	}

	began = nil // the journal stores the same if no person is asked for approval
	got = runTurn(t, t.Context(), Options{Tools: workshop()}, turn, called("", "read {}", "write {}"), answer{deltas: texts("Done.")})
	if got.Text != "Done." || fmt.Sprint(began) != "[false true]" {
		t.Errorf("nobody is asked: %q, %v begun", got.Text, began)
	}
}

// awaited is a toolbox that knows its tools after a delay.
type awaited struct {
	toolbox
	known chan struct{}
}

func (a awaited) Await(ctx context.Context) {
	select {
	case <-a.known:
	case <-ctx.Done():
	}
}

// The first request of a turn waits until the toolbox knows its tools, but only for a limited time. While the request waits,
// the turn's clock is paused.
func TestFirstRequestWaitsForTheToolbox(t *testing.T) {
	for _, tt := range []struct{ comes, takes time.Duration }{{0, 0}, {3 * time.Second, 3 * time.Second}, {time.Hour, toolboxWait}} {
		synctest.Test(t, func(t *testing.T) {
			box := awaited{workshop(), make(chan struct{})}
			timer := time.AfterFunc(tt.comes, func() { close(box.known) })
			defer timer.Stop()
			got := runTurn(t, t.Context(), Options{Tools: box, Limits: Limits{Turn: 2 * time.Second}}, streamed, answer{deltas: texts("Done.")})
			if got.Elapsed != tt.takes || got.Stop != StopDone {
				t.Errorf("known after %v: %s after %v", tt.comes, got.Stop, got.Elapsed)
			}
		})
	}
}
