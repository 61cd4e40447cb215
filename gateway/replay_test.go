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
					later(10 * time.Minute) // the approval timeout is over, but people may still decide for a while after the restart
				case "too late":
					later(20 * time.Minute)
				}
				if c == "as it was pressed" {
					l.pending(t, pressing(approve))
				}
				l.open(t, func(o *gateway.Options) { o.MaxAge = 15 * time.Minute })
				switch c {
				case "as it was pressed":
				case "yes": // the "yes" comes before the next process shows the question again
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
				if l.times() != runs || len(got) != 1 || l.messages[0].id != id || want != "" && got[0] != want || strings.Contains(got[0], "▌") || strings.Contains(got[0], "Allow this") {
					t.Errorf("ran %d times, sees %q\n%s", l.times(), got, l.log.String())
				}
				if left, _ := l.store.Unfinished(t.Context()); len(left) != 0 {
					t.Errorf("left: %+v", left)
				}
			})
		})
	}
}

// A process dies while a tool call runs. The next process must not repeat the call, and must tell the model that the outcome
// of the call is unknown.
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

// A rate limit delays a question for approval, and a person writes "yes". The "yes" must not approve the tool call,
// because the person could not see the question yet.
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

// A "yes" waits in the queue while a tool call runs. The queued "yes" must not answer a later question for approval,
// even if the next process reads the "yes" again.
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

// A tool has changed something, and then the answer is interrupted before it has any text. The history must keep the tool
// call that changed something.
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

// A process dies during a tool call that changes something. The next process resumes the turn, and a new message interrupts
// the turn before the model is asked again. The history must keep the tool call of the dead process.
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

// A tool call waits for approval, and several processes die one after the other. The next process must still ask for
// approval, although the turn is old.
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

// A resumed turn waits for a person's approval, and then an edit of its question makes the turn start over. The turn must
// not count as too old, although it has waited for a long time.
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

// A process dies while an approved tool call runs. The turn of a call that has begun no longer waits for a person, so the
// next process must close the turn if the turn is too old.
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

// A process dies while a tool call runs, perhaps because of this call. The next process must neither repeat the call nor ask
// people again, even if the call is read-only. If a shutdown ended the call instead, the next process must repeat the call.
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

// A tool makes a file, and then the process crashes. The next process must deliver the file. The platform of this test
// can't send files, so people must see the name of the file.
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

// A message is passed to the running turn (gateway.Steer), and then the process crashes. In the next process, the
// message must belong to the turn's question, and the model must read it only once.
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
		later(10 * time.Second) // now the next tool call waits for approval
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

// The store can't record that a tool call begins. The tool call must then not run.
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

// A tool returns a large picture. The model must see the picture in this turn, but not in later turns.
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

// A crash interrupts an answer, and the asker loses access before the next process starts. The next process must not
// continue the answer, and must not run a tool for the asker.
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
