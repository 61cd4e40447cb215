package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// planner is a model that does what a test wrote: its n-th answer to a question is the n-th step.
type planner struct {
	mu    sync.Mutex
	steps []agent.Completion
	asked []agent.Request
}

func (*planner) Name() string { return "planner" }

func (p *planner) Complete(context.Context, agent.Request) (agent.Completion, error) {
	panic("not used")
}

func (p *planner) Stream(_ context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	n := 0
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == agent.User {
			break
		}
		if len(m.ToolCalls) > 0 {
			n++
		}
	}
	p.mu.Lock()
	p.asked = append(p.asked, r)
	step := p.steps[min(n, len(p.steps)-1)]
	p.mu.Unlock()
	for w := range strings.SplitAfterSeq(step.Text, " ") {
		emit(agent.Delta{Text: w})
	}
	step.Text = ""
	return step, nil
}

// told returns what the model was told last about its call.
func (p *planner) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Backward(p.asked[len(p.asked)-1].Messages) {
		if m.Role == agent.ToolRole {
			return m.Text
		}
	}
	return ""
}

// lamp is a toolbox with a tool that changes something.
type lamp struct {
	mu       sync.Mutex
	switched []string
	takes    time.Duration
	pictures []agent.Image
}

func (l *lamp) Tools() []agent.ToolDef {
	return []agent.ToolDef{{
		Name:    "switch",
		Propose: func(arguments string) string { return "Switch the lamp: " + arguments },
		Call: func(ctx context.Context, in agent.Input) (agent.Output, error) {
			l.mu.Lock()
			l.switched = append(l.switched, in.Arguments)
			l.mu.Unlock()
			select {
			case <-time.After(l.takes):
				return agent.Output{Text: "done", Images: l.pictures}, nil
			case <-ctx.Done():
				return agent.Output{}, context.Cause(ctx)
			}
		},
	}}
}

func (l *lamp) times() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.switched)
}

// lab is a gateway with the real agent, a model that plans and a lamp.
type lab struct {
	life
	*planner
	*lamp
	log journal
}

func newLab() *lab {
	call := agent.ToolCall{ID: "c1", Name: "switch", Arguments: `{"on":true}`}
	return &lab{
		life:    *newLife(),
		planner: &planner{steps: []agent.Completion{{Text: "I switch it on. ", ToolCalls: []agent.ToolCall{call}}, {Text: "It is on."}}},
		lamp:    &lamp{},
	}
}

func (l *lab) open(t *testing.T, change func(*gateway.Options)) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(&l.log, nil))
	a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: l.planner}}, Tools: l.lamp, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	l.begin(t, func(o *gateway.Options) {
		o.Runner, o.Log, o.ApprovalTimeout = a, log, 2*time.Minute
		if change != nil {
			change(o)
		}
	})
}

// button returns the ID of a button that a person sees now; empty without one.
func (l *lab) button(prefix string) string {
	l.platform.mu.Lock()
	defer l.platform.mu.Unlock()
	for _, m := range l.messages {
		for _, b := range m.buttons {
			if strings.HasPrefix(b.ID, prefix) {
				return b.ID
			}
		}
	}
	return ""
}

func pressing(action string) chat.Inbound {
	in := ask("")
	in.Kind, in.Action = chat.Button, action
	return in
}

const switched = "I switch it on.\n\nIt is on."

func TestApproval(t *testing.T) {
	cases := []struct {
		name    string
		decide  func(l *lab) chat.Inbound
		runs    int
		told    string
		audited string
	}{
		{"by button", func(l *lab) chat.Inbound { return pressing(l.button("approve:")) }, 1, "done", `decision=approved by=tg:user:7`},
		{"denied by button", func(l *lab) chat.Inbound { return pressing(l.button("deny:")) }, 0, "the person denied this call", `decision=denied by=tg:user:7`},
		{"by command", func(*lab) chat.Inbound { return command("approve") }, 1, "done", `decision=approved by=tg:user:7`},
		{"by command with its id", func(l *lab) chat.Inbound {
			return with(command("approve"), strings.ToUpper(strings.TrimPrefix(l.button("approve:"), "approve:")))
		}, 1, "done", `decision=approved by=tg:user:7`},
		{"denied by command", func(*lab) chat.Inbound { return command("deny") }, 0, "the person denied this call", `decision=denied by=tg:user:7`},
		{"by a yes", func(*lab) chat.Inbound { return ask(" Yes! ") }, 1, "done", `decision=approved by=tg:user:7`},
		{"denied by a no", func(*lab) chat.Inbound { return ask("no") }, 0, "the person denied this call", `decision=denied by=tg:user:7`},
		{"always", func(l *lab) chat.Inbound { return pressing(l.button("always:")) }, 1, "done", `decision=approved by=tg:user:7 always=true`},
		{"by nobody", nil, 0, "nobody approved this call in time", `decision="denied: nobody decided in time" by=""`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				if got := l.sees(); len(got) != 1 || !strings.Contains(got[0], `Switch the lamp: {"on":true}`) || l.times() != 0 {
					t.Fatalf("before: sees %q, ran %d times", got, l.times())
				}
				old := l.button("approve:")
				if c.decide != nil {
					l.say(t, c.decide(l))
				} else {
					later(2 * time.Minute)
				}
				later(5 * time.Second)
				want := switched
				if c.decide == nil {
					want += "\n\n" + gateway.DefaultTexts()[gateway.TextUndecided]
				}
				equal(t, "messages", l.sees(), []string{want})
				if l.button("") != "" || l.times() != c.runs || !strings.Contains(l.told(), c.told) {
					t.Errorf("button %q, ran %d times, told %q", l.button(""), l.times(), l.told())
				}
				if n := strings.Count(l.log.String(), c.audited); n != 1 {
					t.Errorf("%d audit lines with %s in\n%s", n, c.audited, l.log.String())
				}
				l.say(t, pressing(old)) // which stood on somebody's screen until now
				l.say(t, with(command("approve"), strings.TrimPrefix(old, "approve:")))
				later(5 * time.Second)
				equal(t, "messages", l.sees(), []string{want, gateway.DefaultTexts()[gateway.TextNoProposal]})
				if l.times() != c.runs {
					t.Errorf("ran %d times after a late press", l.times())
				}
			})
		})
	}
}

// Where nobody watches the answer come, nobody is asked: the call is refused at once, which the person reads in the end.
// What was approved once and for all is done.
func TestNobodyToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		alone := ask("light")
		alone.Unattended = true
		l.say(t, alone)
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{switched + "\n\n" + gateway.DefaultTexts()[gateway.TextUnasked]})
		if l.times() != 0 || !strings.Contains(l.told(), "nobody could be asked") || !strings.Contains(l.log.String(), `decision="denied: nobody can be asked"`) ||
			strings.Contains(l.log.String(), "level=ERROR") {
			t.Errorf("ran %d times, told %q, log\n%s", l.times(), l.told(), l.log.String())
		}
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("always:")))
		later(5 * time.Second)
		again := ask("light")
		again.Unattended = true
		l.say(t, again)
		later(5 * time.Second)
		if got := l.sees(); len(got) != 3 || got[2] != switched || l.times() != 2 {
			t.Errorf("approved once and for all: ran %d times, sees %q", l.times(), got)
		}
	})
}

func TestOnlyTheAskerOrAnAdminDecides(t *testing.T) {
	group := func(in chat.Inbound, who chat.UserID) chat.Inbound {
		in.To, in.Sender.ID = chat.Target{Chat: "-5", Kind: chat.Group}, who
		return in
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, func(o *gateway.Options) {
			o.Busy = gateway.Queue
			o.Access = access.Rules{Open: true, Admins: []access.Rule{{Endpoint: "tg", User: "1"}}}
		})
		l.say(t, group(ask("light"), "7"))
		later(5 * time.Second)
		approve := l.button("approve:")
		for range 2 {
			l.say(t, group(pressing(approve), "8"))
			l.say(t, group(command("approve"), "8"))
		}
		l.say(t, group(ask("yes"), "8")) // a message like any other
		later(5 * time.Second)
		got := l.sees()
		if l.times() != 0 || len(got) != 2 || got[1] != gateway.DefaultTexts()[gateway.TextNotYours] {
			t.Fatalf("after a stranger's tries: ran %d times, sees %q", l.times(), got)
		}
		l.say(t, group(pressing(approve), "1"))
		later(5 * time.Second)
		if got := l.sees(); l.times() != 1 || got[0] != switched {
			t.Errorf("after an admin's: ran %d times, sees %q", l.times(), got)
		}
		if !strings.Contains(l.log.String(), "decision=approved by=tg:user:1") {
			t.Errorf("no audit line of the admin in\n%s", l.log.String())
		}
	})
}

func TestAlwaysHoldsForTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, with(command("approve"), "always"))
		later(5 * time.Second)
		for n := 2; n <= 3; n++ {
			l.say(t, ask("light again"))
			later(5 * time.Second)
			if l.times() != n || !strings.Contains(l.log.String(), "approved once for this conversation") {
				t.Fatalf("ran %d times, want %d", l.times(), n)
			}
		}
		elsewhere := ask("light")
		elsewhere.To.Chat = "8"
		l.say(t, elsewhere)
		later(5 * time.Second)
		if l.times() != 3 || l.button("approve:") == "" {
			t.Errorf("in another conversation: ran %d times", l.times())
		}
		l.say(t, command("new"))
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 3 {
			t.Errorf("after /new: ran %d times", l.times())
		}
	})
}

func TestAnotherMessageFollowsTheBusyMode(t *testing.T) {
	for _, c := range []struct {
		busy gateway.Busy
		left bool // the question
	}{{gateway.Interrupt, false}, {gateway.Queue, true}, {gateway.Steer, true}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab()
			l.open(t, func(o *gateway.Options) { o.Busy = c.busy })
			l.say(t, ask("light"))
			later(5 * time.Second)
			old := l.button("approve:")
			l.steps[0].ToolCalls, l.steps[0].Text = nil, "As you like."
			l.say(t, ask("yes, but blue"))
			later(5 * time.Second)
			if left := l.button("approve:") == old; left != c.left {
				t.Errorf("busy %d: the question stands: %t, sees %q", c.busy, left, l.sees())
			}
			l.say(t, pressing(old))
			later(5 * time.Second)
			if got := l.times(); (got == 1) != c.left {
				t.Errorf("busy %d: ran %d times, sees %q", c.busy, got, l.sees())
			}
			for _, text := range l.sees() {
				if strings.Contains(text, "May I") || strings.Contains(text, "▌") {
					t.Errorf("busy %d: it still says %q", c.busy, text)
				}
			}
		})
	}
}

func TestKilledWhileAProposalWaits(t *testing.T) { // D10
	for _, c := range []string{"after the start", "before it is taken up", "while nobody was there", "too late", "graceful"} {
		t.Run(c, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				approve := l.button("approve:")
				id := l.messages[0].id
				if c == "graceful" {
					_ = l.stop()
				} else {
					l.kill()
				}
				switch c {
				case "while nobody was there":
					later(10 * time.Minute) // its time is over; the press arrives now
				case "too late":
					later(20 * time.Minute)
				}
				l.open(t, func(o *gateway.Options) { o.MaxAge = 15 * time.Minute })
				if c != "before it is taken up" {
					later(5 * time.Second)
				}
				l.say(t, pressing(approve))
				later(10 * time.Second)
				want, runs := switched, 1
				if c == "too late" {
					want, runs = "", 0
				}
				got := l.sees()
				if l.times() != runs || len(got) != 1 || l.messages[0].id != id || want != "" && got[0] != want || strings.Contains(got[0], "▌") || strings.Contains(got[0], "May I") {
					t.Errorf("ran %d times, sees %q\n%s", l.times(), got, l.log.String())
				}
				if left, _ := l.store.Unfinished(t.Context()); len(left) != 0 {
					t.Errorf("left: %+v", left)
				}
			})
		})
	}
}

// A call that was running when the process died is not run again, and the model is told so.
func TestKilledWhileAToolChangesSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = 10 * time.Second
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, ask("yes"))
		later(5 * time.Second)
		l.kill()
		l.open(t, nil)
		later(10 * time.Second)
		if l.times() != 1 || !strings.Contains(l.told(), "not known whether") {
			t.Errorf("ran %d times, told %q", l.times(), l.told())
		}
		equal(t, "messages", l.sees(), []string{switched})
	})
}

// A yes that waits in the queue is none to a question that came later, also when a restart reads it anew.
func TestAYesFromBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		again := l.steps[0]
		again.ToolCalls = []agent.ToolCall{{ID: "c2", Name: "switch", Arguments: `{"on":false}`}}
		l.steps = slices.Insert(l.steps, 1, again)
		l.takes = 10 * time.Second
		queue := func(o *gateway.Options) { o.Busy = gateway.Queue }
		l.open(t, queue)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, ask("yes"))
		later(5 * time.Second)
		l.say(t, ask("yes")) // about what is being done already
		later(10 * time.Second)
		if l.button("approve:") == "" || l.times() != 1 {
			t.Fatalf("ran %d times, sees %q", l.times(), l.sees())
		}
		l.kill()
		l.open(t, queue)
		later(30 * time.Second)
		if l.times() != 1 {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
		l.say(t, ask("yes"))
		later(30 * time.Second)
		if l.times() != 2 {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
	})
}

// What a tool has changed is remembered, although the answer was interrupted before it had any text.
func TestInterruptedAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.steps[0].Text = ""
		l.takes = 10 * time.Second
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.steps[0].ToolCalls, l.steps[0].Text = nil, "As you like."
		l.say(t, ask("and blue"))
		later(5 * time.Second)
		last := l.asked[len(l.asked)-1].Messages
		var roles []string
		for _, m := range last {
			roles = append(roles, fmt.Sprint(m.Role, " ", len(m.ToolCalls)))
		}
		if got := strings.Join(roles, ", "); got != "user 0, assistant 1, tool 0, user 0" || l.times() != 1 {
			t.Errorf("ran %d times, the model reads %s", l.times(), got)
		}
	})
}

// The same where a restart came in between, and the turn was interrupted before it came to ask the model again.
func TestInterruptedAsItIsTakenUpAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = 10 * time.Second
		l.open(t, nil)
		l.files = map[string][]byte{"f": []byte("hi")} // which takes a moment to read
		question := ask("light")
		question.Attachments = []chat.Attachment{{ID: "f", Name: "a.txt", MediaType: "text/plain", Size: 2}}
		l.say(t, question)
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.kill()
		l.steps[0].ToolCalls, l.steps[0].Text = nil, "As you like."
		l.open(t, nil)
		l.say(t, ask("and blue"))
		later(5 * time.Second)
		last := l.asked[len(l.asked)-1].Messages
		var roles []string
		for _, m := range last {
			roles = append(roles, fmt.Sprint(m.Role, " ", len(m.ToolCalls)))
		}
		if got := strings.Join(roles, ", "); got != "user 0, assistant 1, tool 0, user 0" || !strings.HasPrefix(last[0].Text, "light") || l.times() != 1 {
			t.Errorf("ran %d times, the model reads %s", l.times(), got)
		}
	})
}

// A call that could not be written down is not run.
func TestAFullDiskKeepsToolsFromChangingThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		full := &forgetful{kind: chat.StepBegun}
		l.open(t, func(o *gateway.Options) { full.Store, o.Store = o.Store, full })
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, ask("yes"))
		later(5 * time.Second)
		got := l.sees()
		if l.times() != 0 || len(got) != 1 || !strings.HasPrefix(got[0], "I switch it on.") || !strings.Contains(got[0], "Something went wrong here") {
			t.Errorf("ran %d times, sees %q", l.times(), got)
		}
	})
}

// forgetful is a store that can't take one kind of step.
type forgetful struct {
	gateway.Store
	kind chat.StepKind
}

func (f *forgetful) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	if steps[0].Kind == f.kind {
		return errStore
	}
	return f.Store.Note(ctx, turn, steps...)
}

// A tool's large pictures are shown to the model once, and not in every turn that follows.
func TestLargePicturesOfToolsAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.pictures = []agent.Image{{MediaType: "image/png", Data: make([]byte, 1<<20)}, {MediaType: "image/png", Data: []byte("small")}}
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, ask("yes"))
		later(5 * time.Second)
		for i, want := range []int{2, 1} {
			var pictures int
			for _, m := range l.asked[len(l.asked)-1].Messages {
				pictures += len(m.Images)
			}
			if pictures != want {
				t.Errorf("turn %d: the model is shown %d pictures, want %d", i+1, pictures, want)
			}
			l.say(t, ask("and now?"))
			later(5 * time.Second)
		}
		reads := fmt.Sprint(l.asked[len(l.asked)-1].Messages)
		if !strings.Contains(reads, "too large to be kept: 1") {
			t.Errorf("the model reads %.300s", reads)
		}
	})
}
