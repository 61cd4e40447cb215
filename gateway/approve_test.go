package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

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
				l.say(t, pressing(old)) // somebody presses the button of the old question, which was visible until now
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

// Nobody can see a question for approval, because the turn is unattended. The tool call must be refused at once, and the final
// must say so. A tool that was approved permanently must still run in an unattended turn.
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
			l.say(t, group(with(command("approve"), "show"), "8"))
		}
		l.say(t, group(ask("yes"), "8")) // this "yes" is an ordinary message, because user 8 did not ask
		l.say(t, group(ask("yes"), "1")) // the admin's "yes" is an ordinary message too, because the admin did not ask
		later(5 * time.Second)
		got := l.sees()
		if l.times() != 0 || len(got) != 2 || got[1] != gateway.DefaultTexts()[gateway.TextNotYours] {
			t.Fatalf("after a stranger's tries: ran %d times, sees %q", l.times(), got)
		}
		l.say(t, group(pressing(approve), "1"))
		later(5 * time.Second)
		got = l.sees()
		if l.times() != 1 || got[0] != switched || len(got) != 3 {
			t.Errorf("after an admin's: ran %d times, sees %q", l.times(), got)
		}
		if !strings.Contains(l.log.String(), "decision=approved by=tg:user:1") {
			t.Errorf("no audit line of the admin in\n%s", l.log.String())
		}
	})
}

func TestAlwaysAppliesToTheConversation(t *testing.T) {
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

// When a person loses access, the person's permanent approvals must end, even for questions that the person asked before.
func TestAlwaysEndsWithAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.thinks = time.Second // so that the kill comes before the answer ends
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, with(command("approve"), "always"))
		later(5 * time.Second)
		l.say(t, ask("light again"))
		l.kill()
		l.open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Admins: []access.Rule{{Endpoint: "tg", User: "1"}}}
		})
		later(10 * time.Second)
		if l.times() != 1 || l.button("approve:") == "" {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
	})
}

func TestAnotherMessageFollowsTheBusyMode(t *testing.T) {
	for _, c := range []struct {
		busy gateway.Busy
		left bool // whether the question for approval stays open
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
				if strings.Contains(text, "Allow this") || strings.Contains(text, "▌") {
					t.Errorf("busy %d: it still says %q", c.busy, text)
				}
			}
		})
	}
}

// An approval applies only to the version of the tool that people saw. After the tool has changed, neither an answer to an
// earlier question nor a permanent approval may count. The earlier answer must not count even if the daemon was restarted
// after the question.
func TestChangedToolNeedsANewApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.change("switches the heating")
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		if l.times() != 0 || !strings.Contains(l.told(), "the tool has changed since a person was asked") {
			t.Errorf("ran %d times, told %q", l.times(), l.told())
		}
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("always:")))
		later(5 * time.Second)
		l.change("deletes everything")
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 1 || l.button("approve:") == "" {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		old := l.button("approve:")
		l.kill()
		l.change("deletes everything")
		l.open(t, nil)
		l.say(t, pressing(old))
		later(5 * time.Second)
		if now := l.button("approve:"); l.times() != 0 || now == "" || now == old {
			t.Fatalf("after the restart: ran %d times, asked %q, before %q", l.times(), now, old)
		}
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{switched})
		if l.times() != 1 {
			t.Errorf("ran %d times", l.times())
		}
	})
}

// change changes the description of the tool.
func (l *lamp) change(says string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.says = says
}

// A question for approval is too long for its message. The people who may decide must be able to read the omitted parts of the
// question, repeatedly and after a restart.
func TestLongProposalCanBeReadInFull(t *testing.T) {
	for name, tt := range map[string]struct {
		lines, ticks int // number of lines, and of backticks in the longest line, in the arguments of the call
		fits         bool
	}{"short": {10, 0, true}, "longer than a question": {400, 0, false}, "a page of backticks": {300, 6, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text strings.Builder
				for i := range tt.lines {
					fmt.Fprintf(&text, "line %d\n%s\n", i, strings.Repeat("`", min(tt.ticks, i)))
				}
				arguments, err := json.Marshal(map[string]string{"on": text.String()})
				if err != nil {
					t.Fatal(err)
				}
				l := newLab()
				l.planner.steps[0].ToolCalls[0].Arguments = string(arguments)
				proposed := string(arguments)
				if tt.ticks > 0 { // the question has real line breaks, as some tools write them
					l.proposes = text.String()
					proposed = l.proposes
				}
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				id := strings.TrimPrefix(l.button("approve:"), "approve:")
				asked := l.sees()
				if cut := strings.Contains(asked[0], "not shown"); len(asked) != 1 || cut == tt.fits || strings.Contains(asked[0], "/approve "+id+" show") == tt.fits {
					t.Fatalf("asked is %q", asked)
				}
				bare := func(s string) string { return strings.Join(strings.Fields(s), "") } // messages are split at white space
				for _, way := range []string{"show", id + " Show"} {
					before := len(l.sees())
					l.say(t, with(command("approve"), way))
					later(20 * time.Second)
					if got := strings.Join(l.sees()[before:], ""); bare(got) != bare("Switch the lamp: "+proposed) {
						t.Errorf("/approve %s: there came %q", way, got)
					}
					l.kill()
					l.open(t, nil)
					later(5 * time.Second)
				}
				if sees := l.sees(); sees[0] != asked[0] || l.times() != 0 {
					t.Errorf("ran %d times, sees %q", l.times(), sees)
				}
				l.say(t, pressing(l.button("approve:")))
				later(5 * time.Second)
				if sees := l.sees(); l.times() != 1 || sees[0] != switched {
					t.Errorf("ran %d times, sees %q", l.times(), sees)
				}
				before := len(l.sees())
				l.say(t, with(command("approve"), "show"))
				later(5 * time.Second)
				equal(t, "after it is decided", l.sees()[before:], []string{gateway.DefaultTexts()[gateway.TextNoProposal]})
			})
		})
	}
}
