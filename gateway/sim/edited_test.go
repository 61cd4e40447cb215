package sim

import (
	"fmt"
	"testing"
	"time"

	"telex/internal/chat"
)

// The function at plays a schedule many times. Each time, one event of the schedule happens at a different time,
// because the tested situation occurs only at some of these times.
func at(t *testing.T, from, to, step time.Duration, play func(t *testing.T, when time.Duration)) {
	t.Helper()
	t.Parallel()
	for when := from; when <= to; when += step {
		t.Run(fmt.Sprint(when), func(t *testing.T) {
			t.Parallel()
			play(t, when)
		})
	}
}

// probed returns a schedule on a platform on which create calls may take effect late, so that the bot must search for
// their messages.
func probed(answers ...answer) schedule {
	s := story("edit-and-probe", answers...)
	s.profile.LateFor = lateFor
	return s
}

// D2: a person edits a question, and somebody stops the answer before the turn restarts. The visible text must not be
// sent again.
func TestRegressionEditedAndStopped(t *testing.T) {
	at(t, 100*time.Millisecond, 2*time.Second, 100*time.Millisecond, func(t *testing.T, when time.Duration) {
		s := story("edit", talk(numbered(40)))
		s.config.Cursor, s.latency = "", 300*time.Millisecond
		s.profile.TextLimit, s.real = 60, 60
		s.accidents = []accident{{at: when, kind: "edit"}}
		s.says = append(s.says, say{at: when + 20*time.Millisecond, user: "ann", kind: "stop"})
		perform(t, s)
	})
}

// D9: the bot searches for the message of a create call and finds nothing. The next question interrupts the answer
// before the bot sends another message. The first message appears later, and must not keep its cursor.
func TestRegressionInterruptedBeforeALateMessageComes(t *testing.T) {
	at(t, 1500*time.Millisecond, 2*time.Second, 25*time.Millisecond, func(t *testing.T, when time.Duration) {
		s := probed(talk(numbered(60)))
		s.faults = map[int]fault{0: {kind: cutLate, after: 4 * time.Second}}
		s.says = append(s.says, say{at: when, user: "ann", kind: "text"})
		if w := perform(t, s); len(w.made(chat.OpFind)) == 0 {
			t.Error("nothing was looked for")
		}
	})
}

// D1: a process dies while it replaces the text of an earlier answer with the final text of a new one. A person then
// erases the history before the next process starts. At the end, all visible messages must belong to the same answer.
func TestRegressionForgottenAmongMessagesOfAnotherAnswer(t *testing.T) {
	t.Parallel()
	for n := range 24 {
		t.Run(fmt.Sprint("killed after write ", n), func(t *testing.T) {
			t.Parallel()
			s := story("edit", talk(numbered(30)), talk("a1w0x a1w1x a1w2x a1w3x a1w4x a1w5x a1w6x a1w7x a1w8x a1w9x a1w10x"))
			s.fickle, s.latency = true, 300*time.Millisecond
			s.profile.TextLimit, s.real = 60, 60
			s.kills = []kill{{where: atTime, at: 2500 * time.Millisecond, down: time.Second}, {where: afterWrite, n: n, down: 5 * time.Second}}
			s.says = append(s.says, say{at: 8 * time.Second, user: "ann", kind: "forget"})
			perform(t, s)
		})
	}
}

// D1: a person edits a question right after the bot edited the message with its answer, and the process dies before the
// new answer shows a text. The store discards the record of the bot's edit together with the old answer. The next
// process starts too late to run the turn again, and must leave the visible text as it is.
func TestRegressionEditedRightAfterAnEditAndKilled(t *testing.T) {
	at(t, 1050*time.Millisecond, 2500*time.Millisecond, 25*time.Millisecond, func(t *testing.T, when time.Duration) {
		s := story("edit", talk(numbered(40)), talk("a1w0x a1w1x"))
		s.answers[0].deltas = s.answers[0].deltas[:24] // the model sends nothing after these deltas
		s.profile.TextLimit, s.real, s.config.Interval = 40, 40, 200*time.Millisecond
		s.accidents = []accident{{at: when, kind: "edit"}}
		s.kills = []kill{{where: atTime, at: when + 95*time.Millisecond, down: 20 * time.Minute}}
		perform(t, s)
	})
}

// D1: a person stops an answer while the bot replaces a longer preview with the final text. A draft that still waits
// for the budget belongs to the discarded text, so the bot must not send this draft.
func TestRegressionStoppedBeforeADraftOfAnotherText(t *testing.T) {
	at(t, 4050*time.Millisecond, 4600*time.Millisecond, 25*time.Millisecond, func(t *testing.T, when time.Duration) {
		for _, final := range []string{"a0w0x", numbered(6), numbered(14)} {
			s := story("draft", talk(numbered(40)))
			s.answers[0].final, s.answers[0].shown = final, final
			s.profile.TextLimit, s.real, s.latency = 60, 60, 120*time.Millisecond
			s.says = append(s.says, say{at: when, user: "ann", kind: "stop"})
			perform(t, s)
		}
	})
}
