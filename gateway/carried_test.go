package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
)

// An answer is interrupted after, or during, an approved tool call. People must be told which calls were carried out,
// and which calls have an unknown outcome.
func TestInterruptedAnswerListsItsCalls(t *testing.T) {
	const lamp = `Switch the lamp: {"on":true}`
	stop := func(l *lab, t *testing.T) { l.say(t, command("stop")) }
	another := func(l *lab, t *testing.T) {
		l.steps[0] = agent.Completion{Text: "As you like."}
		l.say(t, ask("never mind"))
	}
	for name, tt := range map[string]struct {
		takes   time.Duration // duration of the tool call
		during  bool          // the turn ends during the tool call; otherwise while the next tool call waits for approval
		approve string        // the command: approve or deny
		ends    func(*lab, *testing.T)
		want    string // a text that one message must contain; empty: no message lists tool calls
	}{
		"stopped after it was done":         {0, false, "approve", stop, "This was done before the answer was interrupted: " + lamp},
		"stopped while it runs":             {time.Minute, true, "approve", stop, "I don't know whether this was done: " + lamp},
		"another message after it was done": {0, false, "approve", another, "This was done before the answer was interrupted: " + lamp},
		"another message while it runs":     {time.Minute, true, "approve", another, "I don't know whether this was done: " + lamp},
		"denied":                            {0, false, "deny", stop, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.twice()
				l.takes = tt.takes
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				l.say(t, command(tt.approve))
				later(5 * time.Second)
				if waits := l.button("approve:") != ""; waits == tt.during {
					t.Fatalf("sees %q", l.sees())
				}
				tt.ends(l, t)
				later(20 * time.Second)
				all := strings.Join(l.sees(), "\n--\n")
				if tt.want == "" && strings.Contains(all, "lamp") || tt.want != "" && strings.Count(all, tt.want) != 1 {
					t.Errorf("want %q, sees\n%s", tt.want, all)
				}
			})
		})
	}
}

// A process dies after a tool call, and the next process closes the answer because the answer is too old. People must
// be told which calls were carried out.
func TestBrokenAnswerListsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.thinks = 50 * time.Millisecond
		l.takes = time.Second
		l.open(t, func(o *gateway.Options) { o.MaxAge = time.Minute })
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.thinks = time.Hour
		l.say(t, command("approve"))
		later(5 * time.Second)
		l.kill()
		time.Sleep(2 * time.Minute)
		l.open(t, func(o *gateway.Options) { o.MaxAge = time.Minute })
		later(5 * time.Second)
		if all := strings.Join(l.sees(), "\n--\n"); !strings.Contains(all, `This was done before the answer was interrupted: Switch the lamp: {"on":true}`) || !strings.Contains(all, "I was interrupted here") {
			t.Errorf("sees\n%s", all)
		}
	})
}
