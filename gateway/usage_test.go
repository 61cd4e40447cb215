package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// used returns the stored usage of all turns.
func (l *lab) used(t *testing.T) chat.Used {
	t.Helper()
	u, err := l.store.Used(t.Context(), chat.UsageOf{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A tool call waits for approval, and one or two processes die or stop meanwhile. The usage up to the tool call must be
// counted exactly once.
func TestUsage_whileAnApprovalWaits(t *testing.T) {
	for _, how := range []string{"killed", "killed twice", "stopped", "too late"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.steps[0].Usage = &agent.Usage{Prompt: 100, Completion: 10, Cached: 7}
				l.steps[1].Usage = &agent.Usage{Prompt: 130, Completion: 5}
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				want := chat.Usage{Prompt: 230, Completion: 15, Cached: 7, Calls: 2}
				switch how {
				case "stopped":
					_ = l.stop()
				case "killed twice":
					l.kill()
					l.open(t, nil)
					later(5 * time.Second)
					l.kill()
				default:
					l.kill()
				}
				if how == "too late" {
					later(20 * time.Minute)
				}
				l.open(t, func(o *gateway.Options) { o.MaxAge = 15 * time.Minute })
				later(5 * time.Second)
				if how == "too late" {
					want = chat.Usage{Prompt: 100, Completion: 10, Cached: 7, Calls: 1}
				} else {
					l.say(t, pressing(l.button("approve:")))
				}
				later(10 * time.Second)
				if got := l.used(t); got.Usage != want || got.Turns != 1 {
					t.Errorf("counted %+v of %d turns, want %+v\n%s", got.Usage, got.Turns, want, l.log.String())
				}
			})
		})
	}
}

// dictation is a model that writes one word per second.
type dictation struct{ words int }

func (*dictation) Name() string { return "planner" }

func (d *dictation) Stream(ctx context.Context, _ agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	for range d.words {
		select {
		case <-time.After(time.Second):
			emit(agent.Delta{Text: "word "})
		case <-ctx.Done():
			return agent.Completion{}, context.Cause(ctx)
		}
	}
	return agent.Completion{Usage: &agent.Usage{Prompt: 40, Completion: d.words}}, nil
}

// A process is killed during an answer, for which the provider still charges. After the restart, the usage of this
// answer must be estimated, counted once, and marked as an estimate.
func TestUsage_ofAnAnswerInterruptedByAKill(t *testing.T) {
	for kills := range 4 {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				model := &dictation{words: 60}
				l.openModel(t, model)
				l.say(t, ask("dictate"))
				for n := range kills { // each kill comes later, because each process must show new text to be counted
					later(time.Duration(40+2*n) * time.Second)
					l.kill()
					l.openModel(t, model)
				}
				later(80 * time.Second)
				told := chat.Usage{Prompt: 40, Completion: 60, Calls: 1}
				if kills > 2 { // the turn is not run a fourth time
					told = chat.Usage{}
				}
				got := l.used(t)
				guessed := got.Completion - told.Completion
				if got.Calls != kills+told.Calls || got.Estimated != (kills > 0) || guessed < 40*kills || guessed > 55*kills || (got.Prompt > told.Prompt) != (kills > 0) {
					t.Errorf("counted %+v after %d kills in the middle of an answer\n%s", got.Usage, kills, l.log.String())
				}
			})
		})
	}
}

// A new message interrupts an answer before any text is visible. The question is asked again, but the usage of the
// first answer must still count.
func TestUsage_ofAnInterruptedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.steps = []agent.Completion{{Text: "Hello.", Usage: &agent.Usage{Prompt: 30, Completion: 2}}}
		l.thinks = 10 * time.Second
		l.open(t, nil)
		l.say(t, ask("a"))
		later(5 * time.Second)
		l.say(t, ask("b"))
		later(30 * time.Second)
		if got := l.used(t); got.Calls != 2 || got.Prompt <= 30 || !got.Estimated {
			t.Errorf("counted %+v\n%s", got.Usage, l.log.String())
		}
	})
}
