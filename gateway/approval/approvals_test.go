package approval_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway/approval"
	"telex/internal/chat"
)

// store keeps steps and permanent approvals in memory. The store needs no lock, because the tests wait for its callers.
type store struct {
	steps     []chat.Step
	consents  map[string]bool
	fails     error // error that Note returns
	forgetful error // error that Consented returns
}

func (s *store) Note(_ context.Context, _ string, steps ...chat.Step) error {
	if s.fails == nil {
		s.steps = append(s.steps, steps...)
	}
	return s.fails
}

func (s *store) Consent(_ context.Context, _ chat.Conversation, u chat.UserID, tool string) error {
	s.consents[string(u)+" "+tool] = true
	return nil
}

func (s *store) Consented(_ context.Context, _ chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return s.consents[string(u)+" "+tool], s.forgetful
}

// turn holds the approvals of one turn and what people see of them.
type turn struct {
	*approval.Approvals
	store *store
	log   bytes.Buffer
	shown []string
	asks  *approval.Proposal // the question that people see now; nil: none
	let   bool               // the asker has access
}

var (
	errShutdown = errors.New("the daemon stops")
	errEnded    = errors.New("a new message came")
)

func newTurn(s *store) *turn {
	if s.consents == nil {
		s.consents = make(map[string]bool)
	}
	t := &turn{store: s, let: true}
	t.Approvals = approval.New(approval.Options{
		Store: s, Log: slog.New(slog.NewTextHandler(&t.log, nil)), Turn: "t", Asker: chat.Person{Endpoint: "e", User: "7"},
		Timeout: 5 * time.Minute, Shutdown: errShutdown,
		Allowed: func() bool { return t.let }, Slash: func() string { return "/" },
		Show: func(p *approval.Proposal) { t.asks, t.shown = p, append(t.shown, p.Text) },
		Hide: func() { t.asks = nil },
	})
	return t
}

func call(change ...func(*agent.Proposal)) agent.Proposal {
	p := agent.Proposal{Call: agent.ToolCall{ID: "1"}, Tool: "light", Text: "Switch it on", Whole: "Switch it on", Version: "v1", Standing: true}
	for _, f := range change {
		f(&p)
	}
	return p
}

// approve asks people to approve a tool call, and calls the parameter meanwhile while it waits for their decision.
// approve must be called in a synctest bubble.
func (t *turn) approve(ctx context.Context, p agent.Proposal, meanwhile func()) (v agent.Verdict, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = t.Approve(ctx, p)
	}()
	synctest.Wait()
	if meanwhile != nil {
		meanwhile()
	}
	<-done
	return v, err
}

func (t *turn) decide(a approval.Answer) {
	_, _ = t.Decide(context.Background(), t.Find(a.ID, time.Now()), a, chat.Person{Endpoint: "e", User: "8"})
}

func TestApprove(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*turn)
		p    agent.Proposal
		do   func(*turn, context.CancelCauseFunc)
		want agent.Verdict
		err  error
		gap  approval.Gap
		log  string
		asks bool // at the end, people still see the question
	}{
		{name: "approved", p: call(), want: agent.Approved, log: "decision=approved by=e:user:8 always=false", do: func(t *turn, _ context.CancelCauseFunc) {
			t.decide(approval.Answer{Verdict: agent.Approved})
		}},
		{name: "denied", p: call(), want: agent.Denied, log: "decision=denied by=e:user:8", do: func(t *turn, _ context.CancelCauseFunc) {
			t.decide(approval.Answer{Verdict: agent.Denied})
		}},
		{name: "nobody decides", p: call(), want: agent.TimedOut, gap: approval.NobodyDecided, log: "nobody decided in time"},
		{name: "the answer ends", p: call(), err: errEnded, log: "withdrawn: the answer ended", do: func(_ *turn, cancel context.CancelCauseFunc) { cancel(errEnded) }},
		{name: "the daemon stops", p: call(), err: errShutdown, asks: true, do: func(_ *turn, cancel context.CancelCauseFunc) { cancel(errShutdown) }},
		{name: "nobody to ask", p: call(), err: agent.ErrNobodyToAsk, gap: approval.NobodyToAsk, log: "nobody can be asked", set: func(t *turn) { t.Unattended = true }},
		{name: "too long to be read", p: call(func(p *agent.Proposal) { p.Unreadable = true }), err: agent.ErrUnreadable, log: "too long to be read"},
		{name: "standing", p: call(), want: agent.Approved, log: "approved once for this conversation", set: func(t *turn) { t.store.consents["7 light@v1"] = true }},
		{name: "standing for another version", p: call(), want: agent.TimedOut, gap: approval.NobodyDecided, set: func(t *turn) { t.store.consents["7 light@v0"] = true }},
		{name: "standing of somebody who was shut out", p: call(), want: agent.TimedOut, gap: approval.NobodyDecided, set: func(t *turn) {
			t.store.consents["7 light@v1"], t.let = true, false
		}},
		{
			name: "standing for what is asked each time", p: call(func(p *agent.Proposal) { p.Standing = false }), want: agent.TimedOut, gap: approval.NobodyDecided,
			set: func(t *turn) { t.store.consents["7 light@v1"] = true },
		},
		{name: "standing that can't be read", p: call(), want: agent.TimedOut, gap: approval.NobodyDecided, log: "could not be read; asking", set: func(t *turn) {
			t.store.consents["7 light@v1"], t.store.forgetful = true, errors.New("busy")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newTurn(&store{})
				if c.set != nil {
					c.set(one)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				v, err := one.approve(ctx, c.p, func() {
					if c.do != nil {
						c.do(one, cancel)
					}
				})
				cancel(nil)
				if v != c.want || !errors.Is(err, c.err) || one.Gap() != c.gap || !strings.Contains(one.log.String(), c.log) {
					t.Errorf("got %v, %v, gap %v, log\n%s\nwant %v, %v, %v, %q", v, err, one.Gap(), one.log.String(), c.want, c.err, c.gap, c.log)
				}
				if asks := one.asks != nil; asks != c.asks {
					t.Errorf("the question stands: %t, want %t", asks, c.asks)
				}
			})
		})
	}
}

func TestAlways(t *testing.T) {
	for _, c := range []struct {
		name     string
		standing bool
		want     int
	}{{"for what may be approved once", true, 1}, {"not for what is asked each time", false, 0}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newTurn(&store{})
				v, err := one.approve(t.Context(), call(func(p *agent.Proposal) { p.Standing = c.standing }), func() {
					one.decide(approval.Answer{Verdict: agent.Approved, Always: true})
				})
				if v != agent.Approved || err != nil || len(one.store.consents) != c.want || c.want == 1 && !one.store.consents["7 light@v1"] {
					t.Errorf("got %v, %v and consents %v", v, err, one.store.consents)
				}
			})
		})
	}
}

func TestFirstDecisionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newTurn(&store{})
		v, err := one.approve(t.Context(), call(), func() {
			p := one.Find("", time.Now())
			one.decide(approval.Answer{Verdict: agent.Denied})
			if _, err := one.Decide(t.Context(), p, approval.Answer{Verdict: agent.Approved}, chat.Person{}); !errors.Is(err, approval.ErrDecided) {
				t.Errorf("a second decision: %v, want ErrDecided", err)
			}
		})
		if v != agent.Denied || err != nil || len(one.store.steps) != 2 {
			t.Errorf("got %v, %v and %d steps, want one decision", v, err, len(one.store.steps))
		}
	})
}

func TestAQuestionThatIsNotStoredIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newTurn(&store{fails: errors.New("disk full")})
		if v, err := one.approve(t.Context(), call(), nil); v != agent.Denied || err == nil || len(one.shown) > 0 || one.Waiting() {
			t.Errorf("got %v, %v and asked %q", v, err, one.shown)
		}
	})
}

// The store refuses to store a person's decision. A decision that the store refused must still take effect.
func TestADecisionThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newTurn(&store{})
		v, err := one.approve(t.Context(), call(), func() {
			one.store.fails = errors.New("disk full")
			one.decide(approval.Answer{Verdict: agent.Approved})
		})
		if v != agent.Approved || err != nil || !strings.Contains(one.log.String(), "disk full") {
			t.Errorf("got %v, %v, log %s", v, err, one.log.String())
		}
	})
}

func TestFind(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	one := newTurn(&store{})
	if err := one.Replay(stored()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, id string
		said     time.Time
		want     string
	}{
		{"whichever is open", "", at.Add(time.Minute), "fg5hj"},
		{"said before it was asked", "", at.Add(-time.Minute), ""},
		{"by its id, also before", "FG5HJ", at.Add(-time.Minute), "fg5hj"},
		{"of what was decided", "ab3de", at.Add(time.Minute), ""},
		{"of what was replaced", "xy2zz", at.Add(time.Minute), ""},
		{"of nothing", "none1", at.Add(time.Minute), ""},
	} {
		got := ""
		if p := one.Find(c.id, c.said); p != nil {
			got = p.ID
		}
		if got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}
