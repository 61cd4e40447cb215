package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A tool call is too long for people to read. The gateway must refuse the call without a question, unless the tool was
// approved permanently.
func TestTooLongCallIsRefusedWithoutAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.planner.steps[0].ToolCalls[0].Arguments = `{"on":"` + strings.Repeat("x", 70_000) + `"}`
		always := l.button("always:")
		l.say(t, command("deny"))
		later(5 * time.Second)
		l.say(t, ask("light"))
		later(5 * time.Second)
		if l.times() != 0 || l.button("") != "" || !strings.Contains(l.told(), "more than the 64 KiB that a person can read") {
			t.Errorf("ran %d times, told %q", l.times(), l.told())
		}
		if !strings.Contains(l.log.String(), `decision="denied: too long to be read"`) || always == "" {
			t.Errorf("the log says\n%s", l.log.String())
		}
	})
}
