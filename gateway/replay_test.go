package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

func TestKilledWhileAProposalWaits(t *testing.T) { // D10
	for _, c := range []string{"after the start", "before it is taken up", "while nobody was there", "too late", "graceful", "yes", "as it was pressed"} {
		t.Run(c, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				approve := l.button("approve:")
				id := l.messages[0].id
				if c == "graceful" {
					began := time.Now()
					_ = l.stop()
					if l.button("approve:") != approve || time.Since(began) > time.Second {
						t.Errorf("stopped in %v, and there stands %q", time.Since(began), l.sees())
					}
				} else {
					l.kill()
				}
				switch c {
				case "while nobody was there":
					later(10 * time.Minute) // the time limit is over, and the press arrives now
				case "too late":
					later(20 * time.Minute)
				}
				if c == "as it was pressed" {
					l.pending(t, pressing(approve))
				}
				l.open(t, func(o *gateway.Options) { o.MaxAge = 15 * time.Minute })
				switch c {
				case "as it was pressed":
				case "yes": // before the question is shown again
					l.say(t, ask("yes"))
				case "before it is taken up":
					l.say(t, pressing(approve))
				default:
					later(5 * time.Second)
					l.say(t, pressing(approve))
				}
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

// A call that was running when the process died is not repeated, and the model is told so.
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

// People can't approve a question that is not visible yet: while a rate limit delays the question, a "yes" refers to
// something else.
func TestYesBeforeTheQuestionIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.steps[0].Text = "Do you like the light? "
		l.open(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
		l.failing(&chat.SendError{Kind: chat.RateLimited, RetryAfter: 30 * time.Second})
		l.say(t, ask("light"))
		later(10 * time.Second)
		l.failing(nil) // sends succeed again, but the rate limit still applies
		l.say(t, ask("yes"))
		later(10 * time.Second)
		if l.times() != 0 || len(l.sees()) > 0 {
			t.Fatalf("ran %d times, sees %q", l.times(), l.sees())
		}
		later(20 * time.Second)
		if l.times() != 0 || l.button("approve:") == "" {
			t.Fatalf("ran %d times, sees %q", l.times(), l.sees())
		}
		l.say(t, ask("yes"))
		later(10 * time.Second)
		if l.times() != 1 {
			t.Errorf("ran %d times, sees %q", l.times(), l.sees())
		}
	})
}

// A "yes" that waits in the queue does not answer a later question, even if a restarted process reads the "yes" again.
func TestQueuedYesDoesNotAnswerALaterQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.twice()
		l.takes = 10 * time.Second
		queue := func(o *gateway.Options) { o.Busy = gateway.Queue }
		l.open(t, queue)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, ask("yes"))
		later(5 * time.Second)
		l.say(t, ask("yes")) // this yes is about a call that is already running
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

// A change that a tool made stays in the history, even if the answer was interrupted before it had any text.
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

// After a restart, a tool's change stays in the history as well, even if the turn is interrupted before it asks the
// model again.
func TestInterruptedWhileItResumesAfterAChange(t *testing.T) {
	for _, text := range []string{"I switch it on. ", ""} {
		synctest.Test(t, func(t *testing.T) { interruptedAfterAChange(t, text) })
	}
}

func interruptedAfterAChange(t *testing.T, text string) {
	t.Helper()
	l := newLab()
	l.steps[0].Text = text
	l.takes = 10 * time.Second
	l.open(t, nil)
	l.files = map[string][]byte{"f": []byte("hi")} // a file that takes a moment to read
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
}

// A call that waits for approval is proposed again, even if its turn is old and many processes died.
func TestTurnThatWaitsForApprovalIsNotTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		impatient := func(o *gateway.Options) { o.MaxAge, o.ApprovalTimeout = time.Minute, 10*time.Minute }
		l.open(t, impatient)
		l.say(t, ask("light"))
		for range 5 {
			later(70 * time.Second)
			l.kill()
			l.open(t, impatient)
		}
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{switched})
		if l.times() != 1 {
			t.Errorf("ran %d times", l.times())
		}
	})
}

// A resumed turn that waits for a person does not count as too old when an edit of its question restarts it.
func TestEditedTurnThatWaitedForApprovalIsNotTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		impatient := func(o *gateway.Options) {
			o.MaxAge, o.ApprovalTimeout, o.OnEdit = time.Minute, 10*time.Minute, gateway.Restart
		}
		l.open(t, impatient)
		l.say(t, revised(chat.Text, "m1", "light"))
		later(70 * time.Second)
		l.kill()
		l.open(t, impatient)
		later(5 * time.Second)
		l.say(t, revised(chat.Edited, "m1", "light, please"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{switched})
	})
}

// A running call does not wait for a person, so its turn may become too old.
func TestATurnWhoseCallBeganGetsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = 20 * time.Second
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.kill()
		asked := len(l.asked)
		later(30 * time.Second) // people would still have time to decide
		l.open(t, func(o *gateway.Options) { o.MaxAge = 20 * time.Second })
		later(10 * time.Second)
		if got := l.sees(); len(got) != 1 || !strings.HasPrefix(got[0], "I switch it on.\n\n") || l.times() != 1 || len(l.asked) != asked {
			t.Errorf("sees %q, ran %d times, the model was asked %d times more", got, l.times(), len(l.asked)-asked)
		}
	})
}

// A process may have died because of a running call. The next process neither repeats the running call nor asks
// people again, even if the call is read-only. A call that /stop ended is repeated.
func TestReadOnlyCallAfterAKill(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*lab)
		runs int
	}{
		"killed":  {func(l *lab) { l.kill() }, 1},
		"stopped": {func(l *lab) { _ = l.stop() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.reads, l.takes = true, 20*time.Second
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				l.say(t, pressing(l.button("approve:")))
				later(5 * time.Second)
				tt.end(l)
				l.open(t, nil)
				later(30 * time.Second)
				equal(t, "messages", l.sees(), []string{switched})
				if unknown := strings.Contains(l.told(), "not known whether"); l.times() != tt.runs || unknown != (tt.runs == 1) {
					t.Errorf("ran %d times, the model was told %q", l.times(), l.told())
				}
			})
		})
	}
}

// Files that tools made before a crash are delivered. The platform of this test can't send files, so people see the
// names of the files.
func TestFilesSurviveACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.twice()
		l.made = []agent.File{{Name: "plan.txt", Content: []byte("x")}}
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.kill()
		l.made = nil
		l.open(t, nil)
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		if got := l.sees(); l.times() != 2 || len(got) != 1 || strings.Count(got[0], "plan.txt") != 1 {
			t.Errorf("ran %d times, sees %q", l.times(), got)
		}
	})
}

// After a crash, messages that steered the running turn belong to its question, and the model reads them once.
func TestSteeringReachesTheModelOnceAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.twice()
		l.takes = 10 * time.Second
		steer := func(o *gateway.Options) { o.Busy = gateway.Steer }
		l.open(t, steer)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(5 * time.Second)
		l.say(t, ask("and blue"))
		later(10 * time.Second) // the next call waits for approval
		l.kill()
		l.open(t, steer)
		later(5 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		later(15 * time.Second)
		reads := ""
		for _, m := range l.asked[len(l.asked)-1].Messages {
			reads += m.Text + "\n"
		}
		if l.times() != 2 || strings.Count(reads, "and blue") != 1 {
			t.Errorf("ran %d times, the model reads %s", l.times(), reads)
		}
	})
}

// A call that can't be stored is not run.
func TestFullDiskPreventsChangingCalls(t *testing.T) {
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

// forgetful is a store that fails to store one kind of step.
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

// A tool's large pictures are shown to the model once, not in each later turn.
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

// If the asker has lost access, the next process does not continue an answer that a crash interrupted, and runs no
// tool for the asker.
func TestAskerLosesAccessBeforeTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		old := l.button("approve:")
		asked := len(l.asked)
		l.kill()
		l.open(t, func(o *gateway.Options) { o.Access = access.Rules{} })
		l.say(t, pressing(old))
		later(10 * time.Second)
		equal(t, "messages", l.sees(), []string{"I switch it on." + stoppedMark})
		if l.times() != 0 || len(l.asked) != asked || l.button("") != "" {
			t.Errorf("ran %d times, the model was asked %d times more", l.times(), len(l.asked)-asked)
		}
		if left, _ := l.store.Unfinished(t.Context()); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
}
