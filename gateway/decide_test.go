package gateway_test

import (
	"context"
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

// moody is a store whose calls about decisions can be made slow or made to fail.
type moody struct {
	gateway.Store
	mu             sync.Mutex
	drops, decides time.Duration
	consented      error
}

func (m *moody) set(change func(*moody)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *moody) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	m.mu.Lock()
	wait := m.drops
	m.mu.Unlock()
	time.Sleep(wait)
	return m.Store.Drop(ctx, c, ids...)
}

func (m *moody) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	m.mu.Lock()
	wait := m.decides
	m.mu.Unlock()
	if steps[0].Kind == chat.StepDecided {
		time.Sleep(wait)
	}
	return m.Store.Note(ctx, turn, steps...)
}

func (m *moody) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	m.mu.Lock()
	err := m.consented
	m.mu.Unlock()
	if err != nil {
		return false, err
	}
	return m.Store.Consented(ctx, c, u, tool)
}

func (l *lab) openMoody(t *testing.T) *moody {
	t.Helper()
	m := &moody{}
	l.open(t, func(o *gateway.Options) { m.Store, o.Store = o.Store, m })
	return m
}

// A person decides about a tool call just before the time limit ends, and the store is slow. Only the event that comes first,
// the decision or the time limit, may decide the call.
func TestDecisionAtTheTimeLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		slow func(*moody)
		want string
		runs int
	}{
		"the person is first": {func(m *moody) { m.decides = 5 * time.Second }, switched, 1},
		"the end is first": {
			func(m *moody) { m.drops = 5 * time.Second },
			switched + "\n\n" + gateway.DefaultTexts()[gateway.TextUndecided], 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				store := l.openMoody(t)
				l.say(t, ask("light"))
				later(5 * time.Second)
				approve := l.button("approve:")
				later(114 * time.Second) // the time limit is 2 minutes
				store.set(tt.slow)
				l.say(t, pressing(approve))
				later(20 * time.Second)
				equal(t, "messages", l.sees(), []string{tt.want})
				if n := strings.Count(l.log.String(), "a tool call was decided"); n != 1 || l.times() != tt.runs {
					t.Errorf("decided %d times, ran %d times\n%s", n, l.times(), l.log.String())
				}
			})
		})
	}
}

// A person can no longer deny a tool call that runs after an approval, because the question about this call is no longer open.
func TestDecidedCallIsNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = 20 * time.Second
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		if got := l.sees(); len(got) != 1 || strings.Contains(got[0], "Allow this") || l.button("") != "" {
			t.Errorf("while it runs: sees %q", got)
		}
		l.say(t, command("deny"))
		later(30 * time.Second)
		equal(t, "messages", l.sees(), []string{switched, gateway.DefaultTexts()[gateway.TextNoProposal]})
		if l.times() != 1 {
			t.Errorf("ran %d times", l.times())
		}
	})
}

// People must approve each read-only call that needs approval, because they decide about the content of each call. So a
// permanent approval of the tool must not cover its read-only calls.
func TestAlwaysDoesNotCoverReadOnlyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("always:")))
		later(5 * time.Second)
		l.lamp.mu.Lock()
		l.reads = true
		l.lamp.mu.Unlock()
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 1 || l.button("approve:") == "" || l.button("always:") != "" {
			t.Fatalf("ran %d times, sees %q", l.times(), l.sees())
		}
		l.say(t, with(command("approve"), "always"))
		later(5 * time.Second)
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 2 || l.button("approve:") == "" || strings.Count(l.log.String(), "always=true") != 1 {
			t.Errorf("ran %d times, sees %q\n%s", l.times(), l.sees(), l.log.String())
		}
	})
}

// "/approve always" for a read-only call must approve only this call, because its question has no button for a
// permanent approval. "/deny" with another word must not decide the question, because the word is read as an id.
func TestAlwaysStoresNothingForAReadOnlyCall(t *testing.T) {
	for name, tt := range map[string]struct {
		reads bool
		says  []chat.Inbound
		runs  int
	}{
		"only read":        {true, []chat.Inbound{with(command("approve"), "always")}, 1},
		"denied":           {false, []chat.Inbound{with(command("deny"), "always"), command("deny")}, 0},
		"denied with more": {false, []chat.Inbound{with(command("deny"), "always please"), command("deny")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.reads = tt.reads
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				for _, in := range tt.says {
					l.say(t, in)
					later(5 * time.Second)
				}
				if l.times() != tt.runs || l.button("") != "" {
					t.Fatalf("ran %d times, sees %q", l.times(), l.sees())
				}
				l.lamp.mu.Lock()
				l.reads = false
				l.lamp.mu.Unlock()
				l.say(t, ask("light"))
				later(5 * time.Second)
				if l.times() != tt.runs || l.button("approve:") == "" {
					t.Errorf("the next time: ran %d times, sees %q", l.times(), l.sees())
				}
			})
		})
	}
}

// An admin permanently approves a tool call that another person's question caused. The approval must apply only to that
// other person.
func TestAlwaysByAnAdminAppliesToTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Open: true, Admins: []access.Rule{{Endpoint: "tg", User: "1"}}}
		})
		l.say(t, inGroup(ask("light"), "7"))
		later(5 * time.Second)
		l.say(t, inGroup(pressing(l.button("always:")), "1"))
		later(5 * time.Second)
		l.say(t, inGroup(ask("light"), "7"))
		later(5 * time.Second)
		if l.times() != 2 {
			t.Errorf("who asked: ran %d times, sees %q", l.times(), l.sees())
		}
		l.say(t, inGroup(ask("light"), "1"))
		later(5 * time.Second)
		if l.times() != 2 || l.button("approve:") == "" {
			t.Errorf("the admin: ran %d times, sees %q", l.times(), l.sees())
		}
	})
}

// A person sends /approve before a question for approval is asked, but the actor reads the command only afterwards. This
// command must not answer the question that the bot asked later.
func TestAnApprovalFromBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.twice()
		l.takes = 10 * time.Second
		store := l.openMoody(t)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(3 * time.Second)
		store.set(func(m *moody) { m.drops = 15 * time.Second })
		l.say(t, pressing("approve:none")) // handling this press takes so long that the next message has to wait
		later(time.Second)
		l.say(t, command("approve"))
		later(time.Second)
		store.set(func(m *moody) { m.drops = 0 })
		later(20 * time.Second)
		if got := l.sees(); l.times() != 1 || l.button("approve:") == "" || got[len(got)-1] != gateway.DefaultTexts()[gateway.TextNoProposal] {
			t.Errorf("ran %d times, sees %q", l.times(), got)
		}
	})
}

// A yes must count only if it is the whole message. If the operator has put a word into both lists, the word must count
// as a no.
func TestYesMustStandAlone(t *testing.T) {
	for name, c := range map[string]struct {
		said    chat.Inbound
		decided string
	}{
		"with a file":   {chat.Inbound{Text: "yes", Attachments: []chat.Attachment{{ID: "f", Name: "a.txt", MediaType: "text/plain", Size: 2}}}, ""},
		"with a word":   {chat.Inbound{Text: "yes but"}, ""},
		"a yes":         {chat.Inbound{Text: "yes"}, "decision=approved"},
		"which is both": {chat.Inbound{Text: "hm"}, "decision=denied"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.platform.files = map[string][]byte{"f": []byte("hi")}
				l.open(t, func(o *gateway.Options) {
					o.Busy, o.Texts = gateway.Queue, gateway.DefaultTexts()
					o.Texts[gateway.TextYes], o.Texts[gateway.TextNo] = "yes, hm", "no, hm"
				})
				l.say(t, ask("light"))
				later(5 * time.Second)
				in := ask(c.said.Text)
				in.Attachments = c.said.Attachments
				l.say(t, in)
				later(5 * time.Second)
				if log := l.log.String(); strings.Contains(log, "a tool call was decided") != (c.decided != "") || !strings.Contains(log, c.decided) {
					t.Errorf("want %q in\n%s", c.decided, log)
				}
			})
		})
	}
}

// lingering is a Runner that returns with a delay.
type lingering struct{ gateway.Runner }

func (r lingering) Run(ctx context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	res, err := r.Runner.Run(ctx, turn, emit)
	if err != nil {
		time.Sleep(5 * time.Second)
	}
	return res, err
}

// A question for approval must stay open while the daemon stops, even if stopping takes a long time.
func TestQuestionStaysOpenDuringAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, func(o *gateway.Options) { o.Runner = lingering{o.Runner} })
		l.say(t, ask("light"))
		later(5 * time.Second)
		approve := l.button("approve:")
		_ = l.stop()
		if l.button("approve:") != approve || approve == "" || strings.Contains(l.log.String(), "withdrawn") {
			t.Errorf("there stands %q, log\n%s", l.sees(), l.log.String())
		}
	})
}

// The store can't read the permanent approvals. The bot must ask people to approve the call.
func TestUnreadablePermanentApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		store := l.openMoody(t)
		store.set(func(m *moody) { m.consented = errStore })
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 0 || l.button("approve:") == "" {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
	})
}

// The store can't store a question for approval. The bot must not ask the question, because nobody could answer it
// after a crash.
func TestQuestionThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		full := &forgetful{kind: chat.StepAsked}
		l.open(t, func(o *gateway.Options) { full.Store, o.Store = o.Store, full })
		l.say(t, ask("light"))
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{switched})
		if l.times() != 0 || !strings.Contains(l.told(), "nobody could be asked") || !strings.Contains(l.log.String(), "level=ERROR") {
			t.Errorf("ran %d times, told %q", l.times(), l.told())
		}
	})
}

// A tool changes between two processes, so the next process replaces the open question by a new one. The log must
// contain no decision about the old question, and the old question must not delay a shutdown.
func TestReplacedQuestionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = 10*time.Second + 300*time.Millisecond
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		old := l.button("approve:")
		l.kill()
		l.change("deletes everything")
		l.open(t, nil)
		later(5 * time.Second)
		l.say(t, pressing(old))
		later(5 * time.Second)
		if l.button("approve:") == old || strings.Contains(l.log.String(), "a tool call was decided") {
			t.Fatalf("sees %q, log\n%s", l.sees(), l.log.String())
		}
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.say(t, command("approve"))
		later(5 * time.Second)
		if n := strings.Count(l.log.String(), "a tool call was decided"); n != 1 {
			t.Errorf("decided %d times\n%s", n, l.log.String())
		}
		_ = l.stop()
		if got := l.sees(); l.times() != 1 || len(got) != 2 || got[0] != switched {
			t.Errorf("ran %d times, sees %q", l.times(), got)
		}
	})
}
