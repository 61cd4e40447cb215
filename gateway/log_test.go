package gateway_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// logged sets the log of the gateway, and returns the same log for the test. The test may read the log while no other
// goroutine runs.
func logged(o *gateway.Options) *journal {
	var log journal
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	return &log
}

// counts checks how often the log contains each text.
func counts(t *testing.T, log *journal, want map[string]int) {
	t.Helper()
	for text, n := range want {
		if got := strings.Count(log.String(), text); got != n {
			t.Errorf("the log says %q %d times, want %d:\n%s", text, got, n, log)
		}
	}
}

// The connection is interrupted, and several attempts to connect again fail. The log must contain only the beginning
// and the end of the interruption, not each attempt.
func TestInterruptionIsLoggedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &chat.SendError{Kind: chat.Temporary, Err: errors.New("away")}
		p := newPlatform()
		p.runs = []error{away, away, away}
		var log *journal
		openWith(t, house{platform: p, script: &script{}}, func(o *gateway.Options) { log = logged(o) })
		later(20 * time.Second)
		counts(t, log, map[string]int{"receiving is interrupted": 1, "receiving works again": 0})
		later(time.Minute)
		counts(t, log, map[string]int{"receiving is interrupted": 1, `"receiving works again" endpoint=tg tries=3`: 1})
		later(time.Hour)
		counts(t, log, map[string]int{"receiving works again": 1})
	})
}

// The platform refuses the bot until an operator changes something. The log must contain an error for each attempt.
func TestRefusalIsLoggedAtEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &chat.SendError{Kind: chat.Rejected, RetryAfter: 10 * time.Minute, Err: errors.New("switch the intent on")}
		p := newPlatform()
		p.runs = []error{refused, refused, refused}
		var log *journal
		h := openWith(t, house{platform: p, script: newScript()}, func(o *gateway.Options) { log = logged(o) })
		later(time.Minute)
		counts(t, log, map[string]int{"level=ERROR": 1, "the platform refuses this bot": 1, "switch the intent on": 1, "retry_in=10m0s": 1})
		later(25 * time.Minute)
		counts(t, log, map[string]int{"level=ERROR": 3, "switch the intent on": 3, "receiving works again": 0})
		later(10 * time.Minute)
		counts(t, log, map[string]int{"level=ERROR": 3, "receiving works again": 1})
		h.say(t, ask("hi"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

// The platform can't be reached when the gateway stops, so the next process delivers the replies. The log must not say
// that the replies were not delivered, but that the replies are kept.
func TestPostponedReplyIsLoggedAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		var log *journal
		l.begin(t, func(o *gateway.Options) { log = logged(o) })
		l.platform.failing(&chat.SendError{Kind: chat.Temporary, Err: errors.New("away")})
		l.say(t, ask("x"))
		later(3 * time.Second)
		l.say(t, command("help"))
		later(3 * time.Second)
		if err := l.stop(); err == nil {
			t.Error("the gateway stopped in time, want the platform to hold it up")
		}
		counts(t, log, map[string]int{"not delivered": 0, "reply is kept for the next start": 1, "answer is kept for the next start": 1})
		l.platform.failing(nil)
		l.begin(t, nil)
		later(time.Minute)
		if got := l.sees(); len(got) != 2 {
			t.Errorf("after the start people see %q, want both", got)
		}
	})
}

// The store fails while a reply grows. The log must contain this failure only once for each reply, however many
// previews the reply has.
func TestStoreFailureIsLoggedOncePerReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		var log *journal
		l.begin(t, func(o *gateway.Options) { log = logged(o) })
		l.say(t, ask("a"))
		later(100 * time.Millisecond)
		l.mortal.die()
		later(time.Minute)
		counts(t, log, map[string]int{"state of a reply was not stored": 1})
	})
}
