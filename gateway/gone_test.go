package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent/tool"
)

// After a restart, a tool no longer exists, and a person presses a button below the question about a call of this tool.
// The press must take effect at once, without waiting for the tool. A "no" must be stored as the person's refusal.
func TestQuestionOfAMissingTool(t *testing.T) {
	for name, tt := range map[string]struct{ press, decision, told string }{
		"denied":   {"deny:", "decision=denied by=tg:user:7", "the person denied this call"},
		"approved": {"approve:", "decision=approved by=tg:user:7", "there is no tool named"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open(t, nil)
				l.say(t, ask("light"))
				later(5 * time.Second)
				button := l.button(tt.press)
				_ = l.stop()
				l.box = tool.Fixed{}
				l.open(t, nil)
				later(3 * time.Second)
				l.say(t, pressing(button))
				later(2 * time.Second)
				if got := l.sees(); l.button("approve:") != "" || strings.Contains(strings.Join(got, ""), "Allow this") || !strings.Contains(l.log.String(), tt.decision) {
					t.Errorf("2 s after the press people see %q; the log says\n%s", got, l.log.String())
				}
				later(time.Minute)
				equal(t, "messages", l.sees(), []string{switched})
				if !strings.Contains(l.told(), tt.told) || l.times() != 0 {
					t.Errorf("ran %d times, told %q", l.times(), l.told())
				}
			})
		})
	}
}
