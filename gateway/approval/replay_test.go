package approval_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway/approval"
	"telex/internal/chat"
)

// stored is a journal as version 1 of the program stored it. Every later version must be able to read this journal.
func stored() []chat.Step {
	asked := func(call, body string) chat.Step {
		return chat.Step{Kind: chat.StepAsked, Call: call, Body: []byte(body)}
	}
	return []chat.Step{
		asked("1", `{"id":"ab3de","tool":"light","text":"Switch it on","whole":"Switch it on, all of it","standing":true,"version":"v1","slash":"!",`+
			`"asked":"2026-05-01T12:00:00Z","until":"2026-05-01T12:05:00Z"}`),
		{Kind: chat.StepDecided, Call: "1", Body: []byte(`{"id":"ab3de","verdict":1,"by":"e:user:8","always":true,"at":"2026-05-01T12:04:00Z"}`)},
		asked("2", `{"id":"xy2zz","tool":"recall","text":"Recall","personal":true,"version":"v0","asked":"2026-05-01T12:00:00Z","until":"2026-05-01T12:05:00Z"}`),
		{Kind: chat.StepBegun, Call: "1"},
		asked("2", `{"id":"fg5hj","tool":"recall","text":"Recall it","personal":true,"version":"v1","asked":"2026-05-01T12:00:00Z","until":"2026-05-01T12:05:00Z"}`),
	}
}

func TestReadsProposalsOfEarlierVersions(t *testing.T) {
	one := newTurn(&store{})
	if err := one.Replay(stored()); err != nil {
		t.Fatal(err)
	}
	if got := one.Calls(); !slices.Equal(got, []string{"1", "2", "2"}) {
		t.Errorf("calls %q", got)
	}
	p := one.Find("", time.Now())
	if p == nil || p.ID != "fg5hj" || p.Tool != "recall" || p.Text != "Recall it" || !p.Personal || p.Standing || p.Version != "v1" || p.Until.IsZero() {
		t.Errorf("open is %+v", p)
	}
	if one.Text("1") != "Switch it on" || one.Text("3") != "" || one.Gap() != approval.NoGap {
		t.Errorf("call 1 is %q, gap %v", one.Text("1"), one.Gap())
	}
	if err := newTurn(&store{}).Replay([]chat.Step{{Kind: chat.StepAsked, Body: []byte("{")}}); err == nil {
		t.Error("a broken step was read")
	}
}

// A person wrote a message before the question was asked. The message must not count as an answer, even if the clocks
// of two processes differ.
func TestClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := newTurn(&store{}), newTurn(&store{})
		one.Ahead, other.Ahead = -5*time.Second, 5*time.Second
		if _, err := one.approve(t.Context(), call(func(*agent.Proposal) {}), func() {
			if err := other.Replay(one.store.steps); err != nil {
				t.Fatal(err)
			}
			for late, want := range map[time.Duration]bool{-time.Second: false, time.Second: true} {
				said := one.asks.Asked.Add(late)
				if one.Find("", said) != nil != want || other.Find("", said.Add(other.Ahead-one.Ahead)) != nil != want {
					t.Errorf("an answer %v after the question is taken wrongly", late)
				}
			}
			one.decide(approval.Answer{Verdict: agent.Denied})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// The program must write exactly the JSON keys that it reads, because other versions of the program use the same keys.
func TestStoredKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newTurn(&store{})
		if _, err := one.approve(t.Context(), call(func(p *agent.Proposal) { p.Whole, p.Personal = "more", true }), func() {
			one.asks.ID = "ab3de"
			one.decide(approval.Answer{Verdict: agent.Approved, Always: true})
		}); err != nil {
			t.Fatal(err)
		}
		// virtual time begins at midnight UTC of 2000-01-01
		want := `{"id":"ab3de","verdict":1,"by":"e:user:8","always":true,"at":"`
		if got := string(one.store.steps[1].Body); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("decided: %s", got)
		}
		again := newTurn(&store{})
		if err := again.Replay(one.store.steps[:1]); err != nil {
			t.Fatal(err)
		}
		p := again.Find("", time.Now())
		if p == nil || p.Tool != "light" || p.Text != "Switch it on" || p.Whole != "more" || !p.Standing || !p.Personal || p.Version != "v1" || p.Slash != "/" || !p.Until.Equal(p.Asked.Add(5*time.Minute)) {
			t.Errorf("asked: %s", one.store.steps[0].Body)
		}
	})
}

func TestTheNextProcess(t *testing.T) {
	asked := func(t *testing.T) *store { // the store of a process that died while a tool call waited for approval
		s := &store{}
		one := newTurn(s)
		p, err := one.approve(t.Context(), call(), nil)
		if p != agent.TimedOut || err != nil {
			t.Fatal(p, err)
		}
		s.steps = s.steps[:1] // remove the timeout's decision, because the process died earlier
		return s
	}
	for _, c := range []struct {
		name  string
		p     agent.Proposal
		do    func(*turn)
		want  agent.Verdict
		shown int
		fresh int // number of new proposals
	}{
		{"asks again under the id", call(), func(t *turn) { t.decide(approval.Answer{Verdict: agent.Approved}) }, agent.Approved, 1, 0},
		{"asks again without the tool", call(func(p *agent.Proposal) { p.Version = "" }), func(t *turn) { t.decide(approval.Answer{Verdict: agent.Approved}) }, agent.Approved, 1, 0},
		{"asks anew about another version", call(func(p *agent.Proposal) { p.Version = "v2" }), func(t *turn) { t.decide(approval.Answer{Verdict: agent.Approved}) }, agent.Approved, 1, 1},
		{"leaves some time", call(), func(t *turn) {
			time.Sleep(59 * time.Second)
			t.decide(approval.Answer{Verdict: agent.Approved})
		}, agent.Approved, 1, 0},
		{"but not for ever", call(), func(*turn) { time.Sleep(61 * time.Second) }, agent.TimedOut, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := asked(t)
				one := newTurn(s)
				if err := one.Replay(s.steps); err != nil {
					t.Fatal(err)
				}
				one.Resume(time.Now())
				v, err := one.approve(t.Context(), c.p, func() { c.do(one) })
				if v != c.want || err != nil || len(one.shown) != c.shown || len(one.Calls()) != 1+c.fresh {
					t.Errorf("got %v, %v, showed %d, %d proposals", v, err, len(one.shown), len(one.Calls()))
				}
			})
		})
	}
	t.Run("is told what was decided", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			one := newTurn(&store{})
			if err := one.Replay(stored()); err != nil {
				t.Fatal(err)
			}
			if v, err := one.approve(t.Context(), call(), nil); v != agent.Approved || err != nil || len(one.shown) > 0 {
				t.Errorf("got %v, %v, showed %q", v, err, one.shown)
			}
		})
	})
	t.Run("settles what a standing approval covers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := asked(t)
			s.consents["7 light@v1"] = true
			one := newTurn(s)
			if err := one.Replay(s.steps); err != nil {
				t.Fatal(err)
			}
			if v, err := one.approve(t.Context(), call(), nil); v != agent.Approved || err != nil || one.Waiting() || len(s.steps) != 2 {
				t.Errorf("got %v, %v, waiting %t, %d steps", v, err, one.Waiting(), len(s.steps))
			}
		})
	})
}

func TestPending(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		steps []chat.Step
		now   time.Time
		ran   []string
		want  bool
	}{
		{"in its time", stored(), at.Add(4 * time.Minute), nil, true},
		{"a call has begun", stored()[:2], at.Add(4 * time.Minute), []string{"1"}, false},
		{"another call waits", stored(), at.Add(4 * time.Minute), []string{"1"}, true},
		{"decided a moment ago", stored()[:2], at.Add(5*time.Minute - time.Second), nil, true},
		{"decided as the process starts", []chat.Step{stored()[0], {Kind: chat.StepDecided, Body: []byte(`{"id":"ab3de","verdict":1,"at":"2026-05-01T12:30:00Z"}`)}}, at.Add(30 * time.Minute), nil, true},
		{"too late", stored(), at.Add(time.Hour), nil, false},
	} {
		one := newTurn(&store{})
		if err := one.Replay(c.steps); err != nil {
			t.Fatal(err)
		}
		if got := one.Pending(c.now, func(call string) bool { return slices.Contains(c.ran, call) }); got != c.want {
			t.Errorf("%s: pending %t, want %t", c.name, got, c.want)
		}
	}
}
