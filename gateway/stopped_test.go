package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
)

// An answer that was stopped says so below what people saw of it, in the words of the configuration. The model reads
// what people saw, and nothing of the mark.
func TestAStoppedAnswerIsMarkedForPeopleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Texts = gateway.DefaultTexts().With(map[string]string{"stopped_mark": "(angehalten)"})
		})
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("stop"))
		later(3 * time.Second)
		h.say(t, ask("b"))
		later(3 * time.Second)
		shown, marked := strings.CutSuffix(h.sees()[0], "\n\n(angehalten)")
		if !marked || shown == "" || !strings.HasPrefix(long, shown) {
			t.Fatalf("people see %q, want a beginning and the mark", h.sees()[0])
		}
		equal(t, "the next turn", h.told(1), []string{"user: a", "assistant: " + shown, "user: b"})
	})
}

// Where nothing was shown yet there is nothing to mark: a line answers /stop.
func TestAnAnswerThatShowedNothingIsNotMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Endpoints[0].Streaming.MinTokens = 1000 })
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("stop"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"Stopped."})
	})
}

// A daemon that stops leaves an answer that does not look complete; the next one completes it, and the mark goes.
func TestAnAnswerIsMarkedWhileTheDaemonIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		answer := strings.Repeat(long+" ", 10) + "end"
		change := func(*gateway.Options) { l.script.answers["a"] = answer }
		l.begin(t, change)
		l.say(t, ask("a"))
		later(time.Second)
		_ = l.stop()
		if got := l.sees(); len(got) != 1 || !strings.HasSuffix(got[0], stoppedMark) {
			t.Fatalf("while the daemon is down people see %q, want a beginning and the mark", got)
		}
		l.begin(t, change)
		later(time.Minute)
		equal(t, "messages", l.sees(), []string{answer})
	})
}

// A conversation that begins anew stops what is being said as well.
func TestAnAnswerThatNewEndsIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("new"))
		later(3 * time.Second)
		if got := h.sees(); len(got) != 2 || !strings.HasSuffix(got[0], stoppedMark) {
			t.Errorf("people see %q, want a beginning with the mark and a line", got)
		}
	})
}
